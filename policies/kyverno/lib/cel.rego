package lib.kyverno

import rego.v1

# optional is a.?b.orValue(c).
optional(value, path, fallback) := object.get(value, path, fallback) if is_object(value)

# has_key is has(a.b), and has_path is a.?b.hasValue().
has_key(value, key) := key in object.keys(value) if is_object(value)

has_path(value, path) := object.get(value, path, false) == object.get(value, path, true) if is_object(value)

# range are the elements of a list, or the keys of a map.
range(value) := value if is_array(value)

range(value) := sort([key | some key, _ in value]) if is_object(value)

# at is a[b].
at(value, key) := value[key] if is_object(value)

at(value, key) := value[key] if is_array(value)

# contained is a in b.
contained(value, list) := value in list if is_array(list)

contained(value, map) := value in object.keys(map) if is_object(map)

# added is a + b.
added(left, right) := array.concat(left, right) if {
	is_array(left)
	is_array(right)
}

added(left, right) := concat("", [left, right]) if {
	is_string(left)
	is_string(right)
}

added(left, right) := left + right if {
	is_number(left)
	is_number(right)
}

# glued is list.join(glue).
glued(list, glue) := concat(glue, list) if is_array(list)

# is_one is list.exists_one(x, …), of the results of the condition.
is_one(results) := count([1 | some one in results; one == true]) == 1 if {
	every one in results {
		is_boolean(one)
	}
}

# whole is int(a), and cel_text is string(a).
whole(value) := value if {
	is_number(value)
	value == floor(value)
}

whole(value) := floor(value) if {
	is_number(value)
	value >= 0
	value != floor(value)
}

whole(value) := ceil(value) if {
	is_number(value)
	value < 0
	value != floor(value)
}

whole(value) := to_number(value) if {
	is_string(value)
	regex.match(`^-?[0-9]+$`, value)
}

cel_text(value) := value if is_string(value)

cel_text(value) := sprintf("%v", [value]) if is_number(value)

cel_text(value) := sprintf("%v", [value]) if is_boolean(value)
