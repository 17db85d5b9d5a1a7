package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// registries denies images of other registries than those of a DataSource.
const registries = `# METADATA
# custom:
#   external: [registries]
package registries
deny contains msg if {
	some c in input.request.object.spec.containers
	not c.image in data.external.registries
	msg := sprintf("image %s is not allowed", [c.image])
}`

func externalData(t testing.TB, name, text string) *external.Data {
	t.Helper()
	data, err := external.New(name, "r1", text)
	require.NoError(t, err)
	return data
}

func TestPoliciesReadExternalData(t *testing.T) {
	t.Parallel()
	set := compile(t, registries)
	require.Equal(t, []string{"registries"}, set.External())
	validate := func(data external.Set) *Decision {
		return snapshotOf(set).WithExternal(data).Validate(context.Background(), makeReview(t, pod), Options{})
	}
	require.Empty(t, validate(external.Set{"registries": externalData(t, "registries", `["nginx"]`)}).Denials)
	decision := validate(external.Set{"registries": externalData(t, "registries", `["busybox"]`)})
	require.Len(t, decision.Denials, 1)
	require.Equal(t, "image nginx is not allowed", decision.Denials[0].Words)
	require.False(t, decision.Denials[0].Error)
}

// TestMissingExternalDataIsNotEmptyData: a rule with `not` would otherwise be true, or never fire.
func TestMissingExternalDataIsNotEmptyData(t *testing.T) {
	t.Parallel()
	other := map[string]string{
		"policy.rego": registries,
		"dynamic.rego": `package dynamic
deny contains "b" if not data.external[concat("", ["regis", "tries"])].x`,
		"whole.rego": "package whole\ndeny contains \"c\" if count(data.external) == 0",
	}
	for _, c := range []struct {
		policy    definition.FailurePolicy
		denied    int
		warned    int
		undecided int
		offline   bool
	}{{definition.Fail, 3, 0, 0, false}, {definition.Ignore, 0, 3, 0, false}, {definition.Fail, 2, 0, 1, true}} {
		set := compileSource(t, definition.Source{Name: "test", Files: other, FailurePolicy: c.policy})
		for _, data := range []external.Set{nil, {"another": externalData(t, "another", `[1]`)}} {
			decision := snapshotOf(set).WithExternal(data).Validate(context.Background(), makeReview(t, pod), Options{Offline: c.offline})
			require.Len(t, decision.Denials, c.denied)
			require.Len(t, decision.Warnings, c.warned)
			require.Len(t, decision.Undecided, c.undecided)
			for _, finding := range append(decision.Denials, decision.Warnings...) {
				require.True(t, finding.Error)
				require.Contains(t, finding.Words, "DataSource registries does not exist or has no data yet")
			}
			for _, one := range decision.Undecided {
				require.Contains(t, one.Reason, "give it with --external registries=FILE")
			}
		}
	}
}

func TestExternalDataIsPartOfTheDigest(t *testing.T) {
	t.Parallel()
	plain := snapshotOf(compile(t, registries))
	with := func(text string) *Snapshot {
		return plain.WithExternal(external.Set{"registries": externalData(t, "registries", text), "unread": externalData(t, "unread", "[]")})
	}
	require.NotEqual(t, with(`["a"]`).Digest(), with(`["b"]`).Digest())
	require.NotEqual(t, plain.Digest(), with(`["a"]`).Digest())
	require.Equal(t, with(`["a"]`).Digest(), plain.WithExternal(external.Set{"registries": externalData(t, "registries", `["a"]`)}).Digest(), "no policy reads the other")
	require.Equal(t, with(`["a"]`).PolicyDigest(), with(`["b"]`).PolicyDigest())
	pods := admission.GroupVersionKind{Kind: "Pod"}
	require.True(t, with(`["a"]`).AuditsAlike(with(`["a"]`), pods))
	require.False(t, with(`["a"]`).AuditsAlike(with(`["b"]`), pods))
}

func TestLiveKeepsExternalData(t *testing.T) {
	t.Parallel()
	live := NewLive(admission.BuiltinResources())
	live.PutExternal(externalData(t, "registries", `["nginx"]`))
	set := compile(t, registries)
	live.Put(set)
	live.Publish()
	denied := func(s *Snapshot) int {
		return len(s.Validate(context.Background(), makeReview(t, pod), Options{}).Denials)
	}
	before := live.Snapshot()
	require.Zero(t, denied(before))
	require.Zero(t, denied(live.With(set)), "the gate has the data, too")
	live.PutExternal(externalData(t, "registries", `["busybox"]`))
	require.Equal(t, 1, denied(live.Snapshot()))
	require.Zero(t, denied(before), "a snapshot never changes")
	live.RemoveExternal("registries")
	require.True(t, live.Snapshot().Validate(context.Background(), makeReview(t, pod), Options{}).Denials[0].Error)
}

func TestExternalDataOfLowerScopes(t *testing.T) {
	t.Parallel()
	data := external.Set{"registries": externalData(t, "registries", `["nginx"]`)}
	for granted, denied := range map[bool]int{true: 0, false: 1} {
		above := definition.Source{Name: "above", Files: one("package above\nwarn contains \"x\" if false")}
		if granted {
			above.Scope.Grants.External = []string{"registries"}
		}
		team := definition.Source{Name: "team", Files: one(registries), Scope: hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop"}}}
		decision := snapshotOf(compileSource(t, above), compileSource(t, team)).WithExternal(data).Validate(context.Background(), makeReview(t, pod), Options{})
		require.Len(t, decision.Denials, denied)
		if denied > 0 {
			require.Contains(t, decision.Denials[0].Words, "spec.scope.grants.external")
		}
	}
}

func TestExternalDeclarations(t *testing.T) {
	t.Parallel()
	head := func(names string) string { return "# METADATA\n# custom:\n#   external: " + names + "\n" }
	for name, c := range map[string]struct {
		files map[string]string
		want  string // "" compiles
	}{
		"declared":            {one(registries), ""},
		"not declared":        {one("package p\ndeny contains \"x\" if data.external.registries.a"), `data.external["registries"] is not named by any policy of this source; add external: [registries]`},
		"a computed name":     {one("package p\ndeny contains \"x\" if not data.external[input.name].a"), "data.external is read, and no policy of this source names a DataSource"},
		"all of them":         {one("package p\ndeny contains \"x\" if count(data.external) == 0"), "data.external is read, and no policy of this source names a DataSource"},
		"misspelled":          {one(strings.Replace(registries, "external: [", "externl: [", 1)), "custom.externl: unknown; did you mean external?"},
		"an invalid name":     {one(head(`["A b"]`) + "package p\ndeny contains \"x\""), `custom.external[0]: "A b" is not the name of a DataSource`},
		"not a list":          {one(head("registries") + "package p\ndeny contains \"x\""), "custom.external: is a string where a list belongs"},
		"an invalid read":     {one("package p\ndeny contains \"x\" if data.external[\"A b\"].a"), `"A b" is not the name of a DataSource`},
		"a library":           {one(head("[a]") + "package p\nx := data.external.a"), "has none of deny, warn, patch, defaults"},
		"a package there":     {one("package external.registries\ndeny contains \"x\""), "packages under data.external are reserved"},
		"data there":          {map[string]string{"p.rego": "package p\ndeny contains \"x\"", "data.yaml": "external: {registries: []}"}, "data.external is reserved"},
		"data in its folder":  {map[string]string{"p.rego": "package p\ndeny contains \"x\"", "external/data.yaml": "registries: []"}, "data.external is reserved"},
		"a library of policy": {map[string]string{"p.rego": registries, "lib.rego": "package lib\nall := data.external.registries"}, ""},
	} {
		_, err := policyset.Compile(definition.Source{Name: "test", Files: c.files})
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
	}
}

// TestExternalDeclarationsAreCheckedIncrementally: an unchanged library reads what a changed policy
// no longer declares.
func TestExternalDeclarationsAreCheckedIncrementally(t *testing.T) {
	t.Parallel()
	files := map[string]string{"policy.rego": registries, "lib.rego": "package lib\nall := data.external.registries"}
	for _, name := range []string{"a", "b", "c"} {
		files[name+".rego"] = "package " + name + "\ndeny contains \"x\" if false"
	}
	before := compileSource(t, definition.Source{Name: "test", Files: files})
	files = map[string]string{"policy.rego": "package registries\ndeny contains \"x\" if false", "lib.rego": files["lib.rego"], "a.rego": files["a.rego"], "b.rego": files["b.rego"], "c.rego": files["c.rego"]}
	_, err := policyset.Recompile(definition.Source{Name: "test", Files: files}, before)
	require.ErrorContains(t, err, "is not named by any policy of this source")
	files["policy.rego"] = registries + "\n"
	after, err := policyset.Recompile(definition.Source{Name: "test", Files: files}, before)
	require.NoError(t, err)
	require.Equal(t, []string{"registries"}, after.External())
}
