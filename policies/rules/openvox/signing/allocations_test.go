//go:build !race

package signing

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr"
)

// TestAllocations: reading and evaluating any request takes little memory.
func TestAllocations(t *testing.T) {
	requests := hostile(t)
	requests["ordinary"] = ordinary(t)
	for kind, policies := range attacked() {
		for title, text := range requests {
			most := 90_000.0
			if title == "ordinary" {
				most = 45_000
			}
			require.Less(t, testing.AllocsPerRun(1, func() {
				_, err := Refusals(t.Context(), Question{certname, csr.Parse(text), Rendered{policies, []string{"main-operator", ".main-operator"}}})
				require.NoError(t, err)
			}), most, "%s: %s", kind, title)
		}
	}
}
