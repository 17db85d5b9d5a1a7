# METADATA
# title: Agents are what orlojd takes
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: Agent}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.agent

import rego.v1

import data.orloj.values

spec := object.get(input.request.object, "spec", {})

enums := {
	["execution", "profile"]: {"dynamic", "contract"},
	["execution", "duplicate_tool_call_policy"]: {"short_circuit", "deny"},
	["execution", "on_contract_violation"]: {"non_retryable_error", "observe"},
	["execution", "tool_use_behavior"]: {"run_llm_again", "stop_on_first_tool"},
}

deny contains problem if some problem in values.unknown(spec, enums)

deny contains problem if some problem in values.durations(spec, {["limits", "timeout"]})

deny contains values.needed("spec.model_ref", ": it names the ModelEndpoint that answers") if values.blank(spec, ["model_ref"])

deny contains values.needed("spec.prompt", "") if not is_string(object.get(spec, "prompt", null))

deny contains {"field": "spec.model", "msg": "spec.model: it is not for manifests; name a ModelEndpoint in spec.model_ref"} if spec.model

memory_operations := {"read", "write", "search", "list", "ingest"}

deny contains {"field": field, "msg": msg} if {
	some i, operation in spec.memory.allow
	not trim_prefix(values.folded(operation), "memory.") in memory_operations
	field := sprintf("spec.memory.allow[%d]", [i])
	msg := sprintf("%s: %q is not one of %s", [field, operation, concat(", ", sort(memory_operations))])
}

deny contains values.needed("spec.memory.ref", ": spec.memory.allow needs it") if {
	count(spec.memory.allow) > 0
	values.blank(spec, ["memory", "ref"])
}

deny contains values.needed("spec.execution.tool_sequence", ", since spec.execution.profile is contract") if {
	values.folded(spec.execution.profile) == "contract"
	sequence := object.get(spec, ["execution", "tool_sequence"], [])
	every tool in sequence { trim_space(tool) == "" }
}

schema_field := "spec.execution.output_schema"

schema := spec.execution.output_schema

deny contains {"field": schema_field, "msg": sprintf("%s: its root has no \"type\"", [schema_field])} if {
	count(schema) > 0
	not "type" in object.keys(schema)
}

deny contains {"field": schema_field, "msg": sprintf("%s: it has more than 65536 bytes", [schema_field])} if {
	count(json.marshal(schema)) > 65536
}

deny contains {"field": schema_field, "msg": sprintf("%s: it is nested more than 10 deep", [schema_field])} if {
	some path, value
	walk(schema, [path, value])
	is_object(value)
	count(path) >= 10
	every key in path { is_string(key) }
}

defaults.spec.execution := {
	"profile": "dynamic",
	"duplicate_tool_call_policy": "short_circuit",
	"on_contract_violation": "non_retryable_error",
	"tool_use_behavior": "run_llm_again",
}

defaults.spec.limits.max_steps := 10

patch contains op if some op in values.filled(spec, defaults.spec)

patch contains {"op": "replace", "path": "/spec/limits/max_steps", "value": 10} if spec.limits.max_steps <= 0
