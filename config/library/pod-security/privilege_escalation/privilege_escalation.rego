# METADATA
# title: Containers must not gain privileges
# description: >-
#   Requires allowPrivilegeEscalation to be false, except in Pods for Windows. Control
#   "Privilege Escalation" of Pod Security restricted.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.6
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     Without the setting, a process can gain privileges by a setuid program in its
#     image.
#   remedy: Set securityContext.allowPrivilegeEscalation to false on each container.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.privilege_escalation

import rego.v1

import data.library.shared.pods

# METADATA
# title: No privilege escalation
deny contains violation if {
	some path, container in pods.containers
	pods.setting(container, "allowPrivilegeEscalation") != false
	not pods.is_windows
	violation := {
		"msg": sprintf("%v can gain privileges: set securityContext.allowPrivilegeEscalation to false", [pods.describe(container)]),
		"field": sprintf("%v.securityContext.allowPrivilegeEscalation", [path]),
	}
}
