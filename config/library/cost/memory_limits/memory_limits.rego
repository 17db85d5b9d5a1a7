# METADATA
# title: Containers must have a memory limit
# description: >-
#   Requires a limit of memory on each container and init container, or on the Pod.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
#   - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
#     description: Resource management for Pods and containers
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     A container without a limit can use up the memory of its node, and the kernel then
#     ends processes of other Pods.
#   remedy: Set resources.limits.memory.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [resize]
#     expand: warn
package library.memory_limits

import rego.v1

import data.library.shared.pods
import data.library.shared.quantities

# METADATA
# title: Containers must have a memory limit
deny contains violation if {
	some path, container in pods.resource_containers
	not quantities.resource(container, "limits", "memory")
	not quantities.resource(pods.spec, "limits", "memory")
	violation := {
		"msg": sprintf("%v has no memory limit: set resources.limits.memory", [pods.describe(container)]),
		"field": sprintf("%v.resources.limits.memory", [path]),
	}
}
