# METADATA
# title: Containers must drop the capability NET_RAW
# description: >-
#   Requires capabilities.drop to contain NET_RAW or ALL, except in Pods for Windows.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.8
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: medium
#   category: hardening
#   rationale: >-
#     With NET_RAW, which is in the default set of container runtimes, a container can
#     forge packets of other Pods of the node.
#   remedy: Set securityContext.capabilities.drop to [ALL], or add NET_RAW to it.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.raw_sockets

import rego.v1

import data.library.shared.pods

# METADATA
# title: Containers must drop the capability NET_RAW
deny contains violation if {
	some path, container in pods.containers
	not drops(container)
	not pods.is_windows
	violation := {
		"msg": sprintf("%v keeps the capability NET_RAW: add NET_RAW or ALL to securityContext.capabilities.drop", [pods.describe(container)]),
		"field": sprintf("%v.securityContext.capabilities.drop", [path]),
	}
}

# METADATA
# title: Containers must not add the capability NET_RAW
deny contains violation if {
	some path, container in pods.containers
	some i, capability in container.securityContext.capabilities.add
	capability in {"NET_RAW", "ALL"}
	not pods.is_windows
	violation := {
		"msg": sprintf("%v adds the capability %v: remove it from securityContext.capabilities.add", [pods.describe(container), capability]),
		"field": sprintf("%v.securityContext.capabilities.add[%d]", [path, i]),
	}
}

drops(container) if {
	some capability in container.securityContext.capabilities.drop
	capability in {"NET_RAW", "ALL"}
}
