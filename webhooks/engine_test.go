package webhooks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// TestWithTheEngine asks real policies, and proves that each entry asks its own.
func TestWithTheEngine(t *testing.T) {
	request := strings.NewReplacer(`"pods"`, `"configmaps"`, `"kind":"Pod"`, `"kind":"ConfigMap"`).Replace(podRequest)
	snapshots := &live{}
	f := newFixture(t, nil, func(o *HandlerOptions) { o.Snapshots = snapshots })
	f.current = func() Decider { return snapshots.Snapshot() }

	snapshots.current.Store(compiled(t, engine.Fail, teamLabel))
	denied := f.ask(t, "/validate/fail?timeout=30s", request)
	assert.False(t, denied.Allowed)
	assert.Contains(t, denied.Result.Message, "ConfigMap web- has no team label [team.labels deny, team.rego:9, team@")
	assert.Equal(t, engine.ShortRevision(snapshots.Snapshot().Digest()), denied.AuditAnnotations["snapshot"])
	assert.True(t, f.ask(t, "/validate/ignore", request).Allowed, "the source's failure policy is Fail")
	assert.JSONEq(t, `[{"op":"add","path":"/metadata/labels/checked","value":"yes"}]`,
		string(f.ask(t, "/mutate/fail?timeout=30s", request).Patch))
	assert.Empty(t, f.ask(t, "/mutate/ignore", request).Patch)

	snapshots.current.Store(compiled(t, engine.Ignore, teamLabel))
	assert.True(t, f.ask(t, "/validate/fail", request).Allowed)
	assert.False(t, f.ask(t, "/validate/ignore?timeout=30s", request).Allowed, "a denial is no error: Ignore denies, too")
}

// TestNoSnapshot: a nil pointer in the interface must not look like a snapshot.
func TestNoSnapshot(t *testing.T) {
	f := newFixture(t, nil, nil)
	h, err := NewHandler(HandlerOptions{Snapshots: &live{}, Metrics: f.metrics, Logger: f.logger})
	require.NoError(t, err)
	assert.Nil(t, h.current())
}

// TestObjectsBelongToThePolicies swaps the policies between the two reads: the
// objects of before may lack what the new ones require.
func TestObjectsBelongToThePolicies(t *testing.T) {
	old, next := compiled(t, engine.Fail, teamLabel), compiled(t, engine.Ignore, teamLabel)
	before, after := engine.EmptyClusterData(), engine.EmptyClusterData()
	policies, objects := Decider(old), before
	f := newFixture(t, nil, func(o *HandlerOptions) {
		o.Cluster = func() *engine.ClusterData {
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
