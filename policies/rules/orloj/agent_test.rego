package orloj.agent_test

import rego.v1

import data.orloj.agent

fields(spec) := {d.field | some d in denials} if denials := agent.deny with input as {"request": {"object": {"spec": spec}}}

good := {"model_ref": "m", "prompt": "p"}

with_value(key, value) := object.union(good, {key: value})

test_good_agents if {
	fields(good) == set()
	fields(with_value("memory", {"ref": "r", "allow": ["read", "memory.Write "]})) == set()
	fields(with_value("execution", {"profile": "Contract", "tool_sequence": ["a"], "output_schema": {"type": "object"}})) == set()
	fields(with_value("limits", {"timeout": "1h2m3.5s", "max_steps": 3})) == set()
}

test_what_is_needed if {
	fields({}) == {"spec.model_ref", "spec.prompt"}
	fields(with_value("model", "gpt")) == {"spec.model"}
	fields(with_value("memory", {"allow": ["read"]})) == {"spec.memory.ref"}
	fields(with_value("execution", {"profile": "contract", "tool_sequence": [" "]})) == {"spec.execution.tool_sequence"}
}

test_what_is_unknown if {
	fields(with_value("memory", {"ref": "r", "allow": ["read", "eat"]})) == {"spec.memory.allow[1]"}
	fields(with_value("execution", {"profile": "x"})) == {"spec.execution.profile"}
	fields(with_value("limits", {"timeout": "1"})) == {"spec.limits.timeout"}
}

nested(depth) := json.unmarshal(concat("", [
	concat("", ["{\"type\":" | some _ in numbers.range(1, depth)]),
	"{}",
	concat("", ["}" | some _ in numbers.range(1, depth)]),
]))

test_schemas if {
	schema := "spec.execution.output_schema"
	fields(with_value("execution", {"output_schema": {"properties": {}}})) == {schema}
	fields(with_value("execution", {"output_schema": {"type": concat("", ["xx" | some _ in numbers.range(1, 33000)])}})) == {schema}
	fields(with_value("execution", {"output_schema": nested(9)})) == set()
	fields(with_value("execution", {"output_schema": nested(10)})) == {schema}
}

test_defaults if {
	agent.defaults.spec.limits.max_steps == 10 with input as {"request": {"object": {"spec": good}}}
	agent.defaults.spec.execution.profile == "dynamic" with input as {"request": {"object": {"spec": good}}}
	count(agent.patch) == 0 with input as {"request": {"object": {"spec": {"limits": {"max_steps": 1}}}}}
	count(agent.patch) == 1 with input as {"request": {"object": {"spec": {"limits": {"max_steps": -1}}}}}
	{op.path | some op in agent.patch} == {"/spec/execution/profile"} with input as {"request": {"object": {"spec": {"execution": {"profile": " "}}}}}
}
