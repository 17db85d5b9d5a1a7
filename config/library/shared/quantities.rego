# METADATA
# title: Quantities
# description: Functions about amounts of resources. This package decides nothing.
package library.shared.quantities

import rego.v1

# METADATA
# title: The number of a quantity, such as 0.5 for 500m
# description: Undefined for values that are not quantities.
number(value) := value if is_number(value)

number(value) := units.parse(value) if {
	is_string(value)
	regex.match(`^[0-9]+(\.[0-9]+)?([mkMGTPE]|[KMGTPE]i)?$`, value)
}

number(value) := to_number(trim_right(value, "nu")) / fractions[substring(value, count(value) - 1, 1)] if {
	is_string(value)
	regex.match(`^[0-9]+(\.[0-9]+)?[nu]$`, value)
}

fractions := {"n": 1000000000, "u": 1000000}

number(value) := to_number(value) if {
	is_string(value)
	regex.match(`^[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+$`, value)
}

# METADATA
# title: A resource of a container, undefined if missing
# description: The part is requests or limits.
resource(container, part, name) := number(container.resources[part][name])

# METADATA
# title: The request of a resource, which defaults to its limit
request(container, name) := resource(container, "requests", name) if {
	container.resources.requests[name]
} else := resource(container, "limits", name)
