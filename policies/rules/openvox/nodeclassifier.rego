# METADATA
# title: NodeClassifiers can be asked
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: NodeClassifier}]
#     operations: [CREATE, UPDATE]
package openvox.nodeclassifier

import rego.v1

import data.openvox.endpoint

spec := input.request.object.spec

request := object.get(spec, "request", {})

deny contains denial if some denial in endpoint.denials(spec)

deny contains {"msg": msg, "field": "spec.url"} if {
	not endpoint.url(spec.url)
	msg := sprintf("spec.url: %s, and a query into spec.request.path", [endpoint.url_form])
}

deny contains {"msg": msg, "field": "spec.request.path"} if {
	not regex.match(`^/[^\s#\\]*$`, request.path)
	msg := sprintf("spec.request.path: %q is not a path: it begins with /, and has no spaces and no # in it", [request.path])
}

deny contains {"msg": msg, "field": "spec.request.path"} if {
	some placeholder in regex.find_n(`\{[^{}]*\}?`, object.get(request, "path", ""), -1)
	placeholder != "{certname}"
	msg := sprintf("spec.request.path: %s stands for nothing; there is {certname}", [placeholder])
}

deny contains {"msg": msg, "field": "spec.request.body"} if {
	object.get(request, "body", "") != ""
	object.get(request, "method", "GET") != "POST"
	msg := "spec.request.body: nothing is sent with method GET; use POST"
}

# In other folders, a server could write files that other programs use.
deny contains {"msg": msg, "field": "spec.cache.directory"} if {
	directory := spec.cache.directory
	not regex.match(`^(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+/?$`, directory)
	msg := sprintf("spec.cache.directory: %q is not an absolute path of letters, digits, dots, hyphens and underscores", [directory])
}

# An empty volume is mounted there, which hides what a server runs or reads.
deny contains {"msg": msg, "field": "spec.cache.directory"} if {
	directory := trim_suffix(spec.cache.directory, "/")
	hides(directory)
	msg := sprintf("spec.cache.directory: at %q are files of the image or of servers, which an empty volume would hide; take a folder of its own, such as /var/cache/openvox-enc", [directory])
}

hides(directory) if regex.match(`^/(?:bin|boot|dev|etc|lib[^/]*|opt|proc|root|sbin|sys|usr)(?:/|$)`, directory)

hides(directory) if {
	some folder in ["/tmp", "/run/puppetserver", "/run/puppetlabs", "/var/run", "/var/log/puppetlabs", "/var/spool/openvox-report"]
	startswith(sprintf("%s/", [folder]), sprintf("%s/", [directory]))
}

warn contains warning if some warning in endpoint.warnings(spec)

warn contains msg if {
	object.get(request, "body", "") == ""
	not contains(object.get(request, "path", "/node/{certname}"), "{certname}")
	msg := "spec.request has the certname neither in path nor in body: all nodes are classified alike"
}

warn contains msg if {
	contains(object.get(request, "path", ""), "classifier-api/")
	object.get(request, "body", "") != "puppet-enterprise"
	msg := "spec.request.body: Puppet Enterprise's classifier reads facts as body puppet-enterprise sends them; by others it knows the certname alone"
}

warn contains msg if {
	contains(object.get(request, "path", ""), "classifier-api/")
	object.get(spec, ["response", "format"], "yaml") != "json"
	msg := "spec.response.format: Puppet Enterprise's classifier answers in json"
}

warn contains "metadata.annotations: openvox.voxpupuli.org/paused has no effect on NodeClassifiers: pause the Configs that name it" if {
	input.request.object.metadata.annotations["openvox.voxpupuli.org/paused"] == "true"
}
