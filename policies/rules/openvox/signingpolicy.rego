# METADATA
# title: SigningPolicies are unambiguous
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
	msg := sprintf("%s: %q is not a glob; there are * for any characters, ? for one, and [a-z] or [^a-z] for one of a range, and no backslash", [field, pattern])
}

deny contains {"msg": msg, "field": field} if {
	some i, attribute in spec.csrAttributes
	not input.facts.oids[attribute.name]
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

deny contains {"msg": msg, "field": field} if {
	some pair in twice
	differ(pair)
	field := sprintf("spec.csrAttributes[%d]", [pair.at])
	msg := sprintf("%s, with another value: no request has both; leave one out", [same(pair)])
}

warn contains msg if {
	some pair in twice
	not differ(pair)
	msg := sprintf("%s: nothing matches where their values differ; leave one out", [same(pair)])
}

# An attribute that is named both by its name and by its OID: each of them stands once.
twice contains {"first": spec.csrAttributes[i], "of": i, "second": spec.csrAttributes[at], "at": at} if {
	some indices in places
	[i, at] := sort(indices)
}

# What Secrets hold is not known here.
differ(pair) if pair.first.value != pair.second.value

places[oid] contains i if {
	some i, attribute in spec.csrAttributes
	oid := object.get(input.facts.oids, attribute.name, attribute.name)
}

same(pair) := sprintf("spec.csrAttributes[%d]: %s is the same attribute as %s in spec.csrAttributes[%d]", [pair.at, pair.second.name, pair.first.name, pair.of])

warn contains "spec has none of any, pattern and csrAttributes: it signs nothing" if {
	not spec.any
	not spec.pattern
	count(object.get(spec, "csrAttributes", [])) == 0
}

warn contains "spec.any signs any certname and any DNS name in subjectAltName that is not reserved, for any requester" if spec.any

warn contains msg if {
	spec.any
	others := [field | some field in ["pattern", "dnsAltNames", "csrAttributes"]; spec[field]]
	count(others) > 0
	msg := sprintf("spec.any matches every request: %s make no difference", [concat(", ", others)])
}

# Rendered policies may take up this many bytes. Policies beyond the limit sign nothing.
room := 640 * 1024

deny contains {"msg": msg, "field": "spec"} if {
	bytes := object.get(input.facts, "bytes", 0)
	others := object.get(input.facts, "otherBytes", 0)
	bytes + others > room
	bytes > object.get(input.facts, "formerBytes", 0) # an edit that makes it smaller is admitted
	msg := sprintf("spec: Too long: the SigningPolicies of CertificateAuthority %q take up %d bytes with this one, and may take up %d; shorten or delete some", [spec.certificateAuthorityRef, bytes + others, room])
}

# A Config's program decides in place of SigningPolicies.
deny contains {"msg": msg, "field": "spec.certificateAuthorityRef"} if {
	some config in input.facts.autosignConfigs
	not at_same_authority
	msg := sprintf("spec.certificateAuthorityRef: Config %q has spec.puppet.autosignCommand, which decides about requests to CertificateAuthority %q in place of SigningPolicies; remove that field first", [config, spec.certificateAuthorityRef])
}

# A stored object can still be edited.
at_same_authority if input.request.oldObject.spec.certificateAuthorityRef == spec.certificateAuthorityRef

warn contains "metadata.annotations: openvox.voxpupuli.org/paused has no effect on SigningPolicies: they stay in force, and so do changes to them" if {
	input.request.object.metadata.annotations["openvox.voxpupuli.org/paused"] == "true"
}
