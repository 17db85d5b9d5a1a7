# METADATA
# title: Containers must run as another user than root
# description: >-
#   Requires runAsNonRoot on the Pod or on each container, except for Pods in a user
#   namespace. Control "Running as Non-root" of Pod Security restricted.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.7
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     A process that runs as root and escapes its container is root on the node.
#   remedy: Set securityContext.runAsNonRoot to true on the Pod.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.run_as_non_root

import rego.v1

import data.library.shared.pods

# METADATA
# title: No security context permits root
deny contains violation if {
	some path, context in pods.contexts
	context.runAsNonRoot == false
	not pods.has_user_namespace
	violation := {
		"msg": sprintf("%v can run as root: set securityContext.runAsNonRoot to true", [pods.owner(path)]),
		"field": sprintf("%v.runAsNonRoot", [path]),
	}
}

# METADATA
# title: Each container has the setting, or its Pod
deny contains violation if {
	not pods.spec.securityContext.runAsNonRoot == true
	some path, container in pods.containers
	pods.setting(container, "runAsNonRoot") == null
	not pods.has_user_namespace
	violation := {
		"msg": sprintf(
			"%v can run as root: set securityContext.runAsNonRoot to true on the container or on the Pod",
			[pods.describe(container)],
		),
		"field": sprintf("%v.securityContext.runAsNonRoot", [path]),
	}
}
