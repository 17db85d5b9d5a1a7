package sidecar

import (
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/stretchr/testify/require"
)

// TestMeet runs meet_test.rego.
func TestMeet(t *testing.T) {
	modules, store, err := tester.Load([]string{"meet.rego", "meet_test.rego"}, nil)
	require.NoError(t, err)
	ctx := t.Context()
	transaction, err := store.NewTransaction(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { store.Abort(ctx, transaction) })
	results, err := tester.NewRunner().SetTimeout(time.Hour).SetStore(store).SetModules(modules).RunTests(ctx, transaction)
	require.NoError(t, err)
	count := 0
	for result := range results {
		count++
		require.True(t, result.Pass(), "%s: %v", result.Name, result.Error)
	}
	require.Positive(t, count)
}
