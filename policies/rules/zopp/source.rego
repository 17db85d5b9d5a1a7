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

entries := [entry |
	places.is_secret
	some text in split(object.get(places.annotations, "zopp.dev/sources", ""), ",")
	entry := trim_space(text)
	entry != ""
]

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

deny contains {"field": field, "msg": sprintf("%s: an entry names no key of zopp; KEY, API_* and name=KEY are entries", [field])} if {
	some i, entry in input.facts.keys
	entry.key == ""
	field := places.key(i)
}

deny contains {"field": field, "msg": msg} if {
	some i, entry in input.facts.keys
	entry.key != ""
	not entry.name
	not contains(entry.key, "*")
	not is_key(entry.key)
	field := places.key(i)
	msg := sprintf("%s: Kubernetes takes no key %q; give it a name of %s: name=%s", [field, entry.key, valid, entry.key])
}

deny contains {"field": field, "msg": msg} if {
	some i, entry in input.facts.keys
	not is_key(entry.name)
	field := places.key(i)
	msg := sprintf("%s: Kubernetes takes no key %q; give %s a name of %s", [field, entry.name, entry.key, valid])
}

deny contains {"field": field, "msg": msg} if {
	some i, entry in input.facts.keys
	entry.name
	contains(entry.key, "*")
	field := places.key(i)
	msg := sprintf("%s: %s=%s gives one name to many keys; take the name out, or name one key", [field, entry.name, entry.key])
}

# The key of the Secret that an entry fills, by the entry's index.
fills[i] := object.get(entry, "name", entry.key) if {
	some i, entry in input.facts.keys
	entry.key != ""
}

deny contains {"field": field, "msg": msg} if {
	some i, name in fills
	some j, other in fills
	i < j
	other == name
	field := places.key(j)
	msg := sprintf("%s: %s is filled twice, from %s and from %s; give one of them another name", [field, name, input.facts.keys[i].key, input.facts.keys[j].key])
}
