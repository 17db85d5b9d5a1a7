# METADATA
# title: AgentSystems are what orlojd takes
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: AgentSystem}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.agentsystem

import rego.v1

import data.orloj.values

spec := object.get(input.request.object, "spec", {})

graph := object.get(spec, "graph", {})

deny contains problem if some problem in values.unknown(spec, {["a2a", "auth"]: {"public", "bearer"}})

deny contains problem if {
	some name, _ in graph
	some join in ["join", "delegate_join"]
	some problem in values.unknown(spec, {
		["graph", name, join, "mode"]: {"wait_for_all", "quorum"},
		["graph", name, join, "on_failure"]: {"deadletter", "skip", "continue_partial"},
	})
}

deny contains {"field": field, "msg": msg} if {
	some name, node in graph
	some join in ["join", "delegate_join"]
	percent := node[join].quorum_percent
	not within_percent(percent)
	field := sprintf("spec.graph.%s.%s.quorum_percent", [name, join])
	msg := sprintf("%s: %v is not between 0 and 100", [field, percent])
}

within_percent(percent) if {
	percent >= 0
	percent <= 100
}

deny contains {"field": field, "msg": msg} if {
	some name, node in graph
	some i, delegate in node.delegates
	trim_space(delegate.to) == name
	field := sprintf("spec.graph.%s.delegates[%d].to", [name, i])
	msg := sprintf("%s: a node cannot delegate to itself", [field])
}

# Edges without a target are left out of the store, and may hold anything.
conditions[field] := edge.condition if {
	some name, node in graph
	some list in ["edges", "delegates"]
	some i, edge in node[list]
	not values.blank(edge, ["to"])
	field := sprintf("spec.graph.%s.%s[%d].condition", [name, list, i])
}

comparisons := {"equals", "not_equals", "contains", "greater_than", "less_than"}

compared(condition) := {key | some key in comparisons; not values.blank(condition, [key])}

deny contains {"field": path, "msg": sprintf("%s: the pattern is longer than 512 characters", [path])} if {
	some field, condition in conditions
	count(condition.output_matches) > 512
	path := sprintf("%s.output_matches", [field])
}

deny contains {"field": path, "msg": sprintf("%s: %q is not a regular expression", [path, pattern])} if {
	some field, condition in conditions
	pattern := trim_space(condition.output_matches)
	count(pattern) <= 512
	not regex.is_valid(pattern)
	path := sprintf("%s.output_matches", [field])
}

deny contains values.needed(sprintf("%s.output_json_path", [field]), sprintf(": %s compares the value at this path", [concat(", ", sort(keys))])) if {
	some field, condition in conditions
	keys := compared(condition)
	count(keys) > 0
	values.blank(condition, ["output_json_path"])
}

deny contains {"field": path, "msg": sprintf("%s: %q does not start with $.", [path, text])} if {
	some field, condition in conditions
	text := trim_space(values.given(condition, ["output_json_path"]))
	not startswith(text, "$.")
	path := sprintf("%s.output_json_path", [field])
}

deny contains {"field": field, "msg": sprintf("%s: output_json_path finds a value, and none of %s compares it", [field, concat(", ", sort(comparisons))])} if {
	some field, condition in conditions
	not values.blank(condition, ["output_json_path"])
	count(compared(condition)) == 0
}

deny contains {"field": path, "msg": sprintf("%s: %q is not a number", [path, text])} if {
	some field, condition in conditions
	some key in ["greater_than", "less_than"]
	text := trim_space(values.given(condition, [key]))
	not regex.match(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`, text)
	path := sprintf("%s.%s", [field, key])
}

deny contains {"field": field, "msg": sprintf("%s: default stands alone, and here is %s, too", [field, concat(", ", sort(others))])} if {
	some field, condition in conditions
	condition.default == true
	others := object.keys(condition) - {"default"}
	count(others) > 0
}

deny contains {"field": field, "msg": sprintf("%s: there are %d default edges, and one may be", [field, count(found)])} if {
	some name, node in graph
	some list in ["edges", "delegates"]
	found := [i |
		some i, edge in node[list]
		not values.blank(edge, ["to"])
		edge.condition.default == true
	]
	count(found) > 1
	field := sprintf("spec.graph.%s.%s", [name, list])
}

reviews[sprintf("spec.graph.%s.review", [name])] := node.review if some name, node in graph

reviews["spec.completion_review"] := spec.completion_review

deny contains values.needed(sprintf("%s.checkpoint_id", [field]), "") if {
	some field, review in reviews
	values.blank(review, ["checkpoint_id"])
}

deny contains {"field": path, "msg": sprintf("%s: %q %s", [path, ttl, why])} if {
	some field, review in reviews
	ttl := values.given(review, ["ttl"])
	why := values.not_duration(ttl)
	path := sprintf("%s.ttl", [field])
}

deny contains {"field": path, "msg": sprintf("%s: %q is at %s.checkpoint_id already; each has one of its own", [path, id, other])} if {
	some field, review in reviews
	some other, earlier in reviews
	other < field
	id := review.checkpoint_id
	values.folded(id) != ""
	values.folded(id) == values.folded(earlier.checkpoint_id)
	path := sprintf("%s.checkpoint_id", [field])
}

checkpoint := {"ttl": "10m", "allow_request_changes": true, "max_review_cycles": 3}

defaults.spec.completion_review := checkpoint if spec.completion_review

defaults.spec.graph := {name: {"review": checkpoint} | some name, node in graph; node.review}

patch contains op if some op in values.filled(spec, defaults.spec)
