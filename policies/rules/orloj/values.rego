# METADATA
# title: How Orloj reads values
# description: Functions of the rules for each kind. orlojd ignores case and spaces around a value.
package orloj.values

import rego.v1

folded(value) := lower(trim_space(value))

# A blank text is as good as none.
given(holder, path) := value if {
	value := object.get(holder, path, "")
	trim_space(value) != ""
}

blank(holder, path) if not given(holder, path)

# The value at a path as orlojd reads it, or the one that it takes where there is none.
chosen(holder, path, _) := folded(given(holder, path))

chosen(holder, path, fallback) := fallback if blank(holder, path)

# Patches that put defaults where a text is blank; where there is none, defaults do so.
filled(spec, defaults) := {{"op": "replace", "path": pointer, "value": value} |
	walk(defaults, [path, value])
	is_string(value)
	every key in path { is_string(key) }
	text := object.get(spec, path, null)
	is_string(text)
	trim_space(text) == ""
	pointer := concat("/", array.concat(["", "spec"], [replace(replace(key, "~", "~0"), "/", "~1") | some key in path]))
}

duration_pattern := `^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

nanoseconds := {
	"ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 1000000,
	"s": 1000000000, "m": 60000000000, "h": 3600000000000,
}

# That of time.Duration in Go, in nanoseconds.
longest := 9223372036854775807

not_duration(value) := "is not a duration such as 30s or 1m30s" if not regex.match(duration_pattern, value)

not_duration(value) := "is longer than durations can be, 2562047h" if {
	regex.match(duration_pattern, value)
	parts := regex.find_all_string_submatch_n(`([0-9]*)(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h)`, value, -1)
	lengths := [length | some part in parts; length := amount(part[1], part[2]) * nanoseconds[part[3]]]
	sum(lengths) > longest
}

# The number with these digits before its point, and what follows. Nothing is said exactly
# of more digits than the longest has.
amount(whole, _) := longest + 1 if count(trim_left(whole, "0")) > 19

amount(whole, fraction) := to_number(digits(whole)) + to_number(concat("", ["0.", trim_left(fraction, "."), "0"])) if {
	count(trim_left(whole, "0")) <= 19
}

digits(whole) := "0" if trim_left(whole, "0") == ""

digits(whole) := trimmed if {
	trimmed := trim_left(whole, "0")
	trimmed != ""
}

# Values at the paths that are not among the allowed ones.
unknown(spec, enums) := {problem |
	some path, allowed in enums
	value := given(spec, path)
	not folded(value) in allowed
	field := concat(".", array.concat(["spec"], path))
	problem := {"field": field, "msg": sprintf("%s: %q is not one of %s", [field, value, concat(", ", sort(allowed))])}
}

# Values at the paths that are not durations.
durations(spec, paths) := {problem |
	some path in paths
	value := given(spec, path)
	why := not_duration(value)
	field := concat(".", array.concat(["spec"], path))
	problem := {"field": field, "msg": sprintf("%s: %q %s", [field, value, why])}
}

needed(field, why) := {"field": field, "msg": sprintf("%s: a value is needed%s", [field, why])}
