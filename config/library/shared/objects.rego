# METADATA
# title: Objects
# description: Functions about any object. This package decides nothing.
package library.shared.objects

import rego.v1

# METADATA
# title: Whether a request sets or changes a field
# description: >-
#   Always true, except for an UPDATE that keeps the field. Policies review changed
#   fields only: an object that is older than a policy can still get labels, lose
#   finalizers and be deleted.
has_changed(_) if input.request.operation != "UPDATE"

has_changed(path) if {
	input.request.operation == "UPDATE"
	object.get(input.request.object, path, null) != object.get(input.request.oldObject, path, null)
}

# METADATA
# title: A string field, empty if the field is missing or has another type
text(parent, key) := parent[key] if {
	is_string(parent[key])
} else := ""

# METADATA
# title: A parameter of the PolicySource, or its default
parameter(name, default_value) := object.get(object.get(input, "parameters", {}), name, default_value)

# METADATA
# title: The spec of the object, if the request sets or changes it
spec := input.request.object.spec if {
	is_object(input.request.object.spec)
	has_changed(["spec"])
}
