package registration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// TestOwnEntries: a scope has none until the API server must know both configurations, and
// none again as soon as one is missing.
func TestOwnEntries(t *testing.T) {
	policies := []engine.PolicyInfo{of(shop, validates("a", definition.Match{}))}
	pair := ScopeConfigurations(policies, reaching(shop, []string{"shop"}), admission.BuiltinResources(), settings())[0]
	c := fake.NewClientBuilder().Build()
	o := NewOwnEntries(c)
	clock := time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)
	o.now = func() time.Time { return clock }
	lacks := func(later time.Duration) bool {
		clock = clock.Add(later)
		require.NoError(t, o.Read(t.Context()))
		require.True(t, o.Lacks(hierarchy.Key{Level: hierarchy.Enterprise}))
		return o.Lacks(shop)
	}
	require.True(t, o.Lacks(shop), "nothing is known yet")
	require.True(t, lacks(0))

	require.NoError(t, c.Create(t.Context(), pair.Validating))
	require.NoError(t, c.Create(t.Context(), pair.Mutating))
	lacks(0)
	require.True(t, lacks(ownEntriesDelay), "without a CA bundle")
	for i := range pair.Validating.Webhooks {
		pair.Validating.Webhooks[i].ClientConfig.CABundle = []byte("CA")
		pair.Mutating.Webhooks[i].ClientConfig.CABundle = []byte("CA")
	}
	require.NoError(t, c.Update(t.Context(), pair.Validating))
	require.NoError(t, c.Update(t.Context(), pair.Mutating))
	require.True(t, lacks(0))
	require.True(t, lacks(ownEntriesDelay-1))
	require.False(t, lacks(1))

	require.NoError(t, c.Delete(t.Context(), pair.Mutating))
	require.True(t, lacks(0))
	pair.Mutating.ResourceVersion = ""
	require.NoError(t, c.Create(t.Context(), pair.Mutating))
	require.True(t, lacks(0), "the API server may not know it yet")
	require.False(t, lacks(ownEntriesDelay))
}
