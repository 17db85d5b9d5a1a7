# METADATA
# title: Roles must not permit impersonation
# description: >-
#   Denies roles that permit the verb impersonate for users, groups and ServiceAccounts.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.8
#   - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#     description: Role Based Access Control good practices
# custom:
#   severity: critical
#   category: access
#   rationale: >-
#     A user who impersonates others has their permissions, and appears in logs under
#     their names.
#   remedy: Remove the verb impersonate.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.impersonation

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not permit impersonation
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"users", "groups", "serviceaccounts"}, {"impersonate"})
	violation := {
		"msg": sprintf("%v impersonates users: remove the verb impersonate", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
