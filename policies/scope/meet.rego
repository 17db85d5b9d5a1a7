# METADATA
# title: The meet of scopes
# description: |
#   What several policies answer together. A statement is what one policy says on one
#   decision: {"index": position in the chain, "level": 0 for the broadest scope,
#   "policy": its name, "value": its value}. Statements are ordered broadest first by
#   index; a policy that is undefined makes none. root is the level of the broadest
#   scope that has the rule.
package lintel.meet

import rego.v1

# granted holds if all of so many policies grant, and no denial fires.
granted(statements, definers, denials) if {
	count([s | some s in statements; s.value == true]) == definers
	every denial in denials {
		not fires(denial.value)
	}
}

# fires holds for whatever is neither false nor empty.
fires(value) if {
	value != false
	not empty(value)
}

empty(value) if count(value) == 0

# united is true if one of them is, where all are boolean; else the set of what they
# list, where true is said in words.
united(statements, _) if {
	all_boolean(statements)
	some statement in statements
	statement.value
}

united(statements, _) := false if {
	all_boolean(statements)
	count(statements) > 0
	every statement in statements {
		not statement.value
	}
}

united(statements, word) := {member |
	some statement in statements
	some member in members(statement, word)
} if {
	count(statements) > 0
	not all_boolean(statements)
}

# demanded is united, but boolean where the broadest scope that says anything is:
# whoever asks whether it is true must not be told a list instead.
demanded(statements, word) := united(statements, word) if not boolean_first(statements)

demanded(statements, _) if {
	boolean_first(statements)
	some statement in statements
	fires(statement.value)
}

demanded(statements, _) := false if {
	boolean_first(statements)
	every statement in statements {
		not fires(statement.value)
	}
}

boolean_first(statements) if all_boolean(at_level(statements, min([s.level | some s in statements])))

all_boolean(statements) if {
	every statement in statements {
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

# strictest is the word of the highest rank. Equal words keep the broadest's spelling.
# Words without a rank count for nothing, unless the root says nothing else.
strictest(statements, root, ranks) := first([s | some s in ranked; ranks[s.value] == highest]) if {
	some stated in at_level(statements, root)
	ranks[stated.value]
	ranked := [s | some s in statements; ranks[s.value]]
	highest := max([ranks[s.value] | some s in ranked])
}

strictest(statements, root, ranks) := broadest(statements, root) if {
	every s in at_level(statements, root) {
		not ranks[s.value]
	}
}

# smallest and largest are of the numbers from zero, common is what all lists and sets
# have, in the order and type of the broadest. Other values count for nothing, unless
# the root says nothing else.
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

common(statements, root) := kept(first(lists), lists) if {
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

# broadest is the value of the first in the root.
broadest(statements, root) := first(at_level(statements, root))

at_level(statements, level) := [s | some s in statements; s.level == level]

# first is the value of the statement with the lowest index.
first(statements) := value if {
	lowest := min([s.index | some s in statements])
	some s in statements
	s.index == lowest
	value := s.value
}
