package gatekeeper

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// judging is a controller whose gate gives a verdict.
func judging(verdict source.Verdict, err error) *Reconciler {
	return &Reconciler{options: Options{
		Judge: func(context.Context, definition.Source) (source.Verdict, error) { return verdict, err },
		Readable: func(_ context.Context, kind admission.GroupVersionKind) (string, error) {
			if kind.Kind == "Secret" {
				return "Lintel may not list and watch Secrets", nil
			}
			return "", errors.New("nobody answers")
		},
	}}
}

func TestOpinions(t *testing.T) {
	atLine := definition.CompileErrors{{File: "one.yaml", Line: 3, Message: "no"}, {Message: "of no file"}}
	small := map[string]string{"one.yaml": "kind: One"}
	for name, c := range map[string]struct {
		files   map[string]string
		verdict source.Verdict
		err     error
		want    opinion
	}{
		"too large":        {map[string]string{"one.yaml": strings.Repeat("x", maxSourceBytes)}, source.Verdict{Reason: source.ReasonNoPolicies}, nil, opinion{whole: "there is no room for it"}},
		"just not":         {map[string]string{"one.yaml": strings.Repeat("x", maxSourceBytes-len("one.yaml"))}, source.Verdict{Reason: source.ReasonNoPolicies}, nil, opinion{}},
		"without policies": {small, source.Verdict{Reason: source.ReasonNoPolicies}, nil, opinion{}},
		"at a place":       {small, source.Verdict{Errors: atLine}, nil, opinion{places: atLine[:1]}},
		"as a whole":       {small, source.Verdict{Message: "all of it"}, nil, opinion{whole: "all of it"}},
		"without answer":   {small, source.Verdict{}, context.DeadlineExceeded, opinion{unknown: context.DeadlineExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			got := judging(c.verdict, c.err).opinionOf(t.Context(), &v1alpha1.PolicySource{}, c.files)
			require.Equal(t, c.want.places, got.places)
			require.Equal(t, c.want.unknown, got.unknown)
			require.True(t, strings.HasPrefix(got.whole, c.want.whole), got.whole)
			require.Equal(t, c.want.fine(), got.fine())
		})
	}
}

// TestUnreadableKinds: a constraint whose template reads what may not be read stays out at
// its place; where that cannot be found out, nothing is known.
func TestUnreadableKinds(t *testing.T) {
	requires := func(kind string) *engine.PolicySet {
		set, err := source.Compile(definition.Source{Name: "s", Files: map[string]string{
			"p.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: " + kind + "}]\npackage p\nimport rego.v1\ndeny contains \"no\" if false\n",
		}})
		require.NoError(t, err)
		return set
	}
	got := judging(source.Verdict{Set: requires("Secret")}, nil).opinionOf(t.Context(), &v1alpha1.PolicySource{}, nil)
	require.Len(t, got.places, 1)
	require.Equal(t, "p.rego", got.places[0].File)
	require.Equal(t, "Lintel may not list and watch Secrets", got.places[0].Message)
	require.NoError(t, got.unknown)

	got = judging(source.Verdict{Set: requires("Service")}, nil).opinionOf(t.Context(), &v1alpha1.PolicySource{}, nil)
	require.EqualError(t, got.unknown, "nobody answers")
	require.Empty(t, got.places)
}

func TestFirstOfEach(t *testing.T) {
	one, two := makeConstraint(t, "One", "a", "{}"), makeConstraint(t, "Two", "a", "{}")
	all := []problem{{one, "first", true}, {two, "other", false}, {one, "second", false}}
	require.Equal(t, []problem{all[0], all[1]}, firstOfEach(append([]problem{}, all...)))
}
