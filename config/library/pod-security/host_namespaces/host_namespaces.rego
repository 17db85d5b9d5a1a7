# METADATA
# title: Pods must not share namespaces of the node
# description: >-
#   Denies hostNetwork, hostPID and hostIPC. Control "Host Namespaces" of Pod Security
#   baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.3, 5.2.4 and 5.2.5
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: critical
#   category: pod-security
#   rationale: >-
#     In the namespaces of the node, a Pod sees its processes, shared memory and network
#     interfaces, and can reach services that listen on the loopback interface only.
#   remedy: Remove spec.hostNetwork, spec.hostPID and spec.hostIPC.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.host_namespaces

import rego.v1

import data.library.shared.pods

# METADATA
# title: No namespaces of the node
deny contains violation if {
	some field in ["hostNetwork", "hostPID", "hostIPC"]
	pods.spec[field] == true
	violation := {
		"msg": sprintf("Pod %q shares a namespace with its node: remove spec.%v", [input.name, field]),
		"field": sprintf("spec.%v", [field]),
	}
}
