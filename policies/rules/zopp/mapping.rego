# METADATA
# title: Objects read what their namespace permits
# custom:
#   match:
#     kinds:
#       - {group: "", version: v1, kind: Secret}
#       - {group: zopp.dev, version: v1alpha1, kind: ZoppSecretSync}
#     operations: [CREATE, UPDATE]
#   timeout: 1s
# description: |
#   Annotation zopp.dev/allowed-sources of the Namespace lists what its objects may read.
#   Where it has none, they may read everything in mode Open, and nothing in mode
#   Restricted. A Secret in another namespace needs the permission of that one, too.
package zopp.mapping

import rego.v1

import data.zopp.lists
import data.zopp.places

own := lists.of(object.get(input.namespace, ["metadata", "annotations"], null))

# What each namespace says that the values are for, by its name.
says[input.request.namespace] := own

says[input.facts.target.namespace] := lists.of(input.facts.target.annotations) if input.facts.target.exists

binds(annotations) if "zopp.dev/allowed-sources" in object.keys(annotations)

binds(_) if input.facts.mapping == "Restricted"

# A pattern has one for each of the three names, of * and ? alone.
pattern := `^[^/{}\[\]!\\]+/[^/{}\[\]!\\]+/[^/{}\[\]!\\]+$`

is_pattern(text) if {
	count(text) < 256
	regex.match(pattern, text)
}

list[namespace] := lists.entries(annotations, "zopp.dev/allowed-sources") if some namespace, annotations in says

patterns[namespace] := [text | some text in list[namespace]; is_pattern(text)] if some namespace, _ in says

permits(namespace, source) if {
	some text in patterns[namespace]
	[workspace, project, environment] := split(text, "/")
	glob.match(workspace, null, source.workspace)
	glob.match(project, null, source.project)
	glob.match(environment, null, source.environment)
}

# Messages about entries that are not valid patterns: the first few, shortened.
malformed[namespace] := [text | some text in list[namespace]; not is_pattern(text)] if some namespace, _ in says

doubt(namespace) := "" if malformed[namespace] == []

doubt(namespace) := sprintf(" (%s in its annotation zopp.dev/allowed-sources %s)", [concat(", ", named), verdict(count(texts))]) if {
	texts := malformed[namespace]
	count(texts) > 0
	named := [sprintf("%q", [substring(text, 0, 64)]) | some text in array.slice(texts, 0, 4)]
}

verdict(1) := "is not of the form workspace/project/environment and permits nothing"

verdict(n) := "are not of the form workspace/project/environment and permit nothing" if {
	n > 1
	n <= 4
}

verdict(n) := sprintf("and %d more are not of the form workspace/project/environment and permit nothing", [n - 4]) if n > 4

deny contains {"field": field, "msg": msg} if {
	some namespace, annotations in says
	binds(annotations)
	some i, source in input.facts.sources
	not permits(namespace, source)
	field := places.source(i)
	name := concat("/", [source.workspace, source.project, source.environment])
	msg := sprintf("%s: namespace %q may not read %s%s; an administrator allows it by %s", [
		field, namespace, name, doubt(namespace),
		lists.addition(namespace, patterns[namespace], "zopp.dev/allowed-sources", name),
	])
}
