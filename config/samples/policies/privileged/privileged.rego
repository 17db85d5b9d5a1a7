# METADATA
# title: Privileged containers
# description: >-
#   A privileged container has every capability and all devices of its node, so
#   a user who runs one controls the node.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE, UPDATE]
#     subresources: [ephemeralcontainers]
#     expand: warn
package samples.privileged

import rego.v1

# METADATA
# title: No container is privileged
deny contains violation if {
	some field in ["containers", "initContainers", "ephemeralContainers"]
	some i, container in input.request.object.spec[field]
	container.securityContext.privileged == true
	violation := {
		"msg": sprintf(
			"container %q of Pod %q is privileged: remove securityContext.privileged",
			[object.get(container, "name", ""), input.name],
		),
		"field": sprintf("spec.%v[%d].securityContext.privileged", [field, i]),
	}
}
