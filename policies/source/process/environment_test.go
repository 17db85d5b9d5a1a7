package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnvironmentHoldsNoCredentials(t *testing.T) {
	t.Setenv("ORLOJ_POSTGRES_DSN", "postgres://orloj:secret@db")
	t.Setenv("HTTPS_PROXY", "http://proxy:3128")
	t.Setenv("GODEBUG", "")
	compiling := environment(64)
	require.Contains(t, compiling, "GOMEMLIMIT=64")
	require.Contains(t, compiling, "GODEBUG=")
	require.NotContains(t, compiling, "HTTPS_PROXY=http://proxy:3128")
	fetching := environment(64, NetworkVariables...)
	require.Contains(t, fetching, "HTTPS_PROXY=http://proxy:3128")
	for _, variables := range [][]string{compiling, fetching} {
		require.NotContains(t, variables, "ORLOJ_POSTGRES_DSN=postgres://orloj:secret@db")
	}
}
