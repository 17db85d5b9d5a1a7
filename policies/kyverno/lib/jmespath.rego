package lib.kyverno

import rego.v1

# text is a value inside a text.
text(value) := value if is_string(value)

text(value) := sprintf("%v", [value]) if is_number(value)

text(value) := sprintf("%v", [value]) if is_boolean(value)

text(value) := json.marshal(value) if {
	not is_string(value)
	not is_number(value)
	not is_boolean(value)
}

# get is a field below a value: null if it is missing.
get(value, path) := object.get(value, path, null) if is_object(value)

get(value, _) := null if not is_object(value)

# field is a field below a value: undefined if an object lacks it, as in Kyverno.
field(value, key) := value[key] if is_object(value)

field(value, _) := null if not is_object(value)

# item is an element of a list, counted from the end if the index is negative.
item(list, index) := list[_position(list, index)] if is_array(list)

else := null if defined(list)

_position(_, index) := index if index >= 0

_position(list, index) := count(list) + index if index < 0

# flatten merges the lists in a list: null if it is not a list.
flatten(list) := [inner |
	some one in list
	some inner in _as_list(one)
] if {
	is_array(list)
}

else := null if defined(list)

_as_list(value) := value if is_array(value)

_as_list(value) := [value] if not is_array(value)

# pluck reads a field of each element, and leaves out those without it.
pluck(list, path) := [value |
	some one in list
	value := get(one, path)
	value != null
] if {
	is_array(list)
}

else := null if defined(list)

# truthy is false for null, false, "", [] and {}.
truthy(value) if not value in [null, false, "", [], {}]

# is_truthy is the result of truthy as a value.
is_truthy(value) if truthy(value)

is_truthy(value) := false if value in [null, false, "", [], {}]

# falsy is the operator !.
falsy(value) := false if truthy(value)

falsy(value) if value in [null, false, "", [], {}]

# either is the operator ||.
either(left, _) := left if truthy(left)

either(left, right) := right if not truthy(left)

# both is the operator &&.
both(left, right) := right if truthy(left)

both(left, _) := left if not truthy(left)

# found is the only element of a list: null if there is none.
found(list) := list[0] if count(list) > 0

found(list) := null if count(list) == 0

# elements are the elements of foreach.
elements(value) := value if is_array(value)

elements(value) := [value] if {
	not is_array(value)
	value != null
}

# length is the number of elements or characters.
length(value) := count(value) if is_array(value)

length(value) := count(value) if is_object(value)

length(value) := count(value) if is_string(value)

# keys and values are those of an object.
keys(value) := sort([key | some key, _ in value]) if is_object(value)

values(value) := [one | some one in value] if is_object(value)

# has is the function contains.
has(value, part) := part in value if is_array(value)

has(value, part) := contains(value, part) if {
	is_string(value)
	is_string(part)
}

has(value, part) := false if {
	is_string(value)
	not is_string(part)
}

# number is the function to_number.
number(value) := value if is_number(value)

number(value) := _number(value) if is_string(value)

number(value) := null if {
	is_string(value)
	missing([one | one := _number(value)])
}

# matches_expression is the function regex_match.
matches_expression(expression, value) := regex.match(expression, value) if is_string(value)

matches_expression(expression, value) := regex.match(expression, sprintf("%v", [value])) if is_number(value)

# parts is the function split.
parts(value, separator) := split(value, separator) if is_string(value)

# as_list is the function to_array.
as_list(value) := _as_list(value)

# upper_case and lower_case are the functions to_upper and to_lower.
upper_case(value) := upper(value) if is_string(value)

lower_case(value) := lower(value) if is_string(value)

# service_account is namespace and name of the service account that sent the request.
service_account := ["", ""] if not startswith(input.request.userInfo.username, "system:serviceaccount:")

else := [parts_of[2], parts_of[3]] if {
	parts_of := split(input.request.userInfo.username, ":")
}

# compact leaves out nulls: null if it is not a list.
compact(list) := [one | some one in list; one != null] if is_array(list)

else := null if defined(list)

# same and the following are the comparators of expressions.
same(left, right) := left == right

different(left, right) := left != right

is_less(left, right) := left < right if _are_numbers(left, right)

else := null

is_at_most(left, right) := left <= right if _are_numbers(left, right)

else := null

is_more(left, right) := left > right if _are_numbers(left, right)

else := null

is_at_least(left, right) := left >= right if _are_numbers(left, right)

else := null

_are_numbers(left, right) if {
	is_number(left)
	is_number(right)
}

# sorted, joined and the following are functions of expressions of the same purpose.
sorted(list) := sort(list) if is_array(list)

joined(glue, list) := concat(glue, list) if is_array(list)

starts_with(value, prefix) := startswith(value, prefix) if is_string(value)

ends_with(value, suffix) := endswith(value, suffix) if is_string(value)

replaced(value, old, new) := replace(value, old, new) if is_string(value)

replaced_expression(expression, value, new) := regex.replace(value, expression, new) if is_string(value)

trimmed(value, characters) := trim(value, characters) if is_string(value)

largest(list) := max(list) if _is_uniform(list)

smallest(list) := min(list) if _is_uniform(list)

total(list) := sum(list) if {
	is_array(list)
	every one in list {
		is_number(one)
	}
}

_is_uniform(list) if {
	is_array(list)
	count({type_name(one) | some one in list} - {"number"}) == 0
}

_is_uniform(list) if {
	is_array(list)
	count({type_name(one) | some one in list} - {"string"}) == 0
}

base64_decoded(value) := base64.decode(value) if base64.is_valid(value)

base64_encoded(value) := base64.encode(value) if is_string(value)

reversed(list) := array.reverse(list) if is_array(list)

first_value(list) := [value | some value in list; value != null][0]

# or_default is a variable of context with a default.
or_default(value, _) := value if value != null

or_default(null, fallback) := fallback

# of is a selection from a value: null if the value is.
of(value, selection) := selection if value != null

of(null, _) := null

# label_match reports whether labels contain all entries of a selector.
label_match(selector, labels) := count([1 | some key, value in selector; object.get(labels, key, null) != value]) == 0 if {
	is_object(selector)
	is_object(labels)
}

# merged is the function merge: the keys of later objects win.
merged(objects) := {key: value |
	some i, one in objects
	some key, value in one
	not key in {other | some j, later in objects; j > i; some other, _ in later}
} if {
	every one in objects {
		is_object(one)
	}
}

# quoted is the text of a value inside of quotes. It is undefined for a text that would end the
# quotes, or that contains a variable, because Kyverno evaluates it.
quoted(value) := text(value) if {
	not regex.match(`['"\\]|\{\{`, text(value))
}

# json_value is a value between backticks.
json_value(value) := value if {
	not is_string(value)
	not contains(json.marshal(value), "`")
}

json_value(value) := json.unmarshal(value) if {
	is_string(value)
	not contains(value, "`")
	json.is_valid(value)
}

# items are the objects of a namespace as a list of the API, and all_items those of a kind.
items(objects) := {"items": [one | some one in objects]}

all_items(namespaces) := {"items": [one | some objects in namespaces; some one in objects]}

# labeled_items and named_items are the objects that a query selects.
labeled_items(list, labels) := {"items": [one |
	some one in list.items
	label_match(labels, object.get(one, ["metadata", "labels"], {}))
]}

named_items(list, name) := {"items": [one | some one in list.items; one.metadata.name == name]}

# config_map is a ConfigMap as variables of context read it.
config_map(object_of_cluster) := {"data": object.get(object_of_cluster, "data", null), "metadata": object_of_cluster.metadata}

# images are the parts of the images of a Pod, by the list of containers and their names. They are
# undefined if an image has no valid name.
images(pod) := {list: infos |
	some list in ["initContainers", "containers", "ephemeralContainers"]
	infos := {container.name: _image(container.image) |
		some container in object.get(pod, ["spec", list], [])
		trim_space(object.get(container, "image", "")) != ""
	}
	count(infos) > 0
} if {
	every list in ["initContainers", "containers", "ephemeralContainers"] {
		every container in object.get(pod, ["spec", list], []) {
			_has_valid_image(container)
		}
	}
}

_has_valid_image(container) if defined(_image(container.image))

_has_valid_image(container) if trim_space(object.get(container, "image", "")) == ""

_image(image) := object.union_n([
	{"registry": registry, "path": path, "name": split(path, "/")[count(split(path, "/")) - 1]},
	{key: value | some key, value in {"tag": tag, "digest": digest}; value != ""},
	{"reference": concat("", [registry, "/", path, _separator(digest), _chosen(digest, tag)]), "referenceWithTag": concat("", [registry, "/", path, ":", tag])},
]) if {
	[_, registry, path, given, digest] := regex.find_all_string_submatch_n(`^([a-zA-Z0-9.-]+(?::[0-9]+)?)/([a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*:[0-9a-fA-F]{32,}))?$`, _with_registry(image), 1)[0]
	tag := _tag(given, digest)
}

_separator("") := ":"

_separator(digest) := "@" if digest != ""

_chosen("", tag) := tag

_chosen(digest, _) := digest if digest != ""

_tag("", "") := "latest"

_tag(given, digest) := given if concat("", [given, digest]) != ""

_with_registry(image) := image if _names_registry(image)

else := concat("/", ["docker.io", image])

_names_registry(image) if {
	contains(image, "/")
	first := split(image, "/")[0]
	_is_registry(first)
}

_is_registry(first) if regex.match(`[.:]|[A-Z]`, first)

_is_registry("localhost")

# divided is the function divide, of quantities, durations or numbers.
divided(left, right) := left / right if {
	is_number(left)
	is_number(right)
	right != 0
}

else := quantity(left) / quantity(right) if quantity(right) != 0

else := duration(left) / duration(right) if duration(right) != 0

# unlisted are the elements that a list lacks, compared by a key.
unlisted(wanted, list, key) := [one |
	some one in wanted
	not one[key] in {other[key] | some other in list}
]

parsed_json(value) := json.unmarshal(value) if {
	is_string(value)
	json.is_valid(value)
}

parsed_yaml(value) := yaml.unmarshal(value) if {
	is_string(value)
	yaml.is_valid(value)
}
