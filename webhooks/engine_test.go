package webhooks

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// compiled is a snapshot of one source with one module.
func compiled(t testing.TB, policy definition.FailurePolicy, module string) *engine.Snapshot {
	t.Helper()
	return engine.NewSnapshot(admission.BuiltinResources(), compiledSet(t, policy, module))
}

func compiledSet(t testing.TB, policy definition.FailurePolicy, module string) *engine.PolicySet {
	t.Helper()
	set, err := policyset.Compile(definition.Source{
		Name: "team", FailurePolicy: policy, Files: map[string]string{"team.rego": module},
	})
	require.NoError(t, err)
	return set
}

const teamLabel = `# METADATA
# custom:
#   match:
#     kinds: [{group: "", kind: ConfigMap}]
package team.labels

import rego.v1

deny contains msg if {
	not input.request.object.metadata.labels.team
	msg := sprintf("%v %v has no team label", [input.request.kind.kind, input.name])
}

warn contains "labels are lower case" if input.request.object.metadata.labels.team != lower(input.request.object.metadata.labels.team)

defaults := {"metadata": {"labels": {"checked": "yes"}}}
`

// TestWithTheEngine asks real policies, and proves that each entry asks its own.
func TestWithTheEngine(t *testing.T) {
	request := strings.NewReplacer(`"pods"`, `"configmaps"`, `"kind":"Pod"`, `"kind":"ConfigMap"`).Replace(podRequest)
	var live atomic.Pointer[engine.Snapshot]
	f := newFixture(t, nil, func(o *HandlerOptions) { o.Snapshot = live.Load })
	f.current = func() Decider { return live.Load() }

	live.Store(compiled(t, definition.Fail, teamLabel))
	denied := f.ask(t, "/validate/fail?timeout=30s", request)
	assert.False(t, denied.Allowed)
	assert.Contains(t, denied.Result.Message, "ConfigMap web- has no team label [team.labels deny, team.rego:9, team@")
	assert.Equal(t, definition.ShortRevision(live.Load().Digest()), denied.AuditAnnotations["snapshot"])
	assert.True(t, f.ask(t, "/validate/ignore", request).Allowed, "the source's failure policy is Fail")
	assert.JSONEq(t, `[{"op":"add","path":"/metadata/labels/checked","value":"yes"}]`,
		string(f.ask(t, "/mutate/fail?timeout=30s", request).Patch))
	assert.Empty(t, f.ask(t, "/mutate/ignore", request).Patch)

	live.Store(compiled(t, definition.Ignore, teamLabel))
	assert.True(t, f.ask(t, "/validate/fail", request).Allowed)
	assert.False(t, f.ask(t, "/validate/ignore?timeout=30s", request).Allowed, "a denial is no error: Ignore denies, too")
}

// TestNoSnapshot: a nil pointer in the interface must not look like a snapshot.
func TestNoSnapshot(t *testing.T) {
	f := newFixture(t, nil, nil)
	h, err := NewHandler(HandlerOptions{Snapshot: new(engine.Live).Snapshot, Metrics: f.options.Metrics, Logger: f.options.Logger})
	require.NoError(t, err)
	assert.Nil(t, h.current())
}

// TestObjectsBelongToThePolicies swaps the policies between the two reads: the
// objects of before may lack what the new ones require.
func TestObjectsBelongToThePolicies(t *testing.T) {
	old, next := compiled(t, definition.Fail, teamLabel), compiled(t, definition.Ignore, teamLabel)
	before, after := clusterdata.Empty(), clusterdata.Empty()
	policies, objects := Decider(old), before
	f := newFixture(t, nil, func(o *HandlerOptions) {
		o.Cluster = func() *clusterdata.Objects {
			read := objects
			policies, objects = next, after
			return read
		}
	})
	f.current = func() Decider { return policies }
	decider, cluster := f.consistent()
	assert.Equal(t, Decider(next), decider)
	assert.Same(t, after, cluster)
}
