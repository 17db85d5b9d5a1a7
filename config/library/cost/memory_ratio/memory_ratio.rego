# METADATA
# title: Memory limits must be close to memory requests
# description: >-
#   Denies a limit of memory that is more than memoryRatio times its request.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
#     description: Node-pressure eviction
# custom:
#   severity: low
#   category: cost
#   rationale: >-
#     Nodes are filled by requests. If many containers use their limits, the memory of
#     the node is used up and Pods are evicted.
#   remedy: Raise resources.requests.memory, or lower resources.limits.memory.
#   parameters:
#     memoryRatio: how many times the request the limit may be; 2 by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [resize]
#     expand: warn
package library.memory_ratio

import rego.v1

import data.library.shared.objects
import data.library.shared.pods
import data.library.shared.quantities

# METADATA
# title: Memory limits must be close to memory requests
deny contains violation if {
	some path, container in pods.resource_containers
	limit := quantities.resource(container, "limits", "memory")
	request := quantities.resource(container, "requests", "memory")
	limit > request * objects.parameter("memoryRatio", 2)
	violation := {
		"msg": sprintf("%v has a memory limit far above its request: raise resources.requests.memory", [pods.describe(container)]),
		"field": sprintf("%v.resources.limits.memory", [path]),
	}
}
