package source

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

const (
	goodPolicy   = "package good\n\nimport rego.v1\n\ndeny contains \"no\"\n"
	badPolicy    = "package bad\n\nimport rego.v1\n\ndeny contains nope(1)\n"
	garbled      = "package bad\n\n}"
	usesLibrary  = "package user\n\nimport rego.v1\n\nimport data.lib\n\ndeny contains \"no\" if not lib.exempt\n"
	library      = "package lib\n\nimport rego.v1\n\nexempt if input.name == \"x\"\n"
	otherLibrary = "package lib\n\nimport rego.v1\n\nexempt if input.name == \"y\"\n"

	goodTemplate = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: good}
spec:
  crd: {spec: {names: {kind: Good}}}
  targets: [{target: admission.k8s.gatekeeper.sh, rego: "package good\nviolation[{\"msg\": \"no\"}] { true }"}]
`
	goodConstraint = "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Good\nmetadata: {name: one}\nspec: {match: {kinds: [{apiGroups: [\"\"], kinds: [Pod]}]}}\n"
	goodMutator    = "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: owner}\nspec: {location: 'metadata.labels.owner', parameters: {assign: {value: me}}}\n"
	goodSuite      = "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\nmetadata: {name: s}\ntests: [{name: t, template: t.yaml, constraint: c.yaml, cases: []}]\n"
)

var (
	badTemplate = strings.Replace(goodTemplate, "{ true }", "{ nope(1) }", 1)
	badMutator  = strings.Replace(goodMutator, "metadata.labels.owner", "metadata.labels[", 1)
	badConfig   = "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec: {match: [{processes: [nope], excludedNamespaces: [kube-system]}]}\n"
)

func compileAllForms(_ context.Context, source definition.Source) (*engine.PolicySet, error) {
	return Compile(source)
}

// evaluatePartial evaluates the files of a partial source, of which some may be in force.
func evaluatePartial(t *testing.T, files, lastGood map[string]string) Verdict {
	t.Helper()
	verdict, err := Gate{Compile: compileAllForms, Registrable: allRegistrable, Test: testHere}.
		EvaluateSince(t.Context(), definition.Source{Name: "team", Files: files, Partial: true}, lastGood, engine.NewLive(admission.BuiltinResources()))
	require.NoError(t, err)
	return verdict
}

func TestFilesOfAPartialSourceAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		// out are the files that are left out, with a part of the reason.
		out map[string]string
		// refused is a part of the reason for which the revision is refused; empty if it is not.
		refused string
	}{
		"a policy with an undefined function": {map[string]string{"good.rego": goodPolicy, "bad.rego": badPolicy}, map[string]string{"bad.rego": "bad.rego:5"}, ""},
		"a policy that cannot be parsed":      {map[string]string{"good.rego": goodPolicy, "bad.rego": garbled}, map[string]string{"bad.rego": "bad.rego:3"}, ""},
		"errors of syntax hide those of types": {map[string]string{"good.rego": goodPolicy, "bad.rego": badPolicy, "worse.rego": "package worse\n\n}"},
			map[string]string{"bad.rego": "undefined function", "worse.rego": "worse.rego:3"}, ""},
		"a library, and the policy that would deny without it": {map[string]string{"good.rego": goodPolicy, "lib.rego": library + "}", "user.rego": usesLibrary},
			map[string]string{"lib.rego": "lib.rego:6", "user.rego": "depends on lib.rego"}, ""},
		"a library whose package is unknown": {map[string]string{"good.rego": goodPolicy, "lib.rego": "packag lib\nexempt if true", "user.rego": usesLibrary},
			map[string]string{"lib.rego": "lib.rego:1", "user.rego": "depends on lib.rego"}, ""},
		"a part of a package": {map[string]string{"good.rego": goodPolicy, "a.rego": "package p\n\nimport rego.v1\n\ndeny contains \"no\" if not ok\n\nok if false\n", "b.rego": "package p\n\nok if nope(1)\n"},
			map[string]string{"a.rego": "depends on b.rego", "b.rego": "b.rego:3"}, ""},
		"a data file, and the policy that reads it": {map[string]string{"good.rego": goodPolicy, "names/data.json": "{", "user.rego": "package user\n\nimport rego.v1\n\ndeny contains \"no\" if not input.name in data.names.known\n"},
			map[string]string{"names/data.json": "reading data", "user.rego": "depends on names/data.json"}, ""},
		"the tests of a policy": {map[string]string{"good.rego": goodPolicy, "bad.rego": badPolicy, "bad_test.rego": "package bad_test\n\ntest_it if data.bad.deny[\"x\"]\n"},
			map[string]string{"bad.rego": "undefined function", "bad_test.rego": "depends on bad.rego"}, ""},
		"a template, its constraint and its Suite": {map[string]string{"good.rego": goodPolicy, "t.yaml": badTemplate, "c.yaml": goodConstraint, "s.yaml": goodSuite},
			map[string]string{"t.yaml": "undefined function", "c.yaml": "depends on t.yaml", "s.yaml": "depends on"}, ""},
		"a constraint without its template": {map[string]string{"good.rego": goodPolicy, "c.yaml": goodConstraint}, map[string]string{"c.yaml": "no ConstraintTemplate"}, ""},
		"a mutator":                         {map[string]string{"t.yaml": goodTemplate, "c.yaml": goodConstraint, "m.yaml": badMutator}, map[string]string{"m.yaml": "location"}, ""},
		"both of two mutators that conflict": {map[string]string{"good.rego": goodPolicy, "m.yaml": goodMutator, "n.yaml": strings.NewReplacer("AssignMetadata", "Assign", "name: owner", "name: other", "spec: {", "spec: {applyTo: [{groups: [\"\"], versions: [v1], kinds: [Pod]}], ", "metadata.labels.owner", "spec.a.b").Replace(goodMutator),
			"o.yaml": strings.NewReplacer("AssignMetadata", "Assign", "name: owner", "name: third", "spec: {", "spec: {applyTo: [{groups: [\"\"], versions: [v1], kinds: [Pod]}], ", "metadata.labels.owner", "spec.a[b: c].d").Replace(goodMutator)},
			map[string]string{"n.yaml": "imply different types", "o.yaml": "imply different types"}, ""},
		"nothing": {map[string]string{"good.rego": goodPolicy, "t.yaml": goodTemplate}, nil, ""},

		"a Config":                  {map[string]string{"t.yaml": goodTemplate, "c.yaml": goodConstraint, "config.yaml": badConfig}, nil, "config.yaml has a Config"},
		"tests that do not compile": {map[string]string{"good.rego": goodPolicy, "good_test.rego": "package good_test\n\ntest_it if nope(1)\n"}, nil, "good_test.rego contains tests"},
		"tests that fail": {map[string]string{"good.rego": goodPolicy, "bad.rego": badPolicy, "good_test.rego": "package good_test\n\ntest_it if data.good.deny[\"yes\"]\n"},
			nil, "without the files that do not compile (bad.rego:5"},
		"every policy": {map[string]string{"bad.rego": badPolicy}, nil, "no policy is left"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict := evaluatePartial(t, c.files, nil)
			if c.refused != "" {
				require.Nil(t, verdict.Set)
				require.Contains(t, verdict.Message, c.refused)
				require.NotEmpty(t, verdict.Errors)
				return
			}
			require.NotNil(t, verdict.Set, verdict.Message)
			want := maps.Clone(c.files)
			for _, out := range verdict.LeftOut {
				require.False(t, out.LastGood)
				require.Contains(t, out.String(), c.out[out.File], out)
				require.Contains(t, c.out, out.File, out)
				delete(want, out.File)
			}
			require.Len(t, verdict.LeftOut, len(c.out))
			require.Equal(t, want, verdict.Set.Files())
			require.Len(t, verdict.WarningTexts(), len(c.out)+len(verdict.Warnings), "nothing is left out silently")
		})
	}
}

// TestAPartialSourceNeverLoosens: a file that is in force stays in force with everything that it
// depends on, or the revision is refused.
func TestAPartialSourceNeverLoosens(t *testing.T) {
	t.Parallel()
	inForce := map[string]string{"good.rego": goodPolicy, "lib.rego": library, "user.rego": usesLibrary}
	with := func(changes map[string]string) map[string]string {
		files := maps.Clone(inForce)
		for name, text := range changes {
			if files[name] = text; text == "" {
				delete(files, name)
			}
		}
		return files
	}
	changed := strings.Replace(goodPolicy, "no", "changed", 1)
	for name, c := range map[string]struct {
		files map[string]string
		// want are the files in force afterwards, and kept those with the text of the last good
		// revision; refused as above.
		want    map[string]string
		kept    []string
		refused string
	}{
		"a broken policy stays as it was, and the rest changes": {with(map[string]string{"user.rego": usesLibrary + "}", "good.rego": changed}),
			with(map[string]string{"good.rego": changed}), []string{"user.rego"}, ""},
		"the library of a broken policy stays as it was, too": {with(map[string]string{"user.rego": usesLibrary + "}", "lib.rego": otherLibrary, "good.rego": changed}),
			with(map[string]string{"good.rego": changed}), []string{"lib.rego", "user.rego"}, ""},
		"a policy that is written for a broken library stays as it was": {with(map[string]string{"lib.rego": library + "}", "user.rego": strings.Replace(usesLibrary, "not ", "", 1)}),
			inForce, []string{"lib.rego", "user.rego"}, ""},
		"a new policy that is written for a broken library is left out": {with(map[string]string{"lib.rego": library + "}", "new.rego": strings.Replace(usesLibrary, "package user", "package new", 1)}),
			inForce, []string{"lib.rego"}, ""},
		"a new broken policy is left out":      {with(map[string]string{"bad.rego": badPolicy, "good.rego": changed}), with(map[string]string{"good.rego": changed}), nil, ""},
		"a policy that is deleted":             {with(map[string]string{"bad.rego": badPolicy, "good.rego": ""}), with(map[string]string{"good.rego": ""}), nil, ""},
		"the library of a policy is deleted":   {with(map[string]string{"lib.rego": "", "user.rego": usesLibrary + "}"}), nil, nil, "depends on lib.rego, which this revision deletes"},
		"a policy lacks a rule of its library": {with(map[string]string{"lib.rego": "package lib\n\nother if true\n", "user.rego": strings.Replace(usesLibrary, "lib.exempt", "lib.exempt(1)", 1)}), inForce, []string{"lib.rego", "user.rego"}, ""},
		"a new policy that conflicts with a live one": {with(map[string]string{"twin.rego": strings.Replace(goodPolicy, "contains \"no\"", ":= \"no\"", 1)}), nil, nil,
			"in force"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict := evaluatePartial(t, c.files, inForce)
			if c.refused != "" {
				require.Nil(t, verdict.Set)
				require.Contains(t, verdict.Message, c.refused)
				return
			}
			require.NotNil(t, verdict.Set, verdict.Message)
			require.Equal(t, c.want, verdict.Set.Files())
			var kept []string
			for _, out := range verdict.LeftOut {
				if out.LastGood {
					kept = append(kept, out.File)
					require.Contains(t, out.String(), "stays in force")
				}
			}
			require.Equal(t, c.kept, kept)
			again := evaluatePartial(t, c.files, verdict.Set.Files())
			require.NotNil(t, again.Set)
			require.Equal(t, verdict.Set.Files(), again.Set.Files(), "the verdict is the same once the revision is live")
		})
	}
}
