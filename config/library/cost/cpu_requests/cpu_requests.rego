# METADATA
# title: Containers must request CPU
# description: >-
#   Requires a request of CPU, or a limit, from which it follows, on each container and
#   init container.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
#   - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
#     description: Resource management for Pods and containers
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     Without a request, the scheduler places any number of Pods on a node, and no
#     report shows what they cost.
#   remedy: Set resources.requests.cpu.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [resize]
#     expand: warn
package library.cpu_requests

import rego.v1

import data.library.shared.pods
import data.library.shared.quantities

# METADATA
# title: Containers must request CPU
deny contains violation if {
	some path, container in pods.resource_containers
	not quantities.request(container, "cpu")
	not pods.has_resources("cpu")
	violation := {
		"msg": sprintf("%v requests no CPU: set resources.requests.cpu", [pods.describe(container)]),
		"field": sprintf("%v.resources.requests.cpu", [path]),
	}
}
