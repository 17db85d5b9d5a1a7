# METADATA
# title: Roles must not permit escalate and bind
# description: >-
#   Denies roles that permit the verbs escalate and bind for Roles and ClusterRoles.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.8
#   - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#     description: Role Based Access Control good practices
# custom:
#   severity: critical
#   category: access
#   rationale: >-
#     With escalate or bind, a user grants permissions that the user does not have, up
#     to those of cluster-admin.
#   remedy: >-
#     Remove the verbs escalate and bind. Users can grant the permissions that they have
#     without these verbs.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.escalating_verbs_of_roles

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not permit escalate and bind
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "rbac.authorization.k8s.io", {"roles", "clusterroles"}, {"escalate", "bind"})
	violation := {
		"msg": sprintf("%v can grant any permission: remove the verbs escalate and bind", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
