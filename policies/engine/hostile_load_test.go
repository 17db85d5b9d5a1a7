//go:build !race

// Nothing here runs in two goroutines but the load: the race detector would only make it slow.

package engine

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

// compileHostile is a snapshot with one hostile policy.
func compileHostile(tb testing.TB, c hostilePolicy) *Snapshot {
	return snapshotOf(compileSource(tb, definition.Source{Name: "test", Files: map[string]string{
		"hostile.rego": "package hostile\nimport rego.v1\ndeny contains msg if { " + c.body + " }\n" + c.rules,
	}}))
}

// loadCPUs keeps the CPUs busy with so many loops for each until stop is called.
func loadCPUs(ctx context.Context, loops int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var busy sync.WaitGroup
	for range loops * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	return func() {
		cancel()
		busy.Wait()
	}
}

// TestHostilePoliciesEndAlikeUnderLoad: verdicts and steps do not depend on how busy the machine
// is.
func TestHostilePoliciesEndAlikeUnderLoad(t *testing.T) {
	review := makeReview(t, hostileObject())
	policies := slices.Concat(hostile, hostileToValues)
	snapshots := make([]*Snapshot, len(policies))
	for i, c := range policies {
		snapshots[i] = compileHostile(t, c)
	}
	type outcome struct {
		decision *Decision
		steps    int64
	}
	evaluate := func(loops int) (outcomes []outcome) {
		defer loadCPUs(t.Context(), loops)()
		for _, snapshot := range snapshots {
			e := newEvaluation(review, Options{Clock: func() time.Time { return time.Unix(1, 0) }})
			defer e.usage.payFor("all")()
			decision := &Decision{}
			for _, one := range validateAll(t.Context(), snapshot.selectPolicies(t.Context(), e, false)) {
				decision.add(one)
			}
			decision.sort()
			outcomes = append(outcomes, outcome{decision, e.usage.bySource["all"]})
		}
		return outcomes
	}
	idle := evaluate(0)
	for _, loops := range []int{1, 3} {
		for i, loaded := range evaluate(loops) {
			require.Equal(t, idle[i], loaded, policies[i].name)
		}
	}
}

// BenchmarkHostile reports the CPU time of each hostile policy, and of a step.
func BenchmarkHostile(b *testing.B) {
	review := makeReview(b, hostileObject())
	for _, c := range slices.Concat(hostile, hostileToValues) {
		b.Run(c.name, func(b *testing.B) {
			snapshot, steps := compileHostile(b, c), int64(0)
			start := cpuTime(b)
			for b.Loop() {
				e := newEvaluation(review, Options{})
				e.usage.payFor("all")
				validateAll(b.Context(), snapshot.selectPolicies(b.Context(), e, false))
				steps += e.usage.bySource["all"]
			}
			used := cpuTime(b) - start
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(used.Nanoseconds())/float64(max(1, steps)), "cpu-ns/step")
		})
	}
}

// cpuTime is the CPU time of the process so far.
func cpuTime(tb testing.TB) time.Duration {
	var usage syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
