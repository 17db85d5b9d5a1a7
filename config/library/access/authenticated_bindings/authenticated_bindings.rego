# METADATA
# title: Bindings must not grant permissions to all users
# description: >-
#   Denies bindings for the groups system:authenticated and system:serviceaccounts.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
#   - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#     description: Role Based Access Control good practices
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     The groups contain every user, or every ServiceAccount of the cluster, also those
#     of other tenants.
#   remedy: Bind the users, groups or ServiceAccounts that need the permissions.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: RoleBinding}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRoleBinding}
package library.authenticated_bindings

import rego.v1

import data.library.shared.roles

# METADATA
# title: Bindings must not grant permissions to all users
deny contains violation if {
	some i, subject in roles.subjects
	subject.kind == "Group"
	subject.name in {"system:authenticated", "system:serviceaccounts"}
	violation := {
		"msg": sprintf("%v grants permissions to all members of %v: bind the subjects that need them", [roles.describe, subject.name]),
		"field": sprintf("subjects[%d].name", [i]),
	}
}
