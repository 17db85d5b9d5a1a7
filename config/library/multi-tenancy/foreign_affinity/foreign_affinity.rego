# METADATA
# title: Affinity must not refer to Pods of other namespaces
# description: >-
#   Denies namespaces and namespaceSelector in terms of podAffinity and podAntiAffinity.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/multi-tenancy/
#     description: Multi-tenancy
# custom:
#   severity: medium
#   category: multi-tenancy
#   rationale: >-
#     A tenant can place Pods next to those of another tenant, or keep them away from
#     nodes with an anti-affinity.
#   remedy: Remove namespaces and namespaceSelector from the terms.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.foreign_affinity

import rego.v1

import data.library.shared.pods

# METADATA
# title: Affinity must not refer to Pods of other namespaces
deny contains violation if {
	some path, term in terms
	some field in ["namespaces", "namespaceSelector"]
	not term[field] in {null, []}
	field_refers(term[field])
	violation := {
		"msg": sprintf("Pod %q has an affinity for Pods of other namespaces: remove %v", [input.name, field]),
		"field": sprintf("%v.%v", [path, field]),
	}
}

# The namespace of the Pod itself may be written.
field_refers(value) if is_object(value)

field_refers(value) if {
	some namespace in value
	namespace != input.request.namespace
}

terms[path] := term if {
	some kind in ["podAffinity", "podAntiAffinity"]
	some i, term in pods.spec.affinity[kind].requiredDuringSchedulingIgnoredDuringExecution
	path := sprintf("spec.affinity.%v.requiredDuringSchedulingIgnoredDuringExecution[%d]", [kind, i])
}

terms[path] := weighted.podAffinityTerm if {
	some kind in ["podAffinity", "podAntiAffinity"]
	some i, weighted in pods.spec.affinity[kind].preferredDuringSchedulingIgnoredDuringExecution
	path := sprintf("spec.affinity.%v.preferredDuringSchedulingIgnoredDuringExecution[%d].podAffinityTerm", [kind, i])
}
