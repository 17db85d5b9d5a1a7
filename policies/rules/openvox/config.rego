# METADATA
# title: Configs say nothing that is rendered from elsewhere
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: Config}]
#     operations: [CREATE, UPDATE]
package openvox.config

import rego.v1

extra := object.get(input.request.object.spec, ["puppet", "extraConfig"], {})

# Who gets a certificate is decided by SigningPolicies alone.
owned := {"autosign", "cadir", "cacert", "cakey", "cacrl", "ca_ttl", "allow_duplicate_certs", "ssldir", "confdir"}

deny contains {"msg": msg, "field": field} if {
	some section, settings in extra
	some name, _ in settings
	lower(trim_space(name)) in owned
	field := sprintf("spec.puppet.extraConfig.%s.%s", [section, name])
	msg := sprintf("%s: this setting is rendered from CertificateAuthority and SigningPolicies", [field])
}

deny contains {"msg": msg, "field": field} if {
	some section, settings in extra
	some name, value in settings
	not line(name, value)
	field := sprintf("spec.puppet.extraConfig.%s.%s", [section, name])
	msg := sprintf("%s: a setting has a name of a-z, 0-9 and _, and a value on one line", [field])
}

line(name, value) if {
	regex.match(`^[a-z][a-z0-9_]*$`, name)
	not regex.match(`[\r\n]`, value)
}

deny contains {"msg": msg, "field": field} if {
	some i, rule in input.request.object.spec.puppetserver.authorizationRules
	rule.matchRequest.type == "regex"
	not regex.is_valid(rule.matchRequest.path)
	field := sprintf("spec.puppetserver.authorizationRules[%d].matchRequest.path", [i])
	msg := sprintf("%s: %q is no regular expression", [field, rule.matchRequest.path])
}

warn contains msg if {
	some i, rule in input.request.object.spec.puppetserver.authorizationRules
	contains(rule.matchRequest.path, "puppet-ca")
	not rule.deny
	msg := sprintf("spec.puppetserver.authorizationRules[%d] opens a path of the CA: whom it lets in may get or take certificates without a SigningPolicy", [i])
}
