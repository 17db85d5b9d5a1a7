# METADATA
# title: The annotation that permits an adoption is true or false
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: "*"}]
#     operations: [CREATE, UPDATE]
package openzro.adoption

import rego.v1

deny contains {"field": field, "msg": msg} if {
	value := input.request.object.metadata.annotations["openzro.io/adopt"]
	not value in {"true", "false"}
	field := "metadata.annotations[openzro.io/adopt]"
	msg := sprintf("%s: Invalid value %q: must be true or false", [field, value])
}
