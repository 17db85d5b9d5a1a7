//go:build unix

package engine

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

// processorTime is the processor time of this process.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestManyPoliciesThatSetManyFields takes a minute if each path is compared with all others. It is
// not parallel: it measures the processor time of the process.
func TestManyPoliciesThatSetManyFields(t *testing.T) {
	const policies, fields = 40, 1500
	values := "v:\n"
	for i := range fields {
		values += fmt.Sprintf("  k%d: x\n", i)
	}
	files := map[string]string{"big/data.yaml": values}
	for i := range policies {
		files[fmt.Sprintf("p%d.rego", i)] = fmt.Sprintf("package p%[1]d\ndefaults.data.k%[1]d := data.big.v", i)
	}
	set := compileSource(t, definition.Source{Name: "test", Files: files})
	snapshot, review := snapshotOf(set), makeReview(t, pod)
	started := processorTime(t)
	mutation := snapshot.Mutate(t.Context(), review, Options{})
	require.Empty(t, textsOf(mutation.Denials))
	require.GreaterOrEqual(t, len(mutation.Patch), policies*fields)
	require.Less(t, processorTime(t)-started, 15*time.Second)
}
