# METADATA
# title: Roles must not permit exec into Pods
# description: Denies roles that permit exec, attach and port-forward.
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
#     With exec, attach and port-forward, a user acts with the identity and the network
#     position of the Pod, past the review of its manifest.
#   remedy: >-
#     Grant pods/exec, pods/attach and pods/portforward for a limited time, and exempt
#     that role with a PolicyException.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.pod_access

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not permit exec into Pods
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"pods/exec", "pods/attach", "pods/portforward"}, {"create", "get"})
	violation := {
		"msg": sprintf("%v permits access into Pods: remove pods/exec, pods/attach and pods/portforward", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
