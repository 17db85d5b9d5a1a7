package orloj

import (
	"encoding/base64"
	"strings"
)

// form describes how orlojd normalises the strings and lists of a kind. orlojd does not
// normalise stored rows when it reads them. Paths use dots; * matches every entry of a map or
// list.
type form struct {
	trimmed []string // texts
	folded  []string // texts whose case does not matter
	unique  []string // lists, in which case does not tell entries apart
	exact   []string // lists, in which it does
	filled  []string // lists without empty entries
	lower   []string // lists, like unique, in lower case
	kept    []string // objects that are there even if empty
}

var conditionTexts = []string{
	"output_contains", "output_not_contains", "output_matches", "output_json_path",
	"equals", "not_equals", "contains", "greater_than", "less_than",
}

var allForms = map[string]form{
	"Agent": {
		trimmed: []string{"model_ref", "memory.ref", "memory.type", "memory.provider"},
		folded:  []string{"execution.profile", "execution.duplicate_tool_call_policy", "execution.on_contract_violation", "execution.tool_use_behavior"},
		unique:  []string{"fallback_model_refs", "allowed_tools", "roles", "execution.tool_sequence"},
		exact:   []string{"execution.required_output_markers"},
		lower:   []string{"memory.allow"},
		kept:    []string{"memory", "execution", "limits"},
	},
	"AgentPolicy": {folded: []string{"apply_mode"}},
	"AgentSystem": {
		trimmed: append([]string{
			"context_adapter", "graph.*.next", "graph.*.edges.*.to", "graph.*.delegates.*.to",
			"completion_review.checkpoint_id", "completion_review.display_name", "completion_review.reason", "completion_review.ttl",
			"graph.*.review.checkpoint_id", "graph.*.review.display_name", "graph.*.review.reason", "graph.*.review.ttl",
		}, append(below("graph.*.edges.*.condition.", conditionTexts), below("graph.*.delegates.*.condition.", conditionTexts)...)...),
		folded: []string{"a2a.auth", "graph.*.join.mode", "graph.*.join.on_failure", "graph.*.delegate_join.mode", "graph.*.delegate_join.on_failure"},
		kept:   []string{"graph.*.join"},
	},
	"McpServer": {
		trimmed: []string{"command", "endpoint", "image", "image_pull_secret", "idle_timeout", "env.*.name", "env.*.value", "env.*.secretRef", "env.*.mountPath"},
		folded:  []string{"transport", "default_tool_runtime.isolation_mode"},
		filled:  []string{"tool_filter.include"},
		kept:    []string{"auth", "tool_filter", "reconnect"},
	},
	"Memory": {kept: []string{"auth"}},
	"ModelEndpoint": {
		trimmed: []string{"base_url", "default_model", "auth.secretRef"},
		folded:  []string{"provider"},
		kept:    []string{"auth"},
	},
	"Secret": {},
	"Tool": {
		trimmed: []string{
			"mcp_server_ref", "mcp_tool_name", "auth.secretRef", "auth.headerName", "auth.tokenURL",
			"cli.command", "cli.image", "cli.image_pull_secret", "cli.working_dir", "cli.network",
			"cli.env_from.*.name", "cli.env_from.*.secretRef", "cli.env_from.*.key",
			"wasm.module", "wasm.entrypoint", "wasm.image_pull_secret", "a2a.agent_url", "a2a.protocol_version",
		},
		folded: []string{"type", "risk_level", "runtime.isolation_mode", "runtime.retry.jitter", "auth.profile", "cli.output"},
		unique: []string{"capabilities"},
		lower:  []string{"operation_classes"},
		filled: []string{"auth.scopes"},
		kept:   []string{"runtime", "auth"},
	},
}

func below(prefix string, names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, prefix+name)
	}
	return paths
}

// normalise converts the spec of a kind to its stored form.
func normalise(kind string, spec map[string]any) {
	f := allForms[kind]
	for _, path := range f.kept {
		keep(spec, path)
	}
	texts := func(paths []string, change func(string) string) {
		for _, path := range paths {
			at(spec, strings.Split(path, "."), func(value any) any {
				if text, isText := value.(string); isText {
					return change(text)
				}
				return value
			})
		}
	}
	texts(f.trimmed, strings.TrimSpace)
	texts(f.folded, fold)
	lists := func(paths []string, change func(string) string, identity func(string) string) {
		for _, path := range paths {
			at(spec, strings.Split(path, "."), func(value any) any { return unique(value, change, identity) })
		}
	}
	lists(f.unique, strings.TrimSpace, strings.ToLower)
	lists(f.exact, strings.TrimSpace, func(text string) string { return text })
	lists(f.lower, fold, fold)
	lists(f.filled, strings.TrimSpace, nil)
	switch kind {
	case "Agent":
		at(spec, []string{"memory", "allow"}, func(value any) any {
			return unique(value, func(text string) string { return strings.TrimPrefix(text, "memory.") }, fold)
		})
	case "AgentSystem":
		for _, list := range []string{"edges", "delegates"} {
			at(spec, []string{"graph", "*", list}, withoutEmptyEdges)
		}
	case "ModelEndpoint":
		at(spec, []string{"options"}, foldOptions)
	case "Secret":
		mergeStringData(spec)
	}
}

func fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// at replaces the values at a path, if there are any.
func at(holder any, path []string, change func(any) any) {
	switch holder := holder.(type) {
	case map[string]any:
		for key, value := range holder {
			if path[0] != "*" && path[0] != key {
				continue
			}
			if len(path) == 1 {
				holder[key] = change(value)
			} else {
				at(value, path[1:], change)
			}
		}
	case []any:
		for i, value := range holder {
			if path[0] != "*" {
				return
			}
			if len(path) == 1 {
				holder[i] = change(value)
			} else {
				at(value, path[1:], change)
			}
		}
	}
}

// keep sets an empty object at a path if there is none.
func keep(spec map[string]any, path string) {
	i := strings.LastIndex(path, ".")
	fill := func(value any) any {
		if holder, isMap := value.(map[string]any); isMap && holder[path[i+1:]] == nil {
			holder[path[i+1:]] = map[string]any{}
		}
		return value
	}
	if i < 0 {
		fill(spec)
		return
	}
	at(spec, strings.Split(path[:i], "."), fill)
}

// unique removes empty and duplicate entries. A nil identity disables the check for duplicates.
func unique(value any, change, identity func(string) string) any {
	list, isList := value.([]any)
	if !isList {
		return value
	}
	out, seen := []any{}, map[string]bool{}
	for _, entry := range list {
		text, isText := entry.(string)
		if !isText {
			out = append(out, entry)
			continue
		}
		if text = change(text); text == "" {
			continue
		}
		if identity != nil {
			if seen[identity(text)] {
				continue
			}
			seen[identity(text)] = true
		}
		out = append(out, text)
	}
	return out
}

func withoutEmptyEdges(value any) any {
	list, isList := value.([]any)
	if !isList {
		return value
	}
	out := []any{}
	for _, entry := range list {
		edge, isMap := entry.(map[string]any)
		if to, _ := edge["to"].(string); isMap && to != "" {
			out = append(out, edge)
		}
	}
	return out
}

func foldOptions(value any) any {
	options, isMap := value.(map[string]any)
	if !isMap {
		return value
	}
	out := map[string]any{}
	for key, option := range options {
		if text, isText := option.(string); isText {
			option = strings.TrimSpace(text)
		}
		if key = fold(key); key != "" {
			out[key] = option
		}
	}
	return out
}

// mergeStringData encodes plain values and overwrites the base64 values with them; the result
// has only base64 values.
func mergeStringData(spec map[string]any) {
	plain, _ := spec["stringData"].(map[string]any)
	delete(spec, "stringData")
	if len(plain) == 0 {
		return
	}
	data, _ := spec["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range plain {
		text, isText := value.(string)
		if key = strings.TrimSpace(key); key != "" && isText {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	spec["data"] = data
}
