package orloj.values_test

import rego.v1

import data.orloj.values

# Those that Go's time.ParseDuration takes.
test_durations if {
	every value in [
		"0", "+0", "-5s", "1h1m1s1ms1us1µs1μs1ns", "1.5h", ".5s", "5.s", "007s",
		"2562047h47m16.854775807s", "9223372036854775807ns", "000000000000000000000000001h",
	] {
		not values.not_duration(value)
	}
}

test_no_durations if {
	every value in ["5", "s", "1 h", " 1h", ".s", "1d", "abc", "--1s"] {
		values.not_duration(value) == "is not a duration such as 30s or 1m30s"
	}
}

test_long_durations if {
	every value in [
		"3000000h", "2562047h48m", "2562047.9h", "9223372036854775808ns", "1281024h1281024h",
		"99999999999999999999ns", "99999999999999999999999999999999999999999999999999h",
	] {
		values.not_duration(value) == "is longer than durations can be, 2562047h"
	}
}

test_blanks if {
	values.chosen({"a": " X "}, ["a"], "y") == "x"
	values.chosen({"a": " "}, ["a"], "y") == "y"
	values.chosen({}, ["a"], "y") == "y"
	values.filled({"a": " ", "b": {"c/~": ""}, "d": "x", "e": 0}, {"a": "1", "b": {"c/~": "2"}, "d": "3", "e": "4", "f": "5"}) == {
		{"op": "replace", "path": "/spec/a", "value": "1"},
		{"op": "replace", "path": "/spec/b/c~1~0", "value": "2"},
	}
}
