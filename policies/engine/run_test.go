package engine

import (
	"context"
	"strings"
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

// TestTheTimeOfASourceIsReadFromTheClock that the caller hands in.
func TestTheTimeOfASourceIsReadFromTheClock(t *testing.T) {
	now := time.Unix(1, 0)
	e := newEvaluation(makeReview(t, pod), Options{Clock: func() time.Time { return now }})
	require.Equal(t, now, e.now)
	done := e.measure("team")
	now = now.Add(sourceTime)
	done()
	require.Equal(t, sourceTime, e.used["team"])
}

// TestTimeInWhichOthersRunDoesNotCount towards the timeout of a policy below the enterprise, nor
// towards the time of its source. Policies of the enterprise never wait.
func TestTimeInWhichOthersRunDoesNotCount(t *testing.T) {
	const loop = "package p\ndeny contains \"no\" if { some i in numbers.range(1, 3000); i == 3000 }"
	another := func(s *definition.Source) {
		s.Files["another.rego"] = strings.Replace(loop, "package p", "package another", 1)
	}
	waits, now := 0, time.Now()
	pacer := &pacerFunc{wait: func() time.Duration {
		waits++
		waited := time.Duration(waits) * time.Hour // more each time, as a first delay is excused
		now = now.Add(waited)
		return waited
	}}
	options := Options{Clock: func() time.Time { return now }, Pacer: pacer}
	evaluate := func(p *PolicySet) *Decision {
		return snapshotOf(p).Validate(t.Context(), makeReview(t, in("shop")), options)
	}
	decision := evaluate(scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), loop, another))
	require.Len(t, decision.Denials, 2)
	for _, denial := range decision.Denials {
		require.Equal(t, "no", denial.Words)
	}
	require.Positive(t, waits)
	require.Equal(t, 2, pacer.paused, "after each policy")
	waits = 0
	require.Len(t, evaluate(scoped(t, "all", hierarchy.Scope{}, loop)).Denials, 1)
	require.Zero(t, waits)
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
	wait   func() time.Duration
	paused int
}

func (p *pacerFunc) Wait(context.Context, time.Time) time.Duration { return p.wait() }

func (p *pacerFunc) Pause(time.Time) { p.paused++ }
