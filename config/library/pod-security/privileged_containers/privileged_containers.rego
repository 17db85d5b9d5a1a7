# METADATA
# title: Containers must not be privileged
# description: >-
#   Denies securityContext.privileged. Control "Privileged Containers" of Pod Security
#   baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.2
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: critical
#   category: pod-security
#   rationale: >-
#     A privileged container has all capabilities and all devices of the node. It can
#     take over the node.
#   remedy: >-
#     Remove securityContext.privileged, and add the capabilities that the container
#     needs.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.privileged_containers

import rego.v1

import data.library.shared.pods

# METADATA
# title: No privileged containers
deny contains violation if {
	some path, container in pods.containers
	container.securityContext.privileged == true
	violation := {
		"msg": sprintf("%v is privileged: remove securityContext.privileged", [pods.describe(container)]),
		"field": sprintf("%v.securityContext.privileged", [path]),
	}
}
