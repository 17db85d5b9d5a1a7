# METADATA
# title: The meet of scopes
# description: |
#   The combined answer of several policies. A statement is the value of one policy for one
#   decision: {"level": 0 for the broadest scope, "policy": its name, "value": its value}.
#   An undefined policy makes no statement. root is the level of the broadest scope that
#   has the rule. Policies of one level have no order: their names do not change the
#   answer.
package lintel.meet

import rego.v1

# granted holds if all of so many policies grant, and no denial fires.
granted(statements, definers, denials) if {
	count([s | some s in statements; s.value == true]) == definers
	every denial in denials {
		not fires(denial.value)
	}
}

# fires holds for values that are neither false nor empty.
fires(value) if {
	value != false
	not empty(value)
}

empty(value) if count(value) == 0

# flag says whether any of them fires.
flag(statements) if {
	some statement in statements
	fires(statement.value)
}

flag(statements) := false if {
	count(statements) > 0
	every statement in statements {
		not fires(statement.value)
	}
}

# listing is what all of them list, where true is said in words.
listing(statements, word) := {member |
	some statement in statements
	some member in members(statement, word)
} if {
	count(statements) > 0
}

# verdict is a flag if the values of the root are booleans or missing, otherwise a listing: a
# gateway that queries a boolean must not get a list because of narrower scopes.
verdict(statements, root, _) := flag(statements) if boolean_root(statements, root)

verdict(statements, root, word) := listing(statements, word) if not boolean_root(statements, root)

boolean_root(statements, root) if {
	every statement in at_level(statements, root) {
		is_boolean(statement.value)
	}
}

members(statement, _) := statement.value if is_set(statement.value)

members(statement, _) := {member | some member in statement.value} if is_array(statement.value)

members(statement, word) := {sprintf("%s by %s", [word, statement.policy])} if statement.value == true

members(statement, _) := set() if statement.value == false

members(statement, _) := {statement.value} if {
	not is_boolean(statement.value)
	not is_set(statement.value)
	not is_array(statement.value)
	not empty(statement.value)
}

# strictest is the word of the highest rank. Of equal words, the broadest's counts, and
# among those of one level the first by the alphabet.
# Words without a rank count for nothing, unless the root says nothing else.
strictest(statements, root, ranks) := min([s.value | some s in at_broadest(words)]) if {
	some stated in at_level(statements, root)
	ranks[stated.value]
	ranked := [s | some s in statements; ranks[s.value]]
	highest := max([ranks[s.value] | some s in ranked])
	words := [s | some s in ranked; ranks[s.value] == highest]
}

strictest(statements, root, ranks) := broadest(statements, root) if {
	every s in at_level(statements, root) {
		not ranks[s.value]
	}
}

# smallest and largest are of the numbers from zero, common is what all lists and sets
# have, in the order and type of the broadest, or of the least of those of one level.
# Other values count for nothing, unless the root says nothing else.
smallest(statements, root) := min([s.value | some s in statements; number(s.value)]) if {
	not odd(statements, root, [s | some s in statements; number(s.value)])
}

smallest(statements, root) := broadest(statements, root) if {
	odd(statements, root, [s | some s in statements; number(s.value)])
}

largest(statements, root) := max([s.value | some s in statements; number(s.value)]) if {
	not odd(statements, root, [s | some s in statements; number(s.value)])
}

largest(statements, root) := broadest(statements, root) if {
	odd(statements, root, [s | some s in statements; number(s.value)])
}

common(statements, root) := min([kept(s.value, lists) | some s in at_broadest(lists)]) if {
	lists := [s | some s in statements; listed(s.value)]
	not odd(statements, root, lists)
}

common(statements, root) := broadest(statements, root) if {
	odd(statements, root, [s | some s in statements; listed(s.value)])
}

# odd holds where the root says something, and none of it is among the valid.
odd(statements, root, valid) if {
	count(at_level(statements, root)) > 0
	count(at_level(valid, root)) == 0
}

number(value) if {
	is_number(value)
	value >= 0
}

listed(value) if is_array(value)

listed(value) if is_set(value)

kept(broadest, lists) := {member | some member in broadest; in_all(member, lists)} if is_set(broadest)

kept(broadest, lists) := [member | some member in broadest; in_all(member, lists)] if is_array(broadest)

in_all(member, lists) if {
	every list in lists {
		member in list.value
	}
}

# broadest is what the root says with one voice. Where its policies differ, nothing is:
# neither is the stricter, as far as anybody knows.
broadest(statements, root) := value if {
	values := {s.value | some s in at_level(statements, root)}
	count(values) == 1
	some value in values
}

at_level(statements, level) := [s | some s in statements; s.level == level]

at_broadest(statements) := at_level(statements, min([s.level | some s in statements]))
