package store

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readSpec(t *testing.T, text string) (spec map[string]any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&spec))
	return spec
}

// TestWhatOrlojdKeepsIsCompared: absent, zero and false are one, and what not every
// orlojd knows may be lost. Nothing else may.
func TestWhatOrlojdKeepsIsCompared(t *testing.T) {
	for name, c := range map[string]struct {
		kind, have, want string
		lost             []string
		differs          bool
	}{
		"zeros that newer versions add":   {kind: "Tool", have: `{"type":"http","wasm":{"enable_wasi":false},"cli":{"env":{},"args":[]}}`, want: `{"type":"http"}`},
		"zeros that are left out":         {kind: "ModelEndpoint", have: `{"auth":{}}`, want: `{"auth":{"secretRef":""},"allowPrivate":false,"options":null}`},
		"a zero number":                   {kind: "AgentPolicy", have: `{}`, want: `{"max_child_depth":0,"max_tokens_per_run":0.0}`},
		"a text that means nothing":       {kind: "McpServer", have: `{"transport":"stdio"}`, want: `{"transport":"stdio","idle_timeout":"0"}`},
		"and only there":                  {kind: "ModelEndpoint", have: `{"options":{}}`, want: `{"options":{"temperature":"0"}}`, differs: true},
		"numbers by their value":          {kind: "Agent", have: `{"limits":{"max_steps":5}}`, want: `{"limits":{"max_steps":5.0}}`},
		"a newer field is lost":           {kind: "ModelEndpoint", have: `{"provider":"ollama"}`, want: `{"provider":"ollama","allowPrivate":true}`, lost: []string{"allowPrivate"}},
		"deep in a map and a list":        {kind: "AgentSystem", have: `{"graph":{"a.b":{"edges":[{"to":"c"}]}}}`, want: `{"graph":{"a.b":{"edges":[{"to":"c","condition":{"default":true}}],"review":{"checkpoint_id":"x"}}}}`, lost: []string{"graph.a.b.edges[0].condition", "graph.a.b.review"}},
		"a known field is taken out":      {kind: "AgentPolicy", have: `{"apply_mode":"scoped"}`, want: `{"apply_mode":"scoped","blocked_tools":["shell"]}`, differs: true},
		"a newer one is set to nothing":   {kind: "AgentPolicy", have: `{"max_child_depth":0}`, want: `{"max_child_depth":2}`, differs: true},
		"a newer one is changed":          {kind: "AgentPolicy", have: `{"max_child_depth":9}`, want: `{"max_child_depth":2}`, differs: true},
		"something is added":              {kind: "AgentPolicy", have: `{"allowed_models":["any"]}`, want: `{}`, differs: true},
		"something unknown is added":      {kind: "AgentPolicy", have: `{"unknown":1}`, want: `{}`, differs: true},
		"false is made true":              {kind: "ModelEndpoint", have: `{"allowPrivate":true}`, want: `{"allowPrivate":false}`, differs: true},
		"a node of a graph is taken out":  {kind: "AgentSystem", have: `{"graph":{"a":{"next":"b"}}}`, want: `{"graph":{"a":{"next":"b"},"b":{"next":"c"}}}`, differs: true},
		"a value of a Secret is gone":     {kind: "Secret", have: `{"data":{"a":"eA=="}}`, want: `{"data":{"a":"eA==","b":"eA=="}}`, differs: true},
		"an entry of a list is gone":      {kind: "Agent", have: `{"tools":["a"]}`, want: `{"tools":["a","b"]}`, differs: true},
		"an entry of a list is another":   {kind: "Agent", have: `{"tools":["a",""]}`, want: `{"tools":["a","b"]}`, differs: true},
		"another type":                    {kind: "Agent", have: `{"tools":"a","limits":[]}`, want: `{"tools":["a"],"limits":{"max_steps":1}}`, differs: true},
		"all is gone, newer fields, too":  {kind: "AgentSystem", have: `{}`, want: `{"graph":{"a":{"review":{"checkpoint_id":"x"}},"b":{"next":"a"}}}`, lost: []string{"graph.a.review"}, differs: true},
		"a container of a newer field is": {kind: "Agent", have: `{"model_ref":"m"}`, want: `{"model_ref":"m","execution":{"output_schema":{"type":"object"}}}`, lost: []string{"execution.output_schema"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare(tableOf(t, c.kind), readSpec(t, c.have), readSpec(t, c.want))
			require.Equal(t, c.lost, got.lost)
			require.Equal(t, c.differs, got.differs)
		})
	}
}

// TestAFieldThatIsLostAgainIsLeft: the first time it is written again.
func TestAFieldThatIsLostAgainIsLeft(t *testing.T) {
	s, _ := fresh(t, "")
	row := &Row{Namespace: "n", Name: "m", SourceNamespace: "n", Owner: "u", Spec: map[string]any{"provider": "ollama", "allowPrivate": true}}
	upsert(t, s, "ModelEndpoint", row)
	lose := func() {
		run(t, s, "UPDATE model_endpoints SET payload = payload #- '{spec,allowPrivate}'")
	}
	lose()
	again := upsert(t, s, "ModelEndpoint", row)
	require.True(t, again.Updated && again.OnlyLost)
	require.Equal(t, []string{"allowPrivate"}, again.Lost)
	require.Empty(t, again.NotKept)
	lose()
	row.Lost = []string{"allowPrivate"}
	left := upsert(t, s, "ModelEndpoint", row)
	require.False(t, left.Written())
	require.Equal(t, []string{"allowPrivate"}, left.NotKept)
	run(t, s, `UPDATE model_endpoints SET payload = jsonb_set(payload, '{spec,provider}', '"openai"')`)
	repaired := upsert(t, s, "ModelEndpoint", row)
	require.True(t, repaired.Updated && !repaired.OnlyLost, "an edit is undone all the same")
	require.Equal(t, "true", query(t, s, "SELECT payload->'spec'->>'allowPrivate' FROM model_endpoints"), "and the field is tried again")
}

// TestOfTwoClustersTheOlderKeepsARow: objects of one name in one namespace of either.
func TestOfTwoClustersTheOlderKeepsARow(t *testing.T) {
	s, _ := fresh(t, "")
	in := func(cluster, owner string) *Row {
		row := agent(owner)
		row.Cluster = cluster
		return row
	}
	upsert(t, s, "Agent", in("c1", "u1"))
	require.Equal(t, "c1", query(t, s, "SELECT payload->'metadata'->'annotations'->>'lintel.dev/cluster' FROM agents"))
	taken := writeProblem(t, s, "Agent", in("c2", "u2"))
	require.Equal(t, ReasonCluster, taken.Reason)
	require.True(t, taken.Permanent())
	require.Equal(t, "the row team-a/summarizer belongs to Agent team-a/summarizer of another cluster (c1; this one is c2), which had it first; delete that one, or give this one another name or target namespace. Of a cluster that is gone, give this one the identity: --orloj-cluster-id", taken.Message)
	require.True(t, upsert(t, s, "Agent", in("c1", "u3")).Updated, "an object of that name that was made anew in the first")

	// An edit removes the owner annotations. An object that waits for the row leaves it alone.
	run(t, s, "UPDATE agents SET payload = payload #- '{metadata,annotations}'")
	patient := in("c2", "u2")
	patient.LeaveUnowned, patient.LeaveMissing = true, true
	require.Equal(t, ReasonReleased, writeProblem(t, s, "Agent", patient).Reason)
	require.True(t, upsert(t, s, "Agent", in("c1", "u3")).Adopted, "who had it takes it back")
	run(t, s, "DELETE FROM agents")
	released := writeProblem(t, s, "Agent", patient)
	require.Equal(t, ReasonReleased, released.Reason)
	require.False(t, released.Permanent(), "it is a matter of time")
	require.True(t, upsert(t, s, "Agent", in("c2", "u2")).Created, "the time is over")

	// A row written by an earlier version names no cluster: the first cluster to write it owns
	// it.
	run(t, s, "UPDATE agents SET payload = payload #- '{metadata,annotations,lintel.dev/cluster}'")
	require.True(t, upsert(t, s, "Agent", in("c1", "u1")).Updated)
	require.Equal(t, ReasonCluster, writeProblem(t, s, "Agent", in("c2", "u2")).Reason)
	_, err := s.Remove(t.Context(), tableOf(t, "Agent"), Removal{Owner: "u1", Key: "team-a/summarizer", Retain: true})
	require.NoError(t, err)
	require.True(t, upsert(t, s, "Agent", in("c2", "u2")).Adopted, "it was let go")
}
