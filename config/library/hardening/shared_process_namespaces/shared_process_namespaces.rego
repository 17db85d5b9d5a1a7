# METADATA
# title: Containers of a Pod must not share processes
# description: Denies shareProcessNamespace.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
#   - ref: https://kubernetes.io/docs/tasks/configure-pod-container/share-process-namespace/
#     description: Share process namespace between containers in a Pod
# custom:
#   severity: medium
#   category: hardening
#   rationale: >-
#     In a shared process namespace, each container sees the memory, the environment
#     and, through /proc, the files of the others.
#   remedy: Remove spec.shareProcessNamespace.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.shared_process_namespaces

import rego.v1

import data.library.shared.pods

# METADATA
# title: Containers of a Pod must not share processes
deny contains violation if {
	pods.spec.shareProcessNamespace == true
	violation := {
		"msg": sprintf("containers of Pod %q share their processes: remove spec.shareProcessNamespace", [input.name]),
		"field": "spec.shareProcessNamespace",
	}
}
