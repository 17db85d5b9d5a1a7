# METADATA
# title: Bindings must not grant permissions to anonymous users
# description: >-
#   Denies bindings for the user system:anonymous and the group system:unauthenticated.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
#   - ref: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-requests
#     description: Anonymous requests
# custom:
#   severity: critical
#   category: access
#   rationale: >-
#     Each client that reaches the API server has the permissions of such a binding,
#     without credentials.
#   remedy: Bind users, groups or ServiceAccounts that authenticate.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: RoleBinding}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRoleBinding}
package library.anonymous_bindings

import rego.v1

import data.library.shared.roles

# METADATA
# title: Bindings must not grant permissions to anonymous users
deny contains violation if {
	some i, subject in roles.subjects
	[subject.kind, subject.name] in {["User", "system:anonymous"], ["Group", "system:unauthenticated"]}
	violation := {
		"msg": sprintf(
			"%v grants permissions to %v, which has no credentials: bind users that authenticate",
			[roles.describe, subject.name],
		),
		"field": sprintf("subjects[%d].name", [i]),
	}
}
