# METADATA
# title: Containers must request memory
# description: >-
#   Requires a request of memory, or a limit, from which it follows, on each container
#   and init container.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
#   - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
#     description: Resource management for Pods and containers
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     Without a request, the scheduler places any number of Pods on a node, and the
#     kernel ends processes when its memory is used up.
#   remedy: Set resources.requests.memory.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [resize]
#     expand: warn
package library.memory_requests

import rego.v1

import data.library.shared.pods
import data.library.shared.quantities

# METADATA
# title: Containers must request memory
deny contains violation if {
	some path, container in pods.resource_containers
	not quantities.request(container, "memory")
	not pods.has_resources("memory")
	violation := {
		"msg": sprintf("%v requests no memory: set resources.requests.memory", [pods.describe(container)]),
		"field": sprintf("%v.resources.requests.memory", [path]),
	}
}
