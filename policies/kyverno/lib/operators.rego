package lib.kyverno

import rego.v1

# equals is the operator Equals.
equals(key, value) if {
	is_boolean(key)
	key == value
}

equals(key, value) if {
	is_number(key)
	is_number(value)
	key == value
}

equals(key, value) if {
	is_number(key)
	is_string(value)
	key == _number(value)
}

equals(key, value) if {
	is_string(key)
	_equals_text(key, value)
}

equals(key, value) if {
	is_array(key)
	key == value
}

equals(key, value) if {
	is_object(key)
	key == value
}

_equals_text(key, value) := same if {
	[left, right] := _durations(key, value)
	same := left == right
}

else := same if {
	is_string(value)
	left := quantity(key)
	same := _same_quantity(left, value)
}

else if {
	is_string(value)
	like(value, key)
}

_same_quantity(left, value) := left == quantity(value) if defined(quantity(value))

else := false

# not_equals is the operator NotEquals.
not_equals(key, value) if {
	key != null
	defined(value)
	not equals(key, value)
}

# _durations are both sides if one of them is a duration, and the other one too or seconds.
_durations(key, value) := [_seconds(key), _seconds(value)] if {
	_is_duration([key, value][_])
}

_is_duration(value) if {
	value != "0"
	defined(duration(value))
}

_seconds(value) := duration(value) if _is_duration(value)

_seconds(value) := value * 1000000000 if is_number(value)

# any_in is the operator AnyIn.
any_in(key, value) if {
	_is_scalar(key)
	_within(text(key), value)
}

any_in(key, value) if {
	is_array(key)
	some one in key
	_like_either(text(one), _choices(key, value)[_])
}

any_in(key, value) if {
	is_array(key)
	_is_range(value)
	some one in key
	matches(text(one), value)
}

# all_in is the operator AllIn.
all_in(key, value) if {
	_is_scalar(key)
	_within(text(key), value)
}

all_in(key, value) if {
	is_array(key)
	not _is_single(value)
	choices := _choices(key, value)
	every one in key {
		_like_any(text(one), choices)
	}
}

all_in(key, value) if {
	is_array(key)
	_is_range(value)
	every one in key {
		matches(text(one), value)
	}
}

# any_not_in is the operator AnyNotIn.
any_not_in(key, value) if {
	_is_scalar(key)
	_is_comparable(text(key), value)
	not _within(text(key), value)
}

any_not_in(key, value) if {
	is_array(key)
	choices := _choices(key, value)
	some one in key
	not _like_any(text(one), choices)
}

any_not_in(key, value) if {
	is_array(key)
	_is_range(value)
	some one in key
	matches(text(one), replace_first(value, "-", "!-"))
}

# all_not_in is the operator AllNotIn.
all_not_in(key, value) if {
	_is_scalar(key)
	_is_comparable(text(key), value)
	not _within(text(key), value)
}

all_not_in(key, value) if {
	is_array(key)
	not _is_single(value)
	choices := _choices(key, value)
	every one in key {
		not _like_any(text(one), choices)
	}
}

all_not_in(key, value) if {
	is_array(key)
	_is_range(value)
	every one in key {
		not matches(text(one), value)
	}
}

replace_first(value, old, new) := concat(new, [array_head[0], concat(old, array.slice(array_head, 1, count(array_head)))]) if {
	array_head := split(value, old)
}

_is_scalar(key) if is_string(key)

_is_scalar(key) if is_number(key)

_is_scalar(key) if is_boolean(key)

_is_single(value) if is_number(value)

_is_single(value) if is_boolean(value)

_is_range(value) if {
	is_string(value)
	_operator(value)[0] == "-"
}

# _choices are the texts that the elements of a list are compared with. They are undefined for a
# range, and for values that the operators ignore.
_choices(_, value) := [text(one) | some one in value] if is_array(value)

_choices(_, value) := [text(value)] if _is_single(value)

_choices(_, value) := [value] if {
	is_string(value)
	not _is_range(value)
	not json.is_valid(value)
}

_choices(key, value) := [value] if {
	is_string(value)
	json.is_valid(value)
	not is_array(json.unmarshal(value))
	key == [value]
}

_choices(_, value) := listed if {
	is_string(value)
	json.is_valid(value)
	listed := json.unmarshal(value)
	is_array(listed)
}

_within(key, value) if {
	is_array(value)
	some one in value
	_like_either(key, text(one))
}

_within(key, value) if {
	is_string(value)
	like(value, key)
}

_within(key, value) if {
	_is_range(value)
	matches(key, value)
}

_within(key, value) if {
	is_string(value)
	json.is_valid(value)
	listed := json.unmarshal(value)
	is_array(listed)
	key in listed
}

_is_comparable(_, value) if is_array(value)

_is_comparable(key, value) if {
	is_string(value)
	like(value, key)
}

_is_comparable(_, value) if _is_range(value)

_is_comparable(_, value) if {
	is_string(value)
	not json.is_valid(value)
}

_is_comparable(_, value) if {
	is_string(value)
	json.is_valid(value)
	is_array(json.unmarshal(value))
}

_like_any(key, choices) if {
	some choice in choices
	_like_either(key, choice)
}

_like_either(key, choice) if like(choice, key)

_like_either(key, choice) if like(key, choice)

# greater_than and the following compare numbers, quantities, durations and versions.
greater_than(key, value) if _order(key, value) > 0

greater_than_or_equals(key, value) if _order(key, value) >= 0

less_than(key, value) if _order(key, value) < 0

less_than_or_equals(key, value) if _order(key, value) <= 0

_order(key, value) := key - value if {
	is_number(key)
	is_number(value)
}

else := left - right if {
	[left, right] := _durations(key, value)
}

else := key - _number(value) if is_number(key)

else := quantity(key) - quantity(value) if {
	is_string(key)
	is_string(value)
}

else := _number(key) - value if {
	is_string(key)
	is_number(value)
}

else := semver.compare(key, value) if {
	semver.is_valid(key)
	semver.is_valid(value)
}

# duration_greater_than and the following compare durations; numbers are seconds.
duration_greater_than(key, value) if _nanoseconds(key) > _nanoseconds(value)

duration_greater_than_or_equals(key, value) if _nanoseconds(key) >= _nanoseconds(value)

duration_less_than(key, value) if _nanoseconds(key) < _nanoseconds(value)

duration_less_than_or_equals(key, value) if _nanoseconds(key) <= _nanoseconds(value)

_nanoseconds(value) := duration(value) if is_string(value)

_nanoseconds(value) := value * 1000000000 if is_number(value)
