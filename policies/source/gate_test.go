package source

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/suite"
)

// makeSource is a source with one file.
func makeSource(rego string, change ...func(*definition.Source)) definition.Source {
	source := definition.Source{Name: "team", Files: map[string]string{"p.rego": rego}}
	for _, apply := range change {
		apply(&source)
	}
	return source
}

const (
	good = "package p\ndeny contains \"no\""
	// aboutPods names its kind, as policies below the enterprise have to.
	aboutPods = "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\n" + good
)

func allRegistrable([]engine.PolicyInfo, *admission.Resources) error { return nil }

func compileHere(_ context.Context, source definition.Source) (*engine.PolicySet, error) {
	return policyset.Compile(source)
}

func testHere(ctx context.Context, source definition.Source) (suite.Results, error) {
	return suite.Run(ctx, source, suite.Options{})
}

// gate is Judge where a verdict is sure.
func gate(t *testing.T, candidate definition.Source, live *engine.Live, registrable func([]engine.PolicyInfo, *admission.Resources) error) Verdict {
	t.Helper()
	verdict, err := Gate{Compile: compileHere, Registrable: registrable, Test: testHere}.Judge(t.Context(), candidate, live)
	require.NoError(t, err)
	return verdict
}

func TestNoVerdictWithoutACompiler(t *testing.T) {
	judge := Gate{Compile: func(context.Context, definition.Source) (*engine.PolicySet, error) {
		return nil, errors.New("no process")
	}}
	_, err := judge.Judge(t.Context(), makeSource(good), engine.NewLive(admission.BuiltinResources()))
	require.ErrorContains(t, err, "no process")
}

func team(parent string) hierarchy.Scope {
	return hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Parent: parent, Namespaces: []string{"shop-*"}}
}

func TestGate(t *testing.T) {
	for name, c := range map[string]struct {
		object      definition.Source
		registrable func([]engine.PolicyInfo, *admission.Resources) error
		reason      string // empty: it passes
		message     string
	}{
		"good":             {makeSource(good), allRegistrable, "", ""},
		"enterprise":       {makeSource(good, func(o *definition.Source) { o.Scope.Level = hierarchy.Enterprise }), allRegistrable, "", ""},
		"does not compile": {makeSource("package p\n}"), allRegistrable, ReasonCompileFailed, "p.rego:2:1"},
		"wrong parameters": {makeSource(good, func(o *definition.Source) { o.Parameters = []byte(`[1]`) }), allRegistrable, ReasonCompileFailed, "parameters: not an object"},
		"no policies":      {makeSource("package p\nx := 1"), allRegistrable, ReasonNoPolicies, "no package has a rule deny"},
		"narrower scope":   {makeSource(aboutPods, func(o *definition.Source) { o.Scope = team("") }), allRegistrable, "", ""},
		"every kind there": {makeSource(good, func(o *definition.Source) { o.Scope = team("") }), allRegistrable, scope.ReasonNotGranted, "spec.scope.grants.wildcards"},
		"without a parent": {makeSource(good, func(o *definition.Source) { o.Scope = team("nobody") }), allRegistrable, scope.ReasonNoParent, `no live source declares a scope named "nobody"`},
		"its test fails": {makeSource(good, func(o *definition.Source) {
			o.Files["p_test.rego"] = "package p_test\ntest_it_denies if data.p.deny[\"yes\"]"
		}), allRegistrable, ReasonTestsFailed, "1 of 1 test cases failed: p_test.rego:2: test p_test/test_it_denies failed"},
		"requires": {makeSource("# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Service}]\n" + good), allRegistrable, "", ""},
		"cannot be registered": {makeSource(good), func(policies []engine.PolicyInfo, _ *admission.Resources) error {
			require.Len(t, policies, 1)
			return errors.New("two versions")
		}, ReasonVersionConflict, "two versions"},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := gate(t, c.object, engine.NewLive(admission.BuiltinResources()), c.registrable)
			require.Equal(t, c.reason, verdict.Reason)
			require.Contains(t, verdict.Message, c.message)
			require.Equal(t, c.reason == "", verdict.Set != nil)
			if c.reason == ReasonCompileFailed || c.reason == ReasonTestsFailed {
				require.NotEmpty(t, verdict.Errors)
			}
		})
	}
}

func TestGateJudgesBesideWhatIsLive(t *testing.T) {
	live := engine.NewLive(admission.BuiltinResources())
	put := func(source definition.Source) {
		set, err := policyset.Compile(source)
		require.NoError(t, err)
		live.Put(set)
	}
	put(makeSource("package other\ndeny contains \"no\"", func(o *definition.Source) { o.Name = "other" }))
	put(makeSource(good))
	var seen int
	count := func(policies []engine.PolicyInfo, _ *admission.Resources) error { seen = len(policies); return nil }

	gate(t, makeSource("package p\ndeny contains \"changed\""), live, count)
	require.Equal(t, 2, seen, "the candidate takes the place of its own source, beside the others")

	seen = 0
	require.NotNil(t, gate(t, makeSource(good), live, count).Set)
	require.Zero(t, seen, "what is live has passed before")
}

// A scope above that is narrowed later does not take a source's good revision away, and
// yet the source says so.
func TestGateTellsOfAScopeThatWasNarrowed(t *testing.T) {
	live := engine.NewLive(admission.BuiltinResources())
	put := func(source definition.Source) {
		set, err := policyset.Compile(source)
		require.NoError(t, err)
		live.Put(set)
	}
	org := func(namespaces ...string) definition.Source {
		return makeSource("package org\ndeny contains \"no\"", func(o *definition.Source) {
			o.Name, o.Scope = "retail", hierarchy.Scope{Level: hierarchy.Org, Name: "retail", Namespaces: namespaces}
		})
	}
	child := makeSource(aboutPods, func(o *definition.Source) { o.Scope = team("retail") })
	put(org("shop-*"))
	require.False(t, gate(t, child, live, allRegistrable).OutsideScope)
	put(child)
	put(org("shop-a"))
	verdict := gate(t, child, live, allRegistrable)
	require.NotNil(t, verdict.Set)
	require.True(t, verdict.OutsideScope)
	require.Contains(t, verdict.Message, `they match "shop-b"`)
	child.Files = map[string]string{"p.rego": "package p\ndeny contains \"another\""}
	require.Nil(t, gate(t, child, live, allRegistrable).Set, "a new revision is judged")
	require.Equal(t, scope.ReasonOutsideParent, Gate{}.JudgeScope(child, live).Reason)
}

func TestGateWarnsOfWhatIsLikelyNotMeant(t *testing.T) {
	live := engine.NewLive(admission.BuiltinResources())
	match := func(kinds string) string {
		return "# METADATA\n# custom:\n#   match: {kinds: [" + kinds + "]}\n" + good
	}
	for rego, want := range map[string]string{
		good:                                    "policy p names no kinds",
		match(`{group: "", kind: Pods}`):        `p.rego:3: policy p: the cluster has no kind Pods in group "" (yet); did you mean kind Pod in group ""?`,
		match(`{group: "", kind: pod}`):         `did you mean kind Pod in group ""?`,
		match(`{group: "", kind: Deployment}`):  `the cluster has no kind Deployment in group "" (yet); did you mean kind Deployment in group "apps"?`,
		match(`{group: apps, kind: Deploymnt}`): `did you mean kind Deployment in group "apps"?`,
		match(`{group: a.example, kind: Pod2}`): `has no kind Pod2 in group "a.example" (yet); check the spelling and the group`,
		match(`{group: apps, kind: Deployment}, {group: "*", kind: "*"}`): "",
	} {
		warnings := gate(t, makeSource(rego), live, allRegistrable).Warnings
		if want == "" {
			require.Empty(t, warnings)
			continue
		}
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0].Error(), want)
	}
}
