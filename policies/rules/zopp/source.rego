# METADATA
# title: Sources and keys are well formed
# custom:
#   match:
#     kinds:
#       - {group: "", version: v1, kind: Secret}
#       - {group: zopp.dev, version: v1alpha1, kind: ZoppSecretSync}
#     operations: [CREATE, UPDATE]
#   timeout: 1s
# description: |
#   input.facts has sources and keys as Go reads them. The names of a source are part of
#   what zopp authenticates a value by, with colons between them.
package zopp.source

import rego.v1

import data.zopp.places

# How much an object may ask for. Facts have one more than that, and texts one character.
deny contains {"field": field, "msg": sprintf("%s: it names more than 16 environments; share them out among several Secrets", [field])} if {
	count(input.facts.sources) > 16
	field := places.source(16)
}

deny contains {"field": field, "msg": sprintf("%s: the name of the %s has more than 253 characters; no environment has such a name", [field, name])} if {
	some i, source in input.facts.sources
	some name, value in source
	count(value) > 253
	field := places.part(i, name)
}

deny contains {"field": field, "msg": sprintf("%s: it has more than 1024 entries; write patterns, or take the annotation out to have all keys", [field])} if {
	count(input.facts.keys) > 1024
	field := places.key(1024)
}

deny contains {"field": field, "msg": sprintf("%s: an entry has more than 512 characters; write a shorter one", [field])} if {
	some i, entry in input.facts.keys
	some text in entry
	count(text) > 512
	field := places.key(i)
}

deny contains {"field": field, "msg": sprintf("%s: it is empty; name the %s of zopp", [field, name])} if {
	some i, source in input.facts.sources
	some name, value in source
	trim_space(value) == ""
	not is_short(i)
	field := places.part(i, name)
}

deny contains {"field": field, "msg": sprintf("%s: %q has spaces around it", [field, value])} if {
	some i, source in input.facts.sources
	some name, value in source
	trim_space(value) != ""
	trim_space(value) != value
	field := places.part(i, name)
}

deny contains {"field": field, "msg": msg} if {
	some i, source in input.facts.sources
	some name, value in source
	contains(value, ":")
	field := places.part(i, name)
	msg := sprintf("%s: %q has a colon; zopp authenticates values by names with colons between them, so that this one may stand for another; rename the %s in zopp", [field, value, name])
}

# An entry of the list that has not three names.
is_short(i) if count(split(entries[i], "/")) != 3

entries := input.facts.entries

deny contains {"field": field, "msg": msg} if {
	input.facts.sources != []
	some i, entry in entries
	is_short(i)
	field := places.source(i)
	msg := sprintf("%s: %q is not workspace/project/environment; a name with / or , needs zopp.dev/workspace, zopp.dev/project and zopp.dev/environment in place of this annotation", [field, entry])
}

# The keys of Secrets that Kubernetes takes.
is_key(name) if {
	regex.match(`^[-._a-zA-Z0-9]{1,253}$`, name)
	name != "."
	not startswith(name, "..")
}

valid := "letters, digits, -, _ and ., and not .. in front"

# Nothing more is said of entries that are too many.
keys := input.facts.keys if count(input.facts.keys) <= 1024

deny contains {"field": field, "msg": sprintf("%s: an entry names no key of zopp; KEY, API_* and name=KEY are entries", [field])} if {
	some i, entry in keys
	entry.key == ""
	field := places.key(i)
}

deny contains {"field": field, "msg": msg} if {
	some i, entry in keys
	entry.key != ""
	not entry.name
	not contains(entry.key, "*")
	not is_key(entry.key)
	field := places.key(i)
	msg := sprintf("%s: Kubernetes takes no key %q; give it a name of %s: name=%s", [field, entry.key, valid, entry.key])
}

deny contains {"field": field, "msg": msg} if {
	some i, entry in keys
	not is_key(entry.name)
	field := places.key(i)
	msg := sprintf("%s: Kubernetes takes no key %q; give %s a name of %s", [field, entry.name, entry.key, valid])
}

deny contains {"field": field, "msg": msg} if {
	some i, entry in keys
	entry.name
	contains(entry.key, "*")
	field := places.key(i)
	msg := sprintf("%s: %s=%s gives one name to many keys; take the name out, or name one key", [field, entry.name, entry.key])
}

# The entries that fill a key of the Secret, by that key.
filling[object.get(entry, "name", entry.key)] contains i if {
	some i, entry in keys
	entry.key != ""
}

deny contains {"field": field, "msg": msg} if {
	some name, all in filling
	first := min(all)
	some other in all
	first < other
	field := places.key(other)
	msg := sprintf("%s: %s is filled twice, from %s and from %s; give one of them another name", [field, name, keys[first].key, keys[other].key])
}
