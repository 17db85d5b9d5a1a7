# METADATA
# title: How messages name objects
package controlled.subject

import rego.v1

name := sprintf("%s %s/%s", [input.request.kind.kind, input.request.namespace, input.name])

reference(owner) := sprintf("%s %s", [owner.kind, owner.name]) if owner.namespace == input.request.namespace

reference(owner) := sprintf("%s %s/%s", [owner.kind, owner.namespace, owner.name]) if owner.namespace != input.request.namespace
