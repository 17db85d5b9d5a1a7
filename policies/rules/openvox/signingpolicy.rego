# METADATA
# title: SigningPolicies say what they mean
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: SigningPolicy}]
#     operations: [CREATE, UPDATE]
package openvox.signingpolicy

import rego.v1

import data.openvox.signing

spec := input.request.object.spec

deny contains {"msg": msg, "field": field} if {
	some list in ["pattern", "dnsAltNames"]
	some i, pattern in spec[list].allow
	not signing.glob_valid(pattern)
	field := sprintf("spec.%s.allow[%d]", [list, i])
	msg := sprintf("%s: %q is no glob; there are * for any characters, ? for one, and [a-z] or [^a-z] for one of a range, and no backslash", [field, pattern])
}

deny contains {"msg": msg, "field": field} if {
	some i, attribute in spec.csrAttributes
	not attribute.name in input.facts.names
	not regex.match(`^[0-2](?:\.(?:0|[1-9][0-9]*)){2,}$`, attribute.name)
	field := sprintf("spec.csrAttributes[%d].name", [i])
	msg := sprintf("%s: there is no extension or attribute %q; use its OID, or a name such as pp_role, pp_preshared_key or challengePassword", [field, attribute.name])
}

deny contains {"msg": msg, "field": field} if {
	some i, attribute in spec.csrAttributes
	attribute.name in {"pp_cli_auth", "1.3.6.1.4.1.34380.1.3.39"}
	field := sprintf("spec.csrAttributes[%d].name", [i])
	msg := sprintf("%s: pp_cli_auth makes an administrator of the CA, and is never signed on request", [field])
}

warn contains "spec has none of any, pattern and csrAttributes: it signs nothing" if {
	not spec.any
	not spec.pattern
	count(object.get(spec, "csrAttributes", [])) == 0
}

warn contains msg if {
	spec.any
	others := [field | some field in ["pattern", "dnsAltNames", "csrAttributes"]; spec[field]]
	count(others) > 0
	msg := sprintf("spec.any matches every request: %s make no difference", [concat(", ", others)])
}
