package orloj.agentsystem_test

import rego.v1

import data.orloj.agentsystem

fields(spec) := {d.field | some d in denials} if {
	denials := agentsystem.deny with input as {"request": {"object": {"spec": spec}}}
}

node(value) := {"graph": {"a": value}}

condition(value) := node({"edges": [{"to": "b", "condition": value}]})

test_good_systems if {
	fields({}) == set()
	fields({"a2a": {"auth": "Public"}, "completion_review": {"checkpoint_id": "c"}}) == set()
	fields(node({
		"join": {"mode": "quorum", "quorum_percent": 50, "on_failure": "skip"},
		"delegates": [{"to": "b"}],
		"review": {"checkpoint_id": "d", "ttl": "1m"},
	})) == set()
	fields(condition({"output_json_path": "$.n", "less_than": "-1.5e3"})) == set()
	fields(condition({"default": true})) == set()
	fields(node({"edges": [{"to": " ", "condition": {"equals": "x"}}]})) == set()
}

test_graph if {
	fields({"a2a": {"auth": "x"}}) == {"spec.a2a.auth"}
	fields(node({"join": {"mode": "x"}})) == {"spec.graph.a.join.mode"}
	fields(node({"delegate_join": {"quorum_percent": 101}})) == {"spec.graph.a.delegate_join.quorum_percent"}
	fields(node({"delegates": [{"to": "a"}]})) == {"spec.graph.a.delegates[0].to"}
	fields(node({"edges": [
		{"to": "b", "condition": {"default": true}},
		{"to": "c", "condition": {"default": true}},
	]})) == {"spec.graph.a.edges"}
}

test_conditions if {
	at := "spec.graph.a.edges[0].condition"
	fields(condition({"output_matches": "("})) == {sprintf("%s.output_matches", [at])}
	fields(condition({"output_matches": concat("", ["x" | some _ in numbers.range(1, 513)])})) == {sprintf("%s.output_matches", [at])}
	fields(condition({"contains": "x"})) == {sprintf("%s.output_json_path", [at])}
	fields(condition({"contains": "x", "output_json_path": "n"})) == {sprintf("%s.output_json_path", [at])}
	fields(condition({"output_json_path": "$.n"})) == {at}
	fields(condition({"output_json_path": "$.n", "greater_than": "x"})) == {sprintf("%s.greater_than", [at])}
	fields(condition({"default": true, "output_contains": "x"})) == {at}
}

test_reviews if {
	fields(node({"review": {}})) == {"spec.graph.a.review.checkpoint_id"}
	fields({"completion_review": {"checkpoint_id": "c", "ttl": "x"}}) == {"spec.completion_review.ttl"}
	fields(object.union(node({"review": {"checkpoint_id": "C"}}), {"completion_review": {"checkpoint_id": "c "}})) == {"spec.graph.a.review.checkpoint_id"}
}

test_defaults if {
	spec := object.union(node({"review": {"checkpoint_id": "c"}}), {"completion_review": {"checkpoint_id": "d"}})
	agentsystem.defaults.spec.graph == {"a": {"review": agentsystem.checkpoint}} with input as {"request": {"object": {"spec": spec}}}
	agentsystem.defaults.spec.completion_review == agentsystem.checkpoint with input as {"request": {"object": {"spec": spec}}}
	agentsystem.patch == {{"op": "replace", "path": "/spec/graph/a/review/ttl", "value": "10m"}} with input as {"request": {"object": {"spec": node({"review": {"ttl": " "}})}}}
	agentsystem.defaults.spec == {"graph": {}} with input as {"request": {"object": {"spec": node({})}}}
}
