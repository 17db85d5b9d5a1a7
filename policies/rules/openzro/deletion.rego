# METADATA
# title: What becomes of the server's when an object is deleted is one of two
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: "*"}]
#     operations: [CREATE, UPDATE]
package openzro.deletion

import rego.v1

deny contains {"field": field, "msg": msg} if {
	policy := input.request.object.metadata.annotations["openzro.io/deletion-policy"]
	not policy in {"Delete", "Retain"}
	field := "metadata.annotations[openzro.io/deletion-policy]"
	msg := sprintf("%s: %q is not one of Delete, Retain", [field, policy])
}
