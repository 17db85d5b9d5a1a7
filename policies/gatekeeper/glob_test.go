package gatekeeper

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGlobsOfGeneratedNames: of a name that the API server is to make, the beginning is known.
func TestGlobsOfGeneratedNames(t *testing.T) {
	for _, g := range []glob{"web-*", "we*", "*", "*-*"} {
		require.True(t, g.matchesPrefix("web-"), g)
	}
	for _, g := range []glob{"web-", "*-", "db-*", ""} {
		require.False(t, g.matchesPrefix("web-"), g)
	}
}
