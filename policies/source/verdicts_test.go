package source

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/suite"
)

func TestAVerdictIsFoundOnce(t *testing.T) {
	compiled, tested, registrable, results := 0, 0, error(nil), suite.Results{}
	verdicts := NewVerdicts(Gate{
		Compile: func(_ context.Context, s definition.Source) (*engine.PolicySet, error) {
			compiled++
			return policyset.Compile(s)
		},
		Test: func(context.Context, definition.Source) (suite.Results, error) {
			tested++
			return results, nil
		},
		Registrable: func([]engine.PolicyInfo, *admission.Resources) error { return registrable },
	})
	live := engine.NewLive(admission.BuiltinResources())
	live.Publish()
	evaluate := func(revision, text string) Verdict {
		verdict, err := verdicts.Evaluate(t.Context(), definition.Source{Name: "team", Revision: revision, Files: map[string]string{"a.rego": text}}, live)
		require.NoError(t, err)
		return verdict
	}
	const good, bad = "package a\n\ndeny contains \"x\"", "package a\n\ndeny contains if"
	for range 3 {
		require.Equal(t, ReasonCompileFailed, evaluate("1", bad).Reason)
	}
	require.Equal(t, 1, compiled, "a bad revision is not compiled again")
	for range 3 {
		require.NotNil(t, evaluate("2", good).Set)
	}
	require.Equal(t, 2, compiled)
	live.SetResources(admission.NewResources(nil))
	evaluate("2", good)
	require.Equal(t, 3, compiled, "other kinds may change the verdict")
	verdicts.Forget("team")
	evaluate("2", good)
	require.Equal(t, 4, compiled)

	registrable = context.Canceled
	require.Equal(t, ReasonVersionConflict, evaluate("3", good).Reason)
	require.Equal(t, ReasonVersionConflict, evaluate("3", good).Reason)
	require.Equal(t, 5, compiled)
	other, err := policyset.Compile(definition.Source{Name: "other", Files: map[string]string{"b.rego": "package b\n\ndeny contains \"x\""}})
	require.NoError(t, err)
	live.Put(other)
	registrable = nil
	require.NotNil(t, evaluate("3", good).Set, "a conflict is evaluated again when what is live changes")

	results = suite.Results{Cases: []suite.Case{{Suite: "s", Outcome: suite.Failed}}}
	results.Totals.Failed, results.Totals.Cases = 1, 1
	before := tested
	require.Equal(t, ReasonTestsFailed, evaluate("4", good).Reason)
	live.Remove("other")
	require.Equal(t, ReasonTestsFailed, evaluate("4", good).Reason)
	require.Equal(t, before+1, tested, "tests that fail are not run again because of others")
}

// TestAVerdictBySchemasIsFoundAgain: the definition of a kind may come after the policy.
func TestAVerdictBySchemasIsFoundAgain(t *testing.T) {
	err := error(referenceErrors{definition.CompileErrorList{{Message: "no such field"}}})
	verdicts := NewVerdicts(Gate{
		Compile: func(_ context.Context, s definition.Source) (*engine.PolicySet, error) {
			if err != nil {
				return nil, err
			}
			return policyset.Compile(s)
		},
		Test:        func(context.Context, definition.Source) (suite.Results, error) { return suite.Results{}, nil },
		Registrable: func([]engine.PolicyInfo, *admission.Resources) error { return nil },
	})
	live := engine.NewLive(admission.BuiltinResources())
	live.Publish()
	candidate := definition.Source{Name: "team", Files: map[string]string{"a.rego": "package a\ndeny contains \"x\""}}
	expiry := func(name string) time.Time {
		last, kept := verdicts.last.Load(name)
		require.True(t, kept)
		return last.(keptVerdict).expires
	}
	for range 2 {
		verdict, evaluated := verdicts.Evaluate(t.Context(), candidate, live)
		require.NoError(t, evaluated)
		require.Equal(t, ReasonCompileFailed, verdict.Reason)
	}
	require.WithinDuration(t, time.Now().Add(referenceExpiry), expiry("team"), referenceExpiry/2)
	err = definition.CompileErrorList{{Message: "syntax"}}
	verdicts.Forget("team")
	_, evaluated := verdicts.Evaluate(t.Context(), candidate, live)
	require.NoError(t, evaluated)
	require.WithinDuration(t, time.Now().Add(verdictExpiry), expiry("team"), referenceExpiry)
}

// TestSourcesBelowTheEnterpriseHoldUpNobodyElse: their tests may take as long as they
// like.
func TestSourcesBelowTheEnterpriseHoldUpNobodyElse(t *testing.T) {
	end, started := make(chan struct{}), make(chan struct{})
	verdicts := NewVerdicts(Gate{
		Compile: func(_ context.Context, s definition.Source) (*engine.PolicySet, error) { return policyset.Compile(s) },
		Test: func(_ context.Context, s definition.Source) (suite.Results, error) {
			if s.Scope.Level == hierarchy.Team {
				started <- struct{}{}
				<-end
			}
			return suite.Results{}, nil
		},
		Registrable: func([]engine.PolicyInfo, *admission.Resources) error { return nil },
	})
	live := engine.NewLive(admission.BuiltinResources())
	live.Publish()
	sourceAt := func(name string, level hierarchy.Level) definition.Source {
		scope := hierarchy.Scope{Level: level, Name: name}
		if level == hierarchy.Team {
			scope.Namespaces = []string{name}
		}
		return definition.Source{Name: name, Scope: scope, Files: map[string]string{"a.rego": strings.Replace(aboutPods, "package p", "package a", 1)}}
	}
	evaluate := func(name string, level hierarchy.Level) error {
		_, err := verdicts.Evaluate(context.Background(), sourceAt(name, level), live)
		return err
	}
	var slow sync.WaitGroup
	for i := range scopedAtATime {
		slow.Go(func() { _ = evaluate(string(rune('a'+i)), hierarchy.Team) })
		<-started
	}
	require.ErrorIs(t, evaluate("late", hierarchy.Team), ErrBusy)
	require.NoError(t, evaluate("all", hierarchy.Enterprise))
	known, err := policyset.Compile(sourceAt("known", hierarchy.Team))
	require.NoError(t, err)
	live.Put(known)
	require.NoError(t, evaluate("known", hierarchy.Team), "there is next to nothing to evaluate")
	close(end)
	slow.Wait()
	go func() { <-started }()
	require.NoError(t, evaluate("late", hierarchy.Team))
}

// TestSourcesThatClaimAPackageAtOneTime do not see each other before both are live. Then the
// younger one reports it, and stays in force.
func TestSourcesThatClaimAPackageAtOneTime(t *testing.T) {
	verdicts := NewVerdicts(Gate{
		Compile:     func(_ context.Context, s definition.Source) (*engine.PolicySet, error) { return policyset.Compile(s) },
		Test:        func(context.Context, definition.Source) (suite.Results, error) { return suite.Results{}, nil },
		Registrable: func([]engine.PolicyInfo, *admission.Resources) error { return nil },
	})
	live := engine.NewLive(admission.BuiltinResources())
	live.Publish()
	older := makeSource(good, func(s *definition.Source) { s.Name, s.Created = "z", time.Unix(1, 0) })
	younger := makeSource(good, func(s *definition.Source) { s.Name, s.Created = "a", time.Unix(2, 0) })
	var sets []*engine.PolicySet
	for _, candidate := range []definition.Source{younger, older} {
		verdict, err := verdicts.Evaluate(t.Context(), candidate, live)
		require.NoError(t, err)
		require.NotNil(t, verdict.Set)
		sets = append(sets, verdict.Set)
	}
	for _, set := range sets {
		live.Put(set)
	}
	live.Publish()
	verdict, err := verdicts.Evaluate(t.Context(), older, live)
	require.NoError(t, err)
	require.Empty(t, verdict.Reason)
	verdict, err = verdicts.Evaluate(t.Context(), younger, live)
	require.NoError(t, err)
	require.NotNil(t, verdict.Set)
	require.Equal(t, scope.ReasonPackageConflict, verdict.Reason)
	younger.Files = map[string]string{"p.rego": good + "\n"}
	verdict, err = verdicts.Evaluate(t.Context(), younger, live)
	require.NoError(t, err)
	require.Nil(t, verdict.Set, "a new revision is refused")
}
