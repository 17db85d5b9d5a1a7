package source

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/suite"
)

func TestAVerdictIsFoundOnce(t *testing.T) {
	compiled, tested, registrable, results := 0, 0, error(nil), suite.Results{}
	verdicts := NewVerdicts(Gate{
		Compile: func(_ context.Context, s engine.Source) (*engine.PolicySet, error) {
			compiled++
			return engine.Compile(s)
		},
		Test: func(context.Context, engine.Source) (suite.Results, error) {
			tested++
			return results, nil
		},
		Registrable: func([]engine.PolicyInfo, *engine.Resources) error { return registrable },
	})
	live := engine.NewLive(engine.BuiltinResources())
	live.Publish()
	judge := func(revision, text string) Verdict {
		verdict, err := verdicts.Judge(t.Context(), engine.Source{Name: "team", Revision: revision, Files: map[string]string{"a.rego": text}}, live)
		require.NoError(t, err)
		return verdict
	}
	const good, bad = "package a\n\ndeny contains \"x\"", "package a\n\ndeny contains if"
	for range 3 {
		require.Equal(t, ReasonCompileFailed, judge("1", bad).Reason)
	}
	require.Equal(t, 1, compiled, "a bad revision is not compiled again")
	for range 3 {
		require.NotNil(t, judge("2", good).Set)
	}
	require.Equal(t, 2, compiled)
	live.SetResources(engine.NewResources(nil))
	judge("2", good)
	require.Equal(t, 3, compiled, "other kinds may change the verdict")
	verdicts.Forget("team")
	judge("2", good)
	require.Equal(t, 4, compiled)

	registrable = context.Canceled
	require.Equal(t, ReasonVersionConflict, judge("3", good).Reason)
	require.Equal(t, ReasonVersionConflict, judge("3", good).Reason)
	require.Equal(t, 5, compiled)
	other, err := engine.Compile(engine.Source{Name: "other", Files: map[string]string{"b.rego": "package b\n\ndeny contains \"x\""}})
	require.NoError(t, err)
	live.Put(other)
	registrable = nil
	require.NotNil(t, judge("3", good).Set, "a conflict is judged again when what is live changes")

	results = suite.Results{Cases: []suite.Case{{Suite: "s", Outcome: suite.Failed}}}
	results.Totals.Failed, results.Totals.Cases = 1, 1
	before := tested
	require.Equal(t, ReasonTestsFailed, judge("4", good).Reason)
	live.Remove("other")
	require.Equal(t, ReasonTestsFailed, judge("4", good).Reason)
	require.Equal(t, before+1, tested, "tests that fail are not run again because of others")
}
