# METADATA
# title: Configs say nothing that is rendered from elsewhere
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: Config}]
#     operations: [CREATE, UPDATE]
package openvox.config

import rego.v1

import data.openvox.code
import data.openvox.expressions
import data.openvox.image

spec := input.request.object.spec

puppet := object.get(spec, "puppet", {})

extra := object.get(puppet, "extraConfig", {})

rules := object.get(spec, ["puppetserver", "authorizationRules"], [])

# Only SigningPolicies decide which nodes get a certificate.
deciding := {"autosign", "ca_ttl", "allow_duplicate_certs", "certname"}

# Where files are, and whose, goes with the image: all settings of Puppet that are paths, but
# for those that say where the user's own code is.
paths := {
	"manage_internal_file_permissions",
	"agent_catalog_run_lockfile", "agent_disabled_lockfile", "binder_config", "bucketdir", "cacert",
	"cacrl", "cadir", "cakey", "capub", "cert_inventory", "certdir", "classfile", "client_datadir",
	"clientbucketdir", "clientyamldir", "codedir", "confdir", "config", "csr_attributes", "csrdir",
	"deviceconfdir", "deviceconfig", "devicedir", "factpath", "fileserverconfig", "graphdir",
	"hostcert", "hostcrl", "hostcsr", "hostprivkey", "hostpubkey", "lastrunfile", "lastrunreport",
	"libdir", "localcacert", "localedest", "logdir", "module_working_dir", "passfile", "pidfile",
	"plugindest", "pluginfactdest", "preview_outputdir", "privatedir", "privatekeydir", "publicdir",
	"publickeydir", "puppetdlog", "reportdir", "requestdir", "resourcefile", "route_file", "rundir",
	"serial", "server_datadir", "signeddir", "ssl_lockfile", "ssl_trust_store", "ssldir", "statedir",
	"statefile", "transactionstorefile", "trusted_oid_mapping_file", "vardir", "vendormoduledir",
	"yamldir",
}

owned := deciding | paths

# Settings that have a field of their own in spec.puppet.
fields := {
	"environmentpath": "environmentPath", "hiera_config": "hieraConfig", "environment_timeout": "environmentTimeout",
	"storeconfigs": "storeconfigs", "storeconfigs_backend": "storeBackend", "reports": "reports",
}

deny contains {"msg": msg, "field": field} if {
	some section, settings in extra
	some name, _ in settings
	lower(trim_space(name)) in owned
	field := sprintf("spec.puppet.extraConfig.%s.%s", [section, name])
	msg := sprintf("%s: this setting is rendered from CertificateAuthority and SigningPolicies, or goes with the image", [field])
}

deny contains {"msg": msg, "field": field} if {
	some section in ["main", "server"]
	some name, _ in extra[section]
	own := fields[lower(trim_space(name))]
	field := sprintf("spec.puppet.extraConfig.%s.%s", [section, name])
	msg := sprintf("%s: this setting has a field of its own, spec.puppet.%s", [field, own])
}

autosign := puppet.autosignCommand if puppet.autosignCommand != ""

external_nodes := puppet.externalNodesCommand if puppet.externalNodesCommand != ""

# A program of the user's own, of which Puppet takes one without arguments.
deny contains {"msg": msg, "field": field} if {
	some name in ["autosignCommand", "externalNodesCommand"]
	command := puppet[name]
	command != ""
	not regex.match(`^(?:/[A-Za-z0-9._+-]+)+$`, command)
	field := sprintf("spec.puppet.%s", [name])
	msg := sprintf("%s: Invalid value %q: must be the absolute path of a program, such as /etc/puppetlabs/hooks/decide, without arguments", [field, command])
}

deny contains {"msg": msg, "field": "spec.puppet.externalNodesCommand"} if {
	external_nodes
	spec.nodeClassifierRef
	msg := sprintf("spec.puppet.externalNodesCommand: NodeClassifier %q of spec.nodeClassifierRef classifies nodes already; leave one of both out", [spec.nodeClassifierRef])
}

deny contains {"msg": msg, "field": "spec.puppet.autosignCommand"} if {
	policies := input.facts.signingPolicies
	is_array(policies)
	count(policies) > 0
	autosign
	not autosigned_before
	msg := sprintf("spec.puppet.autosignCommand: CertificateAuthority %q has SigningPolicies (%s), which the command would replace; delete them, or leave the field out", [spec.authorityRef, concat(", ", policies)])
}

# A stored object can still be edited.
autosigned_before if {
	before := input.request.oldObject.spec
	before.puppet.autosignCommand != ""
	before.authorityRef == spec.authorityRef
}

warn contains msg if {
	msg := sprintf("spec.puppet.autosignCommand: %s alone decides which agents get certificates; neither SigningPolicies nor Lintel's checks of requests and reserved names apply", [autosign])
}

deny contains {"msg": msg, "field": field} if {
	classified
	some name, _ in extra.server
	lower(trim_space(name)) in {"node_terminus", "external_nodes"}
	field := sprintf("spec.puppet.extraConfig.server.%s", [name])
	msg := sprintf("%s: this setting is rendered from spec.nodeClassifierRef or spec.puppet.externalNodesCommand; leave one of them out", [field])
}

classified if spec.nodeClassifierRef

classified if external_nodes

deny contains {"msg": msg, "field": field} if {
	some section, settings in extra
	some name, value in settings
	not line(name, value)
	field := sprintf("spec.puppet.extraConfig.%s.%s", [section, name])
	msg := sprintf("%s: a setting has a name of a-z, 0-9 and _, and a value on one line", [field])
}

line(name, value) if {
	regex.match(`^[a-z][a-z0-9_]*$`, name)
	one_line(value)
}

# Another line of puppet.conf would be another setting.
one_line(value) if not regex.match(`[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}]`, value)

deny contains {"msg": msg, "field": field} if {
	some name in ["environmentPath", "hieraConfig", "storeBackend", "reports"]
	not one_line(puppet[name])
	field := sprintf("spec.puppet.%s", [name])
	msg := sprintf("%s: the value has one line, and no control characters", [field])
}

deny contains {"msg": msg, "field": "spec.puppet.environmentTimeout"} if {
	not regex.match(`^(?:unlimited|[0-9]+[smhdy]?)?$`, puppet.environmentTimeout)
	msg := sprintf("spec.puppet.environmentTimeout: %q is neither unlimited nor a duration such as 3m", [puppet.environmentTimeout])
}

deny contains {"msg": msg, "field": field} if {
	some i, url in spec.puppetdb.serverUrls
	not regex.match(`^https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?$`, url)
	field := sprintf("spec.puppetdb.serverUrls[%d]", [i])
	msg := sprintf("%s: %q is not a URL of a PuppetDB; it is https://<host>:<port>", [field, url])
}

deny contains {"msg": msg, "field": "spec.logging.loggers"} if {
	some name, _ in spec.logging.loggers
	not regex.match(`^[A-Za-z0-9_.$-]+$`, name)
	msg := sprintf("spec.logging.loggers: %q is not a name of a class or package", [name])
}

deny contains object.union(problem, {"field": sprintf("spec.image.%s", [problem.field]), "msg": sprintf("spec.image.%s", [problem.msg])}) if {
	some problem in image.problems(object.get(spec, "image", {}))
}

# Without the program a CA signs nothing by itself, which is safe and surprises.
warn contains msg if {
	spec.authorityRef
	not autosign
	repository := object.get(spec, ["image", "repository"], "ghcr.io/slauger/openvox-server")
	object.get(input.request.object, ["metadata", "annotations", "lintel.dev/autosign-image"], "") != repository
	msg := sprintf("spec.image: nothing says that %s has /usr/local/bin/lintel-openvox-autosign, without which a CA's server signs nothing by itself; once it has, set the annotation lintel.dev/autosign-image to %s", [repository, repository])
}

warn contains msg if {
	spec.nodeClassifierRef
	repository := object.get(spec, ["image", "repository"], "ghcr.io/slauger/openvox-server")
	object.get(input.request.object, ["metadata", "annotations", "lintel.dev/autosign-image"], "") != repository
	msg := sprintf("spec.nodeClassifierRef: nothing says that %s has /usr/local/bin/lintel-openvox-enc, without which servers compile no catalog; once it has, set the annotation lintel.dev/autosign-image to %s", [repository, repository])
}

# With a rule that it cannot read a server does not start.

deny contains {"msg": msg, "field": field} if {
	some i, rule in rules
	rule.matchRequest.type == "regex"
	not expressions.readable(rule.matchRequest.path)
	field := sprintf("spec.puppetserver.authorizationRules[%d].matchRequest.path", [i])
	msg := sprintf("%s: %q is not a regular expression that Java and Go read alike; write a class such as \\p{Greek} as [α-ω], and a { that is meant as \\{", [field, rule.matchRequest.path])
}

deny contains {"msg": msg, "field": field} if {
	some i, rule in rules
	some verdict in ["allow", "deny"]
	some reference in regex.find_all_string_submatch_n(`\$([0-9]+)`, rule[verdict], -1)
	not within(to_number(reference[1]), groups(rule.matchRequest))
	field := sprintf("spec.puppetserver.authorizationRules[%d].%s", [i, verdict])
	msg := sprintf("%s: there is no group %s in matchRequest.path; it is of type regex, and has one in parentheses for each $1, $2, …", [field, reference[0]])
}

within(number, most) if {
	number >= 1
	number <= most
}

groups(match) := 0 if not match.type == "regex"

groups(match) := 0 if not expressions.readable(match.path)

groups(match) := expressions.groups(match.path) if {
	match.type == "regex"
	expressions.readable(match.path)
}

deny contains {"msg": msg, "field": field} if {
	some i, rule in rules
	some method in rule.matchRequest.method
	not lower(method) in {"get", "post", "put", "delete", "head"}
	field := sprintf("spec.puppetserver.authorizationRules[%d].matchRequest.method", [i])
	msg := sprintf("%s: there is no method %q; there are get, post, put, delete and head", [field, method])
}

deny contains {"msg": msg, "field": field} if {
	some i, rule in rules
	some verdict in ["allow", "deny"]
	not subject(rule[verdict])
	field := sprintf("spec.puppetserver.authorizationRules[%d].%s", [i, verdict])
	msg := sprintf("%s: %q is neither * nor a certname, *.<domain>, $1 or /<regular expression>/", [field, rule[verdict]])
}

subject("*")

subject(name) if regex.match(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`, name)

subject(name) if regex.match(`^\*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)+$`, name)

subject(name) if regex.match(`^[A-Za-z0-9_.-]*\$[0-9][A-Za-z0-9_.$-]*$`, name)

subject(name) if {
	regex.match(`^/.*/$`, name)
	expressions.readable(trim_suffix(trim_prefix(name, "/"), "/"))
}

deny contains {"msg": msg, "field": field} if {
	some i, rule in rules
	not rule.allow
	not rule.deny
	not rule.allowUnauthenticated
	field := sprintf("spec.puppetserver.authorizationRules[%d]", [i])
	msg := sprintf("%s: give allow, deny or allowUnauthenticated: a rule without is none", [field])
}

warn contains msg if {
	some i, rule in rules
	opens(rule.matchRequest)
	not rule.deny
	msg := sprintf("spec.puppetserver.authorizationRules[%d] opens a path of the CA, or may: whom it lets in may get or take certificates without a SigningPolicy. A regular expression begins with ^/ and what no path of the CA begins with", [i])
}

opens(match) if contains(match.path, "puppet-ca")

opens(match) if {
	object.get(match, "type", "path") == "path"
	startswith("/puppet-ca/v1/certificate_status", match.path)
}

# Whether an expression matches a path of the CA is seen by its beginning.
opens(match) if {
	match.type == "regex"
	head := expressions.head(match.path)
	startswith("/puppet-ca/", head)
}

deny contains {"msg": msg, "field": "spec"} if {
	some object in input.facts.unreadable
	msg := sprintf("spec: user %q may neither get %s %q, which Server %q reads, nor create Pods in this namespace, and changes the programs that read the object (spec.image, spec.code, spec.puppet); ask an administrator for one of both permissions", [input.request.userInfo.username, object.kind, object.name, object.server])
}

deny contains problem if {
	not code.unchanged
	some problem in code.problems(spec, environments)
}

environments := replace(first, "$codedir", code.root) if {
	first := split(object.get(puppet, "environmentPath", "/etc/puppetlabs/code/environments"), ":")[0]
}
