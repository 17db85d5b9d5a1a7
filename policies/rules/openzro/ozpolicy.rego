# METADATA
# title: OZPolicies are what the server takes
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZPolicy}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package openzro.ozpolicy

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

deny contains values.needed("spec.name", ": the names of the policies at the server begin with it") if values.blank(object.get(spec, "name", ""))

deny contains problem if some problem in values.taken("spec.name", spec.name)

deny contains problem if {
	some key in ["sourceGroups", "destinationGroups"]
	some problem in values.names(spec, key)
}

deny contains problem if some problem in values.ports(spec, "ports")

protocols := ["tcp", "udp"]

deny contains {"field": field, "msg": msg} if {
	some i, protocol in spec.protocols
	not protocol in protocols
	field := sprintf("spec.protocols[%d]", [i])
	msg := sprintf("%s: %q is not one of %s, which have ports", [field, protocol, concat(", ", protocols)])
}

deny contains {"field": field, "msg": msg} if {
	some i, protocol in spec.protocols
	first := values.first_of(spec.protocols, protocol)
	first < i
	field := sprintf("spec.protocols[%d]", [i])
	msg := sprintf("%s: %q duplicates [%d]; remove one of them", [field, protocol, first])
}

warn contains msg if {
	"All" in spec.sourceGroups
	"All" in spec.destinationGroups
	msg := "spec: every peer may reach every other one, for sourceGroups and destinationGroups both have All; name the groups that are to"
}

warn contains "spec.sourceGroups: empty: no source may reach anything" if count(object.get(spec, "sourceGroups", [])) == 0

# Both may come with the OZResources that name the policy.
warn contains msg if {
	some key in ["destinationGroups", "ports"]
	count(object.get(spec, key, [])) == 0
	msg := sprintf("spec.%s: there are none, so nothing is reached but by the OZResources that name this policy in spec.policyName", [key])
}
