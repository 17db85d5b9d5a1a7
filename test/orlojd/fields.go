package orlojd

import (
	"slices"
	"strings"
)

// fields are those of an object: each is a leaf, another object, or many of them.
type fields map[string]any

// leaf is a field whose zero value is left out, unless it is written always.
type leaf struct{ always bool }

// each has the fields of every entry of a map or list.
type each fields

// collection has the path and the fields of the objects of one kind.
type collection struct {
	kind, table string
	spec        fields
	// restless are lists and maps: where one is empty, the generation rises whenever the
	// row is written.
	restless []string
	// unwritten says that no controller writes a status.
	unwritten bool
}

// isRestless says whether the generation rises with every write.
func (c collection) isRestless(spec map[string]any) bool {
	return slices.ContainsFunc(c.restless, func(path string) bool {
		var value any = spec
		for name := range strings.SplitSeq(path, ".") {
			holder, _ := value.(map[string]any)
			value = holder[name]
		}
		return isZero(value)
	})
}

func leaves(names ...string) fields {
	all := fields{}
	for _, name := range names {
		all[name] = leaf{}
	}
	return all
}

func (f fields) with(name string, what any) fields {
	f[name] = what
	return f
}

func auth() fields { return leaves("profile", "secretRef", "headerName", "tokenURL", "scopes") }

// collectionsByPath are those of orlojd 0.3, by their paths below /v1.
var collectionsByPath = map[string]collection{
	"agents": {kind: "Agent", table: "agents", unwritten: true, spec: leaves("model_ref", "tools", "allowed_tools", "roles").
		with("prompt", leaf{always: true}).
		with("memory", leaves("ref", "type", "provider", "allow")).
		with("execution", leaves("profile", "tool_sequence", "required_output_markers", "duplicate_tool_call_policy", "on_contract_violation", "tool_use_behavior")).
		with("limits", leaves("max_steps", "timeout"))},
	"agent-policies": {kind: "AgentPolicy", table: "agent_policies",
		spec: leaves("max_tokens_per_run", "allowed_models", "blocked_tools", "apply_mode", "target_systems", "target_tasks")},
	"agent-systems": {kind: "AgentSystem", table: "agent_systems", restless: []string{"graph"}, spec: leaves("agents").
		with("graph", each(leaves("next").
			with("edges", each(leaves("to", "labels", "policy"))).
			with("join", leaves("mode", "quorum_count", "quorum_percent", "on_failure"))))},
	"mcp-servers": {kind: "McpServer", table: "mcp_servers", restless: []string{"tool_filter.include"}, spec: leaves("command", "args", "endpoint").
		with("transport", leaf{always: true}).
		with("env", each(leaves("value", "secretRef").with("name", leaf{always: true}))).
		with("auth", auth()).
		with("tool_filter", leaves("include")).
		with("reconnect", leaves("max_attempts", "backoff"))},
	"memories": {kind: "Memory", table: "memories", spec: leaves("type", "provider", "embedding_model", "endpoint").
		with("auth", leaves("secretRef"))},
	"model-endpoints": {kind: "ModelEndpoint", table: "model_endpoints", spec: leaves("provider", "base_url", "default_model", "options").
		with("auth", leaves("secretRef"))},
	"secrets": {kind: "Secret", table: "secrets", spec: leaves("data")},
	"tools": {kind: "Tool", table: "tools", restless: []string{"capabilities", "auth.scopes"}, spec: leaves(
		"type", "endpoint", "description", "input_schema", "mcp_server_ref", "mcp_tool_name", "capabilities", "operation_classes", "risk_level").
		with("runtime", leaves("timeout", "isolation_mode").with("retry", leaves("max_attempts", "backoff", "max_backoff", "jitter"))).
		with("auth", auth())},
}

// kept is an object after it was read and written again.
func (f fields) kept(object map[string]any) map[string]any {
	out := map[string]any{}
	for name, what := range f {
		value, there := object[name]
		switch what := what.(type) {
		case leaf:
			if what.always || there && !isZero(value) {
				out[name] = value
			}
		case fields:
			inner, _ := value.(map[string]any)
			out[name] = what.kept(inner)
		case each:
			if !isZero(value) {
				out[name] = what.kept(value)
			}
		}
	}
	return out
}

func (e each) kept(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, entry := range value {
			inner, _ := entry.(map[string]any)
			out[key] = fields(e).kept(inner)
		}
		return out
	case []any:
		var out []any
		for _, entry := range value {
			inner, _ := entry.(map[string]any)
			out = append(out, fields(e).kept(inner))
		}
		return out
	}
	return value
}

func isZero(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == ""
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}
