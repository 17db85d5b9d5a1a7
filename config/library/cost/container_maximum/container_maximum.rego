# METADATA
# title: Containers must not exceed a size
# description: >-
#   Denies requests and limits above the parameters maximumCPU and maximumMemory.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/policy/limit-range/
#     description: Limit ranges
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     A mistake in a manifest, such as 64 in place of 64m, can make an autoscaler start
#     large nodes.
#   remedy: >-
#     Lower the request or the limit. Exempt large workloads with a PolicyException.
#   parameters:
#     maximumCPU: a quantity; 8 by default
#     maximumMemory: a quantity; 32Gi by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [resize]
#     expand: warn
package library.container_maximum

import rego.v1

import data.library.shared.objects
import data.library.shared.pods
import data.library.shared.quantities

# METADATA
# title: Containers must not exceed a size
deny contains violation if {
	some path, container in pods.resource_containers
	some part in ["requests", "limits"]
	some name, maximum in maxima
	quantities.resource(container, part, name) > quantities.number(maximum)
	violation := {
		"msg": sprintf("%v has more than %v of %v: lower resources.%v.%v", [pods.describe(container), maximum, name, part, name]),
		"field": sprintf("%v.resources.%v.%v", [path, part, name]),
	}
}

maxima := {
	"cpu": objects.parameter("maximumCPU", "8"),
	"memory": objects.parameter("maximumMemory", "32Gi"),
}
