# METADATA
# title: Bindings must not grant permissions to default ServiceAccounts
# description: Denies bindings for ServiceAccounts with the name default.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.5
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     Each Pod without a ServiceAccount of its own has the permissions of the
#     ServiceAccount default of its namespace.
#   remedy: >-
#     Create a ServiceAccount for the Pods that need the permissions, and bind it.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: RoleBinding}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRoleBinding}
package library.default_account_bindings

import rego.v1

import data.library.shared.roles

# METADATA
# title: Bindings must not grant permissions to default ServiceAccounts
deny contains violation if {
	some i, subject in roles.subjects
	[_, "default"] = roles.account(subject)
	violation := {
		"msg": sprintf("%v binds a default ServiceAccount: bind one that only the Pods use that need it", [roles.describe]),
		"field": sprintf("subjects[%d].name", [i]),
	}
}
