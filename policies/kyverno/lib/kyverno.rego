# METADATA
# title: Semantics of Kyverno for converted policies
# description: |
#   Functions that compare values as Kyverno's patterns and condition operators do. Converted
#   policies import this package; it decides nothing by itself.
package lib.kyverno

import rego.v1

# matches compares a value with a scalar of validate.pattern. A list matches if each of its
# elements does.
matches(value, pattern) if {
	is_array(value)
	every one in value {
		_matches_one(one, pattern)
	}
}

matches(value, pattern) if {
	not is_array(value)
	_matches_one(value, pattern)
}

# matches_if_present is the anchor =(key) with a scalar.
matches_if_present(parent, key, pattern) if {
	is_object(parent)
	every value in [found | found := parent[key]] {
		matches(value, pattern)
	}
}

# absent is the anchor X(key).
absent(parent, key) if {
	is_object(parent)
	not key in object.keys(parent)
}

# missing reports that a list has no value: `missing([value | value := x])` holds if x is undefined,
# which is an error in Kyverno.
missing(list) if count(list) == 0

# defined is true for every value, null included.
defined(_) := true

_matches_one(value, pattern) if {
	is_boolean(pattern)
	value == pattern
}

_matches_one(value, pattern) if {
	is_number(pattern)
	is_number(value)
	value == pattern
}

_matches_one(value, pattern) if {
	is_number(pattern)
	is_string(value)
	_number(value) == pattern
}

_matches_one(value, null) if value in [null, 0, "", false]

_matches_one(value, pattern) if {
	is_object(pattern)
	is_object(value)
}

_matches_one(value, pattern) if {
	is_string(pattern)
	value == pattern
}

_matches_one(value, pattern) if {
	is_string(pattern)
	some alternative in split(pattern, "|")
	every condition in split(trim(alternative, " "), "&") {
		_meets(value, trim(condition, " "))
	}
}

_meets(value, condition) if {
	[operator, operand] := _operator(condition)
	not operator in {"-", "!-"}
	_compares(value, operator, operand)
}

_meets(value, condition) if {
	[operator, [low, high]] := _operator(condition)
	operator == "-"
	_compares(value, ">=", low)
	_compares(value, "<=", high)
}

_meets(value, condition) if {
	[operator, [low, _]] := _operator(condition)
	operator == "!-"
	_compares(value, "<", low)
}

_meets(value, condition) if {
	[operator, [_, high]] := _operator(condition)
	operator == "!-"
	_compares(value, ">", high)
}

_operator(condition) := ["", condition] if count(condition) < 2

else := [prefix, trim_space(substring(condition, count(prefix), -1))] if {
	prefix := [p | some p in [">=", "<=", ">", "<", "!"]; startswith(condition, p)][0]
}

else := ["!-", _ends(outside[0])] if {
	outside := regex.find_all_string_submatch_n(`^([-|\+]?\d+(?:\.\d+)?[A-Za-z]*)!-([-|\+]?\d+(?:\.\d+)?[A-Za-z]*)$`, condition, 1)
	count(outside) > 0
}

else := ["-", _ends(inside[0])] if {
	inside := regex.find_all_string_submatch_n(`^([-|\+]?\d+(?:\.\d+)?[A-Za-z]*)-([-|\+]?\d+(?:\.\d+)?[A-Za-z]*)$`, condition, 1)
	count(inside) > 0
}

else := ["", condition]

_ends(groups) := [groups[1], groups[2]]

# The first of these that can read both sides compares them: durations, quantities, text.
_compares(value, operator, operand) if _holds(operator, _difference(value, operand))

_compares(value, "", operand) if {
	missing([difference | difference := _difference(value, operand)])
	like(operand, _scalar_text(value))
}

_compares(value, "!", operand) if {
	missing([difference | difference := _difference(value, operand)])
	text_of := _scalar_text(value)
	not like(operand, text_of)
}

_difference(value, operand) := duration(_digits(value)) - duration(operand) if defined(duration(operand))

else := quantity(_digits(value)) - quantity(operand)

_holds("", 0)

_holds("!", difference) if difference != 0

_holds(">", difference) if difference > 0

_holds("<", difference) if difference < 0

_holds(">=", difference) if difference >= 0

_holds("<=", difference) if difference <= 0

_digits(null) := "0"

_digits(value) := value if is_string(value)

_digits(value) := format_int(value, 10) if {
	is_number(value)
	value == round(value)
}

_digits(value) := sprintf("%v", [value]) if {
	is_number(value)
	value != round(value)
}

_scalar_text(value) := value if is_string(value)

_scalar_text(value) := sprintf("%v", [value]) if is_number(value)

_scalar_text(value) := sprintf("%v", [value]) if is_boolean(value)

# like compares a text with a pattern in which * is any number of characters and ? is one.
like(pattern, value) if {
	is_string(value)
	regex.match(_expression(pattern), value)
}

_expression(pattern) := concat("", [
	`(?s)^`,
	strings.replace_n(
		{
			`\`: `\\`, `.`: `\.`, `+`: `\+`, `(`: `\(`, `)`: `\)`, `[`: `\[`, `]`: `\]`,
			`{`: `\{`, `}`: `\}`, `^`: `\^`, `$`: `\$`, `|`: `\|`, `*`: `.*`, `?`: `.`,
		},
		pattern,
	),
	`$`,
])

# like_any compares a text with several patterns.
like_any(patterns, value) if {
	some pattern in patterns
	like(pattern, value)
}

# duration is the number of nanoseconds of a duration such as 1h30m.
duration(value) := 0 if value in {"0", "+0", "-0"}

duration(value) := time.parse_duration_ns(value) if {
	is_string(value)
	regex.match(`^[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`, value)
}

# quantity is the value of a quantity such as 100Mi, in billionths.
quantity(value) := number * _suffixes[suffix] if {
	is_string(value)
	[_, number, suffix] := _quantity_parts(value)
}

quantity(value) := to_number(value) * 1000000000 if {
	is_string(value)
	regex.match(`^[-+]?\d+(\.\d+)?[eE][-+]?\d{1,2}$`, value)
}

_quantity_parts(value) := [whole, _number(sign_and_digits), suffix] if {
	parts := regex.find_all_string_submatch_n(`^([-+]?(?:\d+(?:\.\d*)?|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|)$`, value, 1)
	[whole, sign_and_digits, suffix] := parts[0]
}

# The suffixes of quantities, in billionths, so that all sums are of whole numbers.
_suffixes := {
	"n": 1, "u": 1000, "m": 1000000, "": 1000000000,
	"k": 1000000000000, "M": 1000000000000000, "G": 1000000000000000000, "T": 1000000000000000000000,
	"P": 1000000000000000000000000, "E": 1000000000000000000000000000,
	"Ki": 1024000000000, "Mi": 1048576000000000, "Gi": 1073741824000000000, "Ti": 1099511627776000000000,
	"Pi": 1125899906842624000000000, "Ei": 1152921504606846976000000000,
}

_number(value) := to_number(concat("", [
	{true: "-", false: ""}[startswith(value, "-")],
	_unpadded(trim_left(value, "+-")),
])) if {
	is_string(value)
	regex.match(`^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?$`, value)
}

_unpadded(digits) := replace(concat("", [{true: "0", false: ""}[startswith(stripped, ".")], stripped]), ".e", "e") if {
	stripped := trim_suffix(concat("", [{true: "0", false: ""}[regex.match(`^0*([.eE]|$)`, digits)], trim_left(digits, "0")]), ".")
}

# namespace is the namespace that match and exclude compare: of a Namespace, its own name.
default namespace := ""

namespace := input.name if {
	input.request.kind.kind == "Namespace"
} else := input.request.namespace

# selects compares labels with a label selector, in which values may have wildcards.
selects(selector, labels) if {
	every key, value in object.get(selector, "matchLabels", {}) {
		_has_label(key, value, labels)
	}
	every requirement in object.get(selector, "matchExpressions", []) {
		_requires(requirement.operator, requirement, labels)
	}
}

_has_label(key, value, labels) if {
	some name, text in labels
	like(key, name)
	like(value, text)
}

_requires("In", requirement, labels) if labels[requirement.key] in requirement.values

_requires("NotIn", requirement, labels) if not labels[requirement.key] in requirement.values

_requires("Exists", requirement, labels) if requirement.key in object.keys(labels)

_requires("DoesNotExist", requirement, labels) if not requirement.key in object.keys(labels)

# annotated compares annotations with names and values that may have wildcards.
annotated(wanted, annotations) if {
	every key, value in wanted {
		_has_label(key, value, annotations)
	}
}

# from_subject compares the user of the request with subjects of match or exclude.
from_subject(subjects) if {
	some subject in subjects
	_is_subject(subject)
}

_is_subject(subject) if {
	subject.kind == "User"
	like(subject.name, input.request.userInfo.username)
}

_is_subject(subject) if {
	subject.kind == "Group"
	some group in input.request.userInfo.groups
	like(subject.name, group)
}

_is_subject(subject) if {
	subject.kind == "ServiceAccount"
	like(concat(":", ["system:serviceaccount", subject.namespace, subject.name]), input.request.userInfo.username)
}

# absent_like is the anchor X(key) with wildcards in the key, all_like is =(key), and some_like is a
# key without an anchor. Kyverno compares one of the keys that match; these compare all.
absent_like(parent, pattern) if {
	is_object(parent)
	count(_values_like(parent, pattern)) == 0
}

all_like(parent, key, pattern) if {
	is_object(parent)
	every value in _values_like(parent, key) {
		matches(value, pattern)
	}
}

some_like(parent, key, pattern) if {
	count(_values_like(parent, key)) > 0
	all_like(parent, key, pattern)
}

_values_like(parent, pattern) := [value |
	some key, value in parent
	like(pattern, key)
]
