# METADATA
# title: Images without a fixed version
# description: >-
#   An image without a tag, or with the tag latest, is another one after the
#   next restart. Nothing is refused, only said.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE, UPDATE]
#     subresources: [ephemeralcontainers]
#     expand: warn
package samples.latest_tag

import rego.v1

# METADATA
# title: Images name a version
warn contains warning if {
	some field in ["containers", "initContainers", "ephemeralContainers"]
	some i, container in input.request.object.spec[field]
	is_string(container.image)
	is_latest(container.image)
	warning := {
		"msg": sprintf(
			"image %q of container %q may change at any restart: name a tag other than latest, or a digest",
			[container.image, object.get(container, "name", "")],
		),
		"field": sprintf("spec.%v[%d].image", [field, i]),
	}
}

# No digest, and behind the last slash no tag or this one: a colon before it is a port's.
is_latest(image) if regex.match(`^([^@]*/)?[^/:@]*(:latest)?$`, image)
