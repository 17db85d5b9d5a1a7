# METADATA
# title: Containers must not use ports of the node
# description: Denies hostPort. Control "Host Ports" of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.13
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Network separation and hardening
# custom:
#   severity: medium
#   category: pod-security
#   rationale: >-
#     A port of the node is reachable from outside of the cluster, without a Service and
#     without NetworkPolicies of some network plugins.
#   remedy: Remove ports[].hostPort, and expose the Pod with a Service.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.host_ports

import rego.v1

import data.library.shared.pods

# METADATA
# title: No ports of the node
deny contains violation if {
	some path, container in pods.containers
	some i, port in container.ports
	number := port.hostPort
	not number in {0, null}
	violation := {
		"msg": sprintf(
			"%v uses port %v of its node: remove ports[%d].hostPort, and use a Service",
			[pods.describe(container), number, i],
		),
		"field": sprintf("%v.ports[%d].hostPort", [path, i]),
	}
}
