# METADATA
# title: Pools can be reached
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: Pool}]
#     operations: [CREATE, UPDATE]
package openvox.pool

import rego.v1

import data.openvox.signing

spec := object.get(input.request.object, "spec", {})

route := spec.route if spec.route.enabled

# It is the name of a Service.
deny contains {"msg": msg, "field": "metadata.name"} if {
	not regex.match(`^[a-z]([a-z0-9-]{0,56}[a-z0-9])?$`, input.name)
	msg := sprintf("metadata.name: %q becomes the name of a Service and part of a label: at most 58 of a-z, 0-9 and -, beginning with a letter", [input.name])
}

# The operator sends a CA's requests to the Service of this name.
deny contains {"msg": msg, "field": "metadata.name"} if {
	endswith(input.name, "-internal")
	msg := sprintf("metadata.name: %q is the name of a CA's Service, or may become one; take another", [input.name])
}

deny contains {"msg": msg, "field": "spec.service.nodePort"} if {
	port := object.get(spec, ["service", "nodePort"], 0)
	port != 0
	object.get(spec, ["service", "type"], "ClusterIP") == "ClusterIP"
	msg := sprintf("spec.service.nodePort: a Service of type ClusterIP has no port %d of nodes; set spec.service.type to NodePort or LoadBalancer", [port])
}

deny contains {"msg": msg, "field": field} if {
	some i, address in spec.service.externalIPs
	not ip(address)
	field := sprintf("spec.service.externalIPs[%d]", [i])
	msg := sprintf("%s: %q is not an IP address", [field, address])
}

# A Service with an external address takes the traffic that nodes send there, whosever it is.
deny contains {"msg": msg, "field": field} if {
	some i, address in spec.service.externalIPs
	ip(address)
	not granted(address)
	field := sprintf("spec.service.externalIPs[%d]", [i])
	msg := sprintf("%s: namespace %q may not take the traffic to %s; an administrator allows it by an entry in annotation openvox.voxpupuli.org/allowed-external-ips of the Namespace, which lists addresses and CIDRs", [field, input.request.namespace, address])
}

granted(address) if {
	some text in split(object.get(input.namespace, ["metadata", "annotations", "openvox.voxpupuli.org/allowed-external-ips"], ""), ",")
	block := cidr(trim_space(text))
	net.cidr_is_valid(block)
	net.cidr_contains(block, address)
}

cidr(text) := text if contains(text, "/")

cidr(text) := sprintf("%s/128", [text]) if {
	not contains(text, "/")
	contains(text, ":")
}

cidr(text) := sprintf("%s/32", [text]) if {
	not contains(text, "/")
	not contains(text, ":")
}

ip(text) if net.cidr_is_valid(sprintf("%s/32", [text]))

deny contains {"msg": msg, "field": field} if {
	some name, _ in spec.service.labels
	startswith(name, "openvox.voxpupuli.org/")
	field := sprintf("spec.service.labels.%s", [name])
	msg := sprintf("%s: labels of this group say what belongs together; take another", [field])
}

deny contains {"msg": msg, "field": "spec.route.hostname"} if {
	host := route.hostname
	not signing.hostname(host)
	msg := sprintf("spec.route.hostname: %q is not a DNS name without wildcards", [host])
}

# Certificates may be for it, and by this the operator knows the CA.
deny contains {"msg": msg, "field": "spec.route.hostname"} if {
	regex.match(`^[^.]+-internal(\.[^.]+(\.svc(\..*)?)?)?$`, lower(route.hostname))
	msg := sprintf("spec.route.hostname: %q is the name of a CA's Service, or may become one; take another", [route.hostname])
}

# A CA trusts names below this one, which no Certificate of a server may be for.
deny contains {"msg": msg, "field": "spec.route.hostname"} if {
	endswith(lower(route.hostname), "-operator")
	msg := sprintf("spec.route.hostname: %q is, or may become, the operator's own name at a CA; take another", [route.hostname])
}

deny contains {"msg": msg, "field": "spec.route.hostname"} if {
	other := input.facts.hostTakenBy
	other != ""
	not unchanged
	msg := sprintf("spec.route.hostname: Pool %q has %q already; take another name, or delete that one", [other, route.hostname])
}

# A stored object can still be edited, or deleted.
unchanged if lower(input.request.oldObject.spec.route.hostname) == lower(route.hostname)
