# METADATA
# title: Roles must not use wildcards
# description: Denies the wildcard * in the verbs, resources and API groups of roles.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.3
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     A wildcard also covers kinds and verbs that are added later, such as those of a
#     new CustomResourceDefinition.
#   remedy: List the API groups, resources and verbs that the role needs.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.wildcard_roles

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not use wildcards
deny contains violation if {
	some i, rule in roles.rules
	some field in ["apiGroups", "resources", "verbs"]
	"*" in rule[field]
	violation := {
		"msg": sprintf("%v has a wildcard in %v: list the values that the role needs", [roles.describe, field]),
		"field": sprintf("rules[%d].%v", [i, field]),
	}
}
