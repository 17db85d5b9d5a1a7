package lib.kyverno_test

import rego.v1

import data.lib.kyverno

# Each case is a value, a scalar of a pattern, and whether Kyverno matches them.
pattern_cases := [
	["a:1", "!*:latest", true],
	["a:latest", "!*:latest", false],
	["abc", "?*", true],
	["", "?*", false],
	[true, "true", true],
	[true, true, true],
	["true", true, false],
	[5, "1-10", true],
	[11, "1-10", false],
	[50, "1!-10", true],
	[5, "1!-10", false],
	["2Gi", "1Gi-4Gi", true],
	["512Mi", "<1Gi", true],
	["1500m", ">1", true],
	["90s", ">1m", true],
	[null, "<1Gi", true],
	[null, "?*", false],
	[null, null, true],
	["", null, true],
	["x", null, false],
	[["a", "b"], "a | b", true],
	[["a", "c"], "a | b", false],
	["prod-1", "prod-* & !prod-2", true],
	["prod-2", "prod-* & !prod-2", false],
	["5", 5, true],
	["x", 5, false],
	[{"a": 1}, {}, true],
	["a.b", "a?b", true],
	["a+b", "a+b", true],
	["aab", "a+b", false],
]

test_every_pattern_case if {
	wrong := [case | some case in pattern_cases; (count([1 | kyverno.matches(case[0], case[1])]) > 0) != case[2]]
	print(wrong)
	wrong == []
}

# Each case is an operator, a key, a value, and the result.
operator_cases := [
	["equals", "a-1", "a-*", true],
	["equals", "1h", "60m", true],
	["equals", "1024Mi", "1Gi", true],
	["equals", "1", "x", false],
	["equals", 5, "5", true],
	["equals", true, "true", false],
	["equals", ["a"], ["a"], true],
	["not_equals", "a", "b", true],
	["not_equals", "a", "a", false],
	["not_equals", null, "a", false],
	["any_in", "a", ["a*"], true],
	["any_in", ["x", "a"], ["a"], true],
	["any_in", ["x"], ["a"], false],
	["any_in", 8080, [8080], true],
	["any_in", 8080, "1-9000", true],
	["any_in", null, ["a"], false],
	["any_in", "a", "[\"a\"]", true],
	["all_in", ["a", "b"], ["a", "b", "c"], true],
	["all_in", ["a", "z"], ["a", "b"], false],
	["all_in", [], ["a"], true],
	["any_not_in", ["a", "z"], ["a"], true],
	["any_not_in", ["a"], ["a"], false],
	["any_not_in", [], ["a"], false],
	["all_not_in", ["z"], ["a"], true],
	["all_not_in", ["z", "a"], ["a"], false],
	["all_not_in", "z", "a", true],
	["greater_than", 5, 3, true],
	["greater_than", "10Mi", "1Mi", true],
	["greater_than", "2h", 3600, true],
	["greater_than", "1.2.3", "1.2.2", true],
	["greater_than", "x", 1, false],
	["greater_than_or_equals", "1", 1, true],
	["less_than", 1, "10s", true],
	["less_than_or_equals", "5", "5.0", true],
	["duration_less_than", "30s", "1m", true],
	["duration_greater_than", 90, "1m", true],
]

holds("equals", key, value) if kyverno.equals(key, value)

holds("not_equals", key, value) if kyverno.not_equals(key, value)

holds("any_in", key, value) if kyverno.any_in(key, value)

holds("all_in", key, value) if kyverno.all_in(key, value)

holds("any_not_in", key, value) if kyverno.any_not_in(key, value)

holds("all_not_in", key, value) if kyverno.all_not_in(key, value)

holds("greater_than", key, value) if kyverno.greater_than(key, value)

holds("greater_than_or_equals", key, value) if kyverno.greater_than_or_equals(key, value)

holds("less_than", key, value) if kyverno.less_than(key, value)

holds("less_than_or_equals", key, value) if kyverno.less_than_or_equals(key, value)

holds("duration_less_than", key, value) if kyverno.duration_less_than(key, value)

holds("duration_greater_than", key, value) if kyverno.duration_greater_than(key, value)

test_every_operator_case if {
	wrong := [case | some case in operator_cases; (count([1 | holds(case[0], case[1], case[2])]) > 0) != case[3]]
	print(wrong)
	wrong == []
}
