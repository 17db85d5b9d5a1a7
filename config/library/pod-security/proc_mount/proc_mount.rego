# METADATA
# title: Containers must have the default /proc mount
# description: >-
#   Denies other values of procMount than Default, except for Pods in a user namespace.
#   Control "/proc Mount Type" of Pod Security baseline. The API server rejects such
#   Pods itself since it validates procMount and hostUsers together.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
# custom:
#   severity: high
#   category: pod-security
#   rationale: An unmasked /proc shows and changes settings of the kernel of the node.
#   remedy: Remove securityContext.procMount, or set spec.hostUsers to false.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.proc_mount

import rego.v1

import data.library.shared.pods

# METADATA
# title: Only the default /proc mount
deny contains violation if {
	some path, container in pods.containers
	mount := container.securityContext.procMount
	not mount in {null, "Default"}
	not pods.has_user_namespace
	violation := {
		"msg": sprintf("%v has the /proc mount %q: remove securityContext.procMount", [pods.describe(container), mount]),
		"field": sprintf("%v.securityContext.procMount", [path]),
	}
}
