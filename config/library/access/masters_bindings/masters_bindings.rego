# METADATA
# title: Bindings must not use the group system:masters
# description: >-
#   Denies bindings for the group system:masters, except those of the control plane.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.7
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     Members of system:masters pass all authorization. A binding for the group suggests
#     permissions that can be revoked, which is not the case.
#   remedy: Bind a group of the identity provider.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: RoleBinding}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRoleBinding}
package library.masters_bindings

import rego.v1

import data.library.shared.roles

# METADATA
# title: Bindings must not use the group system:masters
deny contains violation if {
	some i, subject in roles.subjects
	subject.kind == "Group"
	subject.name == "system:masters"
	violation := {
		"msg": sprintf("%v binds the group system:masters: bind a group of the identity provider", [roles.describe]),
		"field": sprintf("subjects[%d].name", [i]),
	}
}
