package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

func TestAPanicIsAFailureOfItsPolicy(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"x\"")
	answers := runInOrder([]invocation{{policy: policiesIn(set)[0]}},
		func(invocation) string { panic("at once") },
		func(_ invocation, err evalError) string { return err.message })
	require.Contains(t, answers[0], "internal error: at once")
}

// TestNoVerdictDependsOnTheClock: policies end at the same step while the clock jumps and the pacer
// waits, and policies of the enterprise never wait.
func TestNoVerdictDependsOnTheClock(t *testing.T) {
	const ends = "package p\ndeny contains \"no\" if { some i in numbers.range(1, 3000); i == 3000 }"
	const endless = "package endless\ndeny contains \"no\" if { some i in numbers.range(1, 30000); some j in numbers.range(1, 30000); i + j == 0 }"
	another := func(s *definition.Source) { s.Files["another.rego"] = endless }
	waits, now := 0, time.Now()
	jumps := func() time.Time {
		now = now.Add(time.Duration(waits) * time.Hour)
		return now
	}
	last := int64(0)
	pacer := &pacerFunc{wait: func(steps int64) {
		waits++
		require.True(t, steps == 0 || steps > last, "%d steps after %d", steps, last)
		last = steps
		jumps()
	}}
	evaluate := func(p *PolicySet, options Options) *Decision {
		return snapshotOf(p).Validate(t.Context(), makeReview(t, in("shop")), options)
	}
	for _, scope := range []hierarchy.Scope{scopeOf(hierarchy.Team, "shop", "", "shop"), {}} {
		waits, pacer.done = 0, nil
		set := scoped(t, "source", scope, ends, another)
		jumping := evaluate(set, Options{Clock: jumps, Pacer: pacer})
		require.Equal(t, []string{"policy endless cannot be evaluated: it took more than 1000000 steps: iterate over less, or in fewer nested loops", "no"}, wordsOf(jumping.Denials))
		require.Equal(t, jumping, evaluate(set, Options{}))
		if scope.Level == "" {
			require.Zero(t, waits)
			continue
		}
		require.Greater(t, waits, 1000, "the pacer is called while a policy is evaluated")
		require.Len(t, pacer.done, 2, "after each policy")
		require.Greater(t, slices.Max(pacer.done), int64(1_000_000))
		require.Less(t, slices.Min(pacer.done), int64(100_000))
	}
}

// TestPoliciesOfTheEnterpriseAreEvaluatedFirst, so that they do not lack the time for which those of a
// team wait. The answers keep the order of the policies.
func TestPoliciesOfTheEnterpriseAreEvaluatedFirst(t *testing.T) {
	below, all := policiesIn(compile(t, "package a\ndeny contains \"x\""))[0], policiesIn(compile(t, "package b\ndeny contains \"x\""))[0]
	below.source.place.Below = true
	var evaluated []string
	answers := runInOrder([]invocation{
		{policy: below, evaluation: newEvaluation(makeReview(t, pod), Options{})}, {policy: all},
	}, func(i invocation) string {
		evaluated = append(evaluated, i.policy.Name)
		return i.policy.Name
	}, nil)
	require.Equal(t, []string{"b", "a"}, evaluated)
	require.Equal(t, []string{"a", "b"}, answers)
}

// pacerFunc is a Pacer.
type pacerFunc struct {
	wait func(steps int64)
	done []int64
}

func (p *pacerFunc) Wait(_ context.Context, steps int64) { p.wait(steps) }

func (p *pacerFunc) Done(steps int64) { p.done = append(p.done, steps) }
