# METADATA
# title: Bindings must not grant cluster-admin
# description: >-
#   Denies bindings to the ClusterRole cluster-admin, except for the group
#   system:masters.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.1
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
# custom:
#   severity: critical
#   category: access
#   rationale: >-
#     The ClusterRole cluster-admin permits everything, also to change or to turn off
#     all policies.
#   remedy: >-
#     Bind a role with the permissions that the subjects need. Exempt administrators
#     with a PolicyException.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: RoleBinding}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRoleBinding}
package library.cluster_admin_bindings

import rego.v1

import data.library.shared.objects
import data.library.shared.roles

# METADATA
# title: Bindings must not grant cluster-admin
deny contains violation if {
	input.request.object.roleRef.kind == "ClusterRole"
	input.request.object.roleRef.name == "cluster-admin"
	some i, subject in roles.subjects
	not is_masters(subject)
	violation := {
		"msg": sprintf(
			"%v grants cluster-admin to %v %q: bind a role with the permissions that the subject needs",
			[roles.describe, objects.text(subject, "kind"), objects.text(subject, "name")],
		),
		"field": sprintf("subjects[%d]", [i]),
	}
}

is_masters(subject) if {
	subject.kind == "Group"
	subject.name == "system:masters"
}
