# METADATA
# title: Containers must have the default /proc mount in user namespaces, too
# description: >-
#   Denies other values of procMount than Default in every Pod. Control "/proc Mount
#   Type" of Pod Security restricted.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
# custom:
#   severity: medium
#   category: pod-security
#   rationale: >-
#     An unmasked /proc shows settings of the kernel of the node, also to a Pod in a
#     user namespace.
#   remedy: Remove securityContext.procMount.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.unmasked_proc

import rego.v1

import data.library.shared.pods

# METADATA
# title: Only the default /proc mount
deny contains violation if {
	some path, container in pods.containers
	mount := container.securityContext.procMount
	not mount in {null, "Default"}
	violation := {
		"msg": sprintf("%v has the /proc mount %q: remove securityContext.procMount", [pods.describe(container), mount]),
		"field": sprintf("%v.securityContext.procMount", [path]),
	}
}
