package policyset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

func compileSource(t *testing.T, source definition.Source) *Set {
	t.Helper()
	set, err := Compile(source)
	require.NoError(t, err)
	return set
}
