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

// reconcilerWith returns a controller whose gate returns the given verdict.
func reconcilerWith(verdict source.Verdict, err error) *Reconciler {
	return &Reconciler{options: Options{
		Evaluate: func(context.Context, definition.Source) (source.Verdict, error) { return verdict, err },
		Readable: func(_ context.Context, kind admission.GroupVersionKind) (string, error) {
			if kind.Kind == "Secret" {
				return "Lintel may not list and watch Secrets", nil
			}
			return "", errors.New("nobody answers")
		},
	}}
}

func TestOpinions(t *testing.T) {
	atLine := definition.CompileErrorList{{File: "one.yaml", Line: 3, Message: "no"}, {Message: "of no file"}}
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
			got := reconcilerWith(c.verdict, c.err).opinionOf(t.Context(), &v1alpha1.PolicySource{}, c.files)
			require.Equal(t, c.want.places, got.places)
			require.Equal(t, c.want.unknown, got.unknown)
			require.True(t, strings.HasPrefix(got.whole, c.want.whole), got.whole)
			require.Equal(t, c.want.passed(), got.passed())
		})
	}
}

// TestUnreadableKinds: a constraint whose template reads kinds that the manager may not read is
// refused at its own line; if the permission cannot be checked, the opinion is unknown.
func TestUnreadableKinds(t *testing.T) {
	requires := func(kind string) *engine.PolicySet {
		set, err := source.Compile(definition.Source{Name: "s", Files: map[string]string{
			"p.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: " + kind + "}]\npackage p\nimport rego.v1\ndeny contains \"no\" if false\n",
		}})
		require.NoError(t, err)
		return set
	}
	got := reconcilerWith(source.Verdict{Set: requires("Secret")}, nil).opinionOf(t.Context(), &v1alpha1.PolicySource{}, nil)
	require.Len(t, got.places, 1)
	require.Equal(t, "p.rego", got.places[0].File)
	require.Equal(t, "Lintel may not list and watch Secrets", got.places[0].Message)
	require.NoError(t, got.unknown)

	got = reconcilerWith(source.Verdict{Set: requires("Service")}, nil).opinionOf(t.Context(), &v1alpha1.PolicySource{}, nil)
	require.EqualError(t, got.unknown, "nobody answers")
	require.Empty(t, got.places)
}

// TestConstraintsThatReviewNothing are accepted, and not enforced.
func TestConstraintsThatReviewNothing(t *testing.T) {
	scoped := func(point string) string {
		return "{enforcementAction: scoped, scopedEnforcementActions: [{action: deny, enforcementPoints: [{name: " + point + "}]}]}"
	}
	about := func(group, kinds string) string {
		return `{match: {kinds: [{apiGroups: ["` + group + `"], kinds: [` + kinds + `]}]}}`
	}
	for name, c := range map[string]struct{ spec, want string }{
		"at the webhook":       {scoped("validation.gatekeeper.sh"), ""},
		"everywhere":           {scoped(`"*"`), ""},
		"at the API server":    {scoped("vap.k8s.io"), "none of its enforcement points is validation.gatekeeper.sh, audit.gatekeeper.sh or *: it reviews no objects"},
		"at the audit":         {scoped("audit.gatekeeper.sh"), "audit is off; start the manager with --audit"},
		"every kind":           {"{}", ""},
		"a kind":               {about("", "Pod"), ""},
		"a kind of any group":  {about("*", "Pod"), ""},
		"any kind of a group":  {about("apps", `"*"`), ""},
		"a subresource's":      {about("autoscaling", "Scale"), ""},
		"one of two":           {about("", "Pods, Pod"), ""},
		"the resource":         {about("", "Pods"), `the cluster has none of its kinds: Pods; did you mean kind Pod in group ""?`},
		"misspelt":             {about("", "Pods, ConfigMapp"), `ConfigMapp; did you mean kind ConfigMap in group ""?`},
		"misspelt, any group":  {about("*", "Podd"), "the cluster has none of its kinds: Podd"},
		"of another group":     {about("extensions", "Deployment"), "the cluster has none of its kinds: Deployment.extensions"},
		"of an unknown group":  {about("example.com", `"*"`), "the cluster has none of its kinds: *.example.com"},
		"of a subresource, no": {about("apps", "Scale"), "the cluster has none of its kinds: Scale.apps"},
	} {
		t.Run(name, func(t *testing.T) {
			kept := newCandidates(nil, list(makeTemplate(t, "One", good)), list(makeConstraint(t, "One", "a", c.spec), makeConstraint(t, "One", "b", "{}")), nil)
			files := layoutOf(kept).files
			set, err := source.Compile(definition.Source{Name: sourceName, Files: files})
			require.NoError(t, err)
			r := reconcilerWith(source.Verdict{Set: set}, nil)
			r.options.Resources = admission.BuiltinResources
			reasons, err := r.inactive(t.Context(), &v1alpha1.PolicySource{}, kept)
			require.NoError(t, err)
			require.Empty(t, reasons["One/b"])
			if c.want == "" {
				require.Empty(t, reasons["One/a"])
				return
			}
			require.Contains(t, reasons["One/a"], c.want)
			if name == "at the audit" {
				r.options.Audits = true
				reasons, err = r.inactive(t.Context(), &v1alpha1.PolicySource{}, kept)
				require.NoError(t, err)
				require.Empty(t, reasons)
			}
		})
	}
}

func TestFirstOfEach(t *testing.T) {
	one, two := makeConstraint(t, "One", "a", "{}"), makeConstraint(t, "Two", "a", "{}")
	all := []problem{{one, "first", true}, {two, "other", false}, {one, "second", false}}
	require.Equal(t, []problem{all[0], all[1]}, firstOfEach(append([]problem{}, all...)))
}
