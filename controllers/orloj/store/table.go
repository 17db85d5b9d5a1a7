package store

import "slices"

// column is a column that only some tables have.
type column struct{ name, fallback string }

// Table describes the table of one kind.
type Table struct {
	// Kind is the kind, and Name the table's name.
	Kind, Name string
	// Phase is the phase of a row that orlojd has not processed yet.
	Phase string

	columns   []column
	encrypted bool
	// later are fields that orlojd 0.3 does not know: it drops them when it writes a status.
	// Paths use dots; * matches every key of a map or index of a list.
	later []string
	// zero maps fields to strings that are equal to no value.
	zero map[string]string
}

// columnFields maps columns to the fields of the spec that they store; a dot separates levels.
var columnFields = map[string]string{
	"provider": "provider", "risk_level": "risk_level", "isolation_mode": "runtime.isolation_mode", "apply_mode": "apply_mode",
}

// allTables are the tables of the synced kinds.
var allTables = []Table{
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

// ListTables returns the tables of all kinds.
func ListTables() []Table { return slices.Clone(allTables) }

// TableOf returns the table of a kind.
func TableOf(kind string) (Table, bool) {
	i := slices.IndexFunc(allTables, func(t Table) bool { return t.Kind == kind })
	if i < 0 {
		return Table{}, false
	}
	return allTables[i], true
}
