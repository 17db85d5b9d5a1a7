# METADATA
# title: Roles must not create tokens of ServiceAccounts
# description: Denies roles that permit to create serviceaccounts/token.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.13
#   - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#     description: Role Based Access Control good practices
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     A user who creates tokens has the permissions of each ServiceAccount of the
#     namespace.
#   remedy: Remove serviceaccounts/token. Pods get their tokens from the kubelet.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.token_creation

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not create tokens of ServiceAccounts
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"serviceaccounts/token"}, {"create"})
	violation := {
		"msg": sprintf("%v creates tokens of ServiceAccounts: remove serviceaccounts/token", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
