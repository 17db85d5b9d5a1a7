# METADATA
# title: Containers must drop all capabilities
# description: >-
#   Requires capabilities.drop to contain ALL, and permits to add NET_BIND_SERVICE only,
#   except in Pods for Windows. Control "Capabilities" of Pod Security restricted.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.8 and 5.2.10
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: medium
#   category: pod-security
#   rationale: >-
#     Most programs need no capability. A capability that is not granted cannot be used
#     by an attacker.
#   remedy: Set securityContext.capabilities.drop to [ALL] on each container.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.dropped_capabilities

import rego.v1

import data.library.shared.pods

# METADATA
# title: Containers drop all capabilities
deny contains violation if {
	some path, container in pods.containers
	not drops_all(container)
	not pods.is_windows
	violation := {
		"msg": sprintf("%v keeps capabilities: set securityContext.capabilities.drop to [ALL]", [pods.describe(container)]),
		"field": sprintf("%v.securityContext.capabilities.drop", [path]),
	}
}

# METADATA
# title: Containers add NET_BIND_SERVICE only
deny contains violation if {
	some path, container in pods.containers
	some i, capability in container.securityContext.capabilities.add
	capability != "NET_BIND_SERVICE"
	not pods.is_windows
	violation := {
		"msg": sprintf(
			"%v adds the capability %v: remove it from securityContext.capabilities.add; only NET_BIND_SERVICE is permitted",
			[pods.describe(container), capability],
		),
		"field": sprintf("%v.securityContext.capabilities.add[%d]", [path, i]),
	}
}

drops_all(container) if "ALL" in container.securityContext.capabilities.drop
