package store

import "slices"

// column is a column that only some tables have.
type column struct{ name, fallback string }

// Table is where the rows of one kind are.
type Table struct {
	// Kind is the kind, and Name the table's name.
	Kind, Name string
	// Phase is the phase of a row that orlojd has not seen yet.
	Phase string

	columns   []column
	encrypted bool
	// later are fields that orlojd 0.3 does not know: it drops them when it writes a
	// status. Paths have dots; * is every key of a map, or place in a list.
	later []string
	// zero are texts that mean what no value means, by their field.
	zero map[string]string
}

// columnFields says by the name of a column which field of the spec it holds; a dot
// goes one level down.
var columnFields = map[string]string{
	"provider": "provider", "risk_level": "risk_level", "isolation_mode": "runtime.isolation_mode", "apply_mode": "apply_mode",
}

// tables are those of the kinds that are synced.
var tables = []Table{
	{Kind: "Agent", Name: "agents", Phase: "Pending", later: []string{"fallback_model_refs", "execution.output_schema"}},
	{
		Kind: "AgentPolicy", Name: "agent_policies", Phase: "Ready", columns: []column{{"apply_mode", "scoped"}},
		later: []string{"target_agents", "max_child_depth", "max_child_tasks"},
	},
	{
		Kind: "AgentSystem", Name: "agent_systems", Phase: "Pending",
		later: []string{
			"context_adapter", "completion_review", "a2a",
			"graph.*.edges.*.condition", "graph.*.delegates", "graph.*.delegate_join", "graph.*.review",
		},
	},
	{
		Kind: "McpServer", Name: "mcp_servers", Phase: "Pending",
		later: []string{"image", "image_pull_secret", "idle_timeout", "resources", "default_tool_runtime", "allowPrivate", "env.*.mountPath"},
		zero:  map[string]string{"idle_timeout": "0"},
	},
	{Kind: "Memory", Name: "memories", Phase: "Pending", later: []string{"endpoint_secret_ref"}},
	{Kind: "ModelEndpoint", Name: "model_endpoints", Phase: "Pending", columns: []column{{"provider", ""}}, later: []string{"allowPrivate"}},
	{Kind: "Secret", Name: "secrets", Phase: "Pending", encrypted: true},
	{
		Kind: "Tool", Name: "tools", Phase: "Pending", columns: []column{{"risk_level", "low"}, {"isolation_mode", "none"}},
		later: []string{"cli", "wasm", "a2a"},
	},
}

// Tables are those of all kinds.
func Tables() []Table { return slices.Clone(tables) }

// TableOf is the table of a kind.
func TableOf(kind string) (Table, bool) {
	i := slices.IndexFunc(tables, func(t Table) bool { return t.Kind == kind })
	if i < 0 {
		return Table{}, false
	}
	return tables[i], true
}
