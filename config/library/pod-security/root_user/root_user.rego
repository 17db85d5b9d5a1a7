# METADATA
# title: Pods must not set the user 0
# description: >-
#   Denies runAsUser 0 on the Pod and on its containers, except for Pods in a user
#   namespace. Control "Running as Non-root user" of Pod Security restricted.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.7
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     A process that runs as root and escapes its container is root on the node.
#   remedy: Set securityContext.runAsUser to another user than 0, or remove it.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.root_user

import rego.v1

import data.library.shared.pods

# METADATA
# title: No user 0
deny contains violation if {
	some path, context in pods.contexts
	context.runAsUser == 0
	not pods.has_user_namespace
	violation := {
		"msg": sprintf("%v runs as root: set securityContext.runAsUser to another user than 0", [pods.owner(path)]),
		"field": sprintf("%v.runAsUser", [path]),
	}
}
