# METADATA
# title: How Orloj reads values
# description: Functions of the rules for each kind. orlojd ignores case and spaces around a value.
package orloj.values

import rego.v1

folded(value) := lower(trim_space(value))

# An empty text is as good as none.
given(holder, path) := value if {
	value := object.get(holder, path, "")
	value != ""
}

blank(holder, path) if trim_space(object.get(holder, path, "")) == ""

is_duration(value) if {
	regex.match(`^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`, value)
}

# What is given at the paths, and is none of the values that may be.
unknown(spec, enums) := {problem |
	some path, allowed in enums
	value := given(spec, path)
	not folded(value) in allowed
	field := concat(".", array.concat(["spec"], path))
	problem := {"field": field, "msg": sprintf("%s: %q is none of %s", [field, value, concat(", ", sort(allowed))])}
}

# What is given at the paths, and is no duration.
durations(spec, paths) := {problem |
	some path in paths
	value := given(spec, path)
	not is_duration(value)
	field := concat(".", array.concat(["spec"], path))
	problem := {"field": field, "msg": sprintf("%s: %q is no duration such as 30s or 1m30s", [field, value])}
}

needed(field, why) := {"field": field, "msg": sprintf("%s: a value is needed%s", [field, why])}
