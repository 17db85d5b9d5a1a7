# METADATA
# title: Values that the openZro server accepts
# description: Functions of the rules for each kind. Each problem of a value has its field and its message.
package openzro.values

import rego.v1

blank(value) if trim_space(value) == ""

needed(field, why) := {"field": field, "msg": sprintf("%s: a value is needed%s", [field, why])}

# The problems of a list of names at a path of the spec: empty and repeated names. The server's
# own items are not known here.
names(spec, key) := {problem |
	twice := repeated(spec[key])
	some i, name in spec[key]
	field := sprintf("spec.%s[%d]", [key, i])
	problem := name_problem(spec[key], twice, i, name, field)
}

name_problem(_, _, _, name, field) := needed(field, ": it is the name of a group at the server") if blank(name)

name_problem(list, twice, i, name, field) := {"field": field, "msg": msg} if {
	not blank(name)
	name in twice
	first := first_of(list, name)
	first < i
	msg := sprintf("%s: %q duplicates [%d]; remove one of them", [field, name, first])
}

# The problems of a list of IDs at a path of the spec.
ids(spec, key) := {problem |
	twice := repeated(spec[key])
	some i, id in spec[key]
	field := sprintf("spec.%s[%d]", [key, i])
	problem := id_problem(spec[key], twice, i, id, field)
}

id_problem(_, _, _, id, field) := needed(field, ": it is the ID of a group at the server, such as in status.groupID of an OZGroup") if blank(id)

id_problem(list, twice, i, id, field) := {"field": field, "msg": msg} if {
	not blank(id)
	id in twice
	first := first_of(list, id)
	first < i
	msg := sprintf("%s: %q duplicates [%d]; remove one of them", [field, id, first])
}

# Values that occur more than once in a list. Comparing all pairs of a long list would take too
# many steps.
repeated(list) := {value |
	sorted := sort([value | some value in list])
	some i, value in sorted
	i > 0
	value == sorted[i - 1]
}

first_of(list, value) := min({i | some i, other in list; other == value})

# The server makes the peers of every account members of "All", and rejects all other changes of
# its members.
all_group(spec, key, why) := {problem |
	some i, "All" in spec[key]
	field := sprintf("spec.%s[%d]", [key, i])
	problem := {"field": field, "msg": sprintf("%s: %s; take it out", [field, why])}
}

# The problems of a list of ports.
ports(spec, key) := {problem |
	twice := repeated(spec[key])
	some i, port in spec[key]
	field := sprintf("spec.%s[%d]", [key, i])
	problem := port_problem(spec[key], twice, i, port, field)
}

port_problem(_, _, _, port, field) := {"field": field, "msg": msg} if {
	not is_port(port)
	msg := sprintf("%s: %v is not a port; they go from 1 to 65535", [field, port])
}

port_problem(list, twice, i, port, field) := {"field": field, "msg": msg} if {
	is_port(port)
	port in twice
	first := first_of(list, port)
	first < i
	msg := sprintf("%s: %d duplicates [%d]; remove one of them", [field, port, first])
}

is_port(port) if {
	port >= 1
	port <= 65535
}

domain_pattern := `^(\*\.)?([a-zA-Z0-9-]+\.)+[a-zA-Z]{2,}$`

is_domain(text) if regex.match(domain_pattern, text)

# Any number of bits that an address of either family may have does.
is_host(text) if net.cidr_is_valid(sprintf("%s/32", [text]))

# The server takes no leading zero before the number of bits.
is_subnet(text) if {
	net.cidr_is_valid(text)
	regex.match(`/(0|[1-9][0-9]*)$`, text)
}

is_url(text) if regex.match(`^https?://[^/?#@\s]+(/[^?#\s]*)?$`, text)

# Names of DNS as the server takes them for peers.
is_dns_label(text) if regex.match(`^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$`, lower(text))

# Another object of the namespace that has the name at the server.
taken(field, name) := {{"field": field, "msg": msg} |
	owner := input.facts.taken
	msg := sprintf("%s: %s %s of this namespace has the name %q at the server; give this one another name, or delete that one", [field, owner.kind, owner.name, name])
}
