package policy

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// makeSource is a PolicySource with one inline file.
func makeSource(rego string, change ...func(*v1alpha1.PolicySource)) *v1alpha1.PolicySource {
	object := &v1alpha1.PolicySource{
		ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "1", Generation: 3},
		Spec:       v1alpha1.PolicySourceSpec{Inline: &v1alpha1.InlineOrigin{Files: map[string]string{"p.rego": rego}}},
	}
	for _, apply := range change {
		apply(object)
	}
	return object
}

const good = "package p\ndeny contains \"no\""

func allRegistrable([]engine.PolicyInfo, *engine.Resources) error { return nil }

func compileHere(_ context.Context, source engine.Source) (*engine.PolicySet, error) {
	return engine.Compile(source)
}

// gate is Gate where a verdict is sure.
func gate(t *testing.T, object *v1alpha1.PolicySource, live *engine.Live, registrable func([]engine.PolicyInfo, *engine.Resources) error) Verdict {
	t.Helper()
	verdict, err := Gate(t.Context(), object, live, Checks{Compile: compileHere, Registrable: registrable})
	require.NoError(t, err)
	return verdict
}

func TestNoVerdictWithoutACompiler(t *testing.T) {
	_, err := Gate(t.Context(), makeSource(good), engine.NewLive(engine.BuiltinResources()), Checks{
		Compile: func(context.Context, engine.Source) (*engine.PolicySet, error) { return nil, errors.New("no process") },
	})
	require.ErrorContains(t, err, "no process")
}

func TestGate(t *testing.T) {
	for name, c := range map[string]struct {
		object      *v1alpha1.PolicySource
		registrable func([]engine.PolicyInfo, *engine.Resources) error
		reason      string // empty: it passes
		message     string
	}{
		"good":             {makeSource(good), allRegistrable, "", ""},
		"enterprise":       {makeSource(good, func(o *v1alpha1.PolicySource) { o.Spec.Scope.Level = v1alpha1.ScopeLevelEnterprise }), allRegistrable, "", ""},
		"does not compile": {makeSource("package p\n}"), allRegistrable, ReasonCompileFailed, "p.rego:2:1"},
		"wrong parameters": {makeSource(good, func(o *v1alpha1.PolicySource) { o.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(`[1]`)} }), allRegistrable, ReasonCompileFailed, "parameters: not an object"},
		"no policies":      {makeSource("package p\nx := 1"), allRegistrable, ReasonNoPolicies, "no package has a rule deny"},
		"git":              {makeSource(good, func(o *v1alpha1.PolicySource) { o.Spec.Inline, o.Spec.Git = nil, &v1alpha1.GitOrigin{} }), allRegistrable, ReasonOriginNotServed, "only inline origins"},
		"narrower scope":   {makeSource(good, func(o *v1alpha1.PolicySource) { o.Spec.Scope.Level = v1alpha1.ScopeLevelTeam }), allRegistrable, ReasonScopeNotServed, "scope level team"},
		"requires":         {makeSource("# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Service}]\n" + good), allRegistrable, "", ""},
		"cannot be registered": {makeSource(good), func(policies []engine.PolicyInfo, _ *engine.Resources) error {
			require.Len(t, policies, 1)
			return errors.New("two versions")
		}, ReasonVersionConflict, "two versions"},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := gate(t, c.object, engine.NewLive(engine.BuiltinResources()), c.registrable)
			require.Equal(t, c.reason, verdict.Reason)
			require.Contains(t, verdict.Message, c.message)
			require.Equal(t, c.reason == "", verdict.Set != nil)
			if c.reason == ReasonCompileFailed {
				require.NotEmpty(t, verdict.Errors)
			}
		})
	}
}

func TestGateJudgesBesideWhatIsLive(t *testing.T) {
	live := engine.NewLive(engine.BuiltinResources())
	put := func(object *v1alpha1.PolicySource) {
		set, err := engine.Compile(source.FromPolicySource(object, object.Spec.Inline.Files, ""))
		require.NoError(t, err)
		live.Put(set)
	}
	put(makeSource(good, func(o *v1alpha1.PolicySource) { o.Name = "other" }))
	put(makeSource(good))
	var seen int
	count := func(policies []engine.PolicyInfo, _ *engine.Resources) error { seen = len(policies); return nil }

	gate(t, makeSource("package p\ndeny contains \"changed\""), live, count)
	require.Equal(t, 2, seen, "the candidate takes the place of its own source, beside the others")

	seen = 0
	require.NotNil(t, gate(t, makeSource(good), live, count).Set)
	require.Zero(t, seen, "what is live has passed before")
}

func TestGateWarnsOfWhatIsLikelyNotMeant(t *testing.T) {
	live := engine.NewLive(engine.BuiltinResources())
	match := func(kinds string) string {
		return "# METADATA\n# custom:\n#   match: {kinds: [" + kinds + "]}\n" + good
	}
	for rego, want := range map[string]string{
		good:                                   "policy p names no kinds",
		match(`{group: "", kind: Pods}`):       `the cluster has no kind Pods in group ""`,
		match(`{group: "", kind: Deployment}`): `the cluster has no kind Deployment in group ""`,
		match(`{group: apps, kind: Deployment}, {group: "*", kind: "*"}`): "",
	} {
		warnings := gate(t, makeSource(rego), live, allRegistrable).Warnings
		if want == "" {
			require.Empty(t, warnings)
			continue
		}
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0], want)
	}
}
