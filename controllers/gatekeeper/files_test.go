package gatekeeper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

func parse(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	object := unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
	return object
}

func makeTemplate(t *testing.T, kind, rego string) unstructured.Unstructured {
	return parse(t, `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: `+strings.ToLower(kind)+`
  uid: u
  resourceVersion: "7"
  annotations: {metadata.gatekeeper.sh/title: T, kubectl.kubernetes.io/last-applied-configuration: long}
spec:
  crd: {spec: {names: {kind: `+kind+`}, validation: {openAPIV3Schema: {type: object, properties: {x: {type: string}}}}}}
  targets: [{target: admission.k8s.gatekeeper.sh, rego: '`+rego+`'}]
status: {created: true}
`)
}

func makeConstraint(t *testing.T, kind, name, spec string) unstructured.Unstructured {
	return parse(t, "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: "+kind+"\nmetadata: {name: "+name+"}\nspec: "+spec+"\nstatus: {totalViolations: 7}\n")
}

const good = `package x violation[{"msg": "no"}] { input.parameters.x }`

func list(objects ...unstructured.Unstructured) []unstructured.Unstructured { return objects }

// evaluate is the gate without a cluster, and with a constraint that conflicts with all others.
func evaluate(files map[string]string) opinion {
	set, err := source.Compile(definition.Source{Name: "s", Files: files})
	if errs := (definition.CompileErrorList{}); errors.As(err, &errs) {
		return opinion{places: errs}
	}
	all := fmt.Sprint(files)
	switch {
	case strings.Contains(all, "busy"):
		return opinion{unknown: errors.New("the machine is busy")}
	case strings.Contains(all, "name: quarrels") && set.Policies() > 1:
		return opinion{whole: "two want different things"}
	}
	return opinion{}
}

func messages(problems []problem) map[string]string {
	out := map[string]string{}
	for _, p := range problems {
		out[id(p.object)] = p.text()
	}
	return out
}

func TestFilesOfTheCluster(t *testing.T) {
	settings := list(
		parse(t, "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec: {match: [{excludedNamespaces: [a], processes: ['*']}]}\n"),
		parse(t, "apiVersion: syncset.gatekeeper.sh/v1alpha1\nkind: SyncSet\nmetadata: {name: wrong}\nspec: {gvks: [{kind: '*'}]}\n"),
	)
	templates := list(makeTemplate(t, "Two", good), makeTemplate(t, "One", good), makeTemplate(t, "Broken", "package x }"), makeTemplate(t, "Settings", good))
	constraints := list(
		makeConstraint(t, "Two", "b", "{}"), makeConstraint(t, "One", "c", "{parameters: {x: why}}"), makeConstraint(t, "One", "a", "{parameters: {x: text}}"),
		makeConstraint(t, "One", "bad", "{parameters: {x: 1}}"), makeConstraint(t, "Broken", "a", "{}"), makeConstraint(t, "Two", "quarrels", "{}"),
	)
	all := newCandidates(settings, templates, constraints, nil)
	kept, problems := choose(all, evaluate)
	files := layoutOf(kept).files
	require.Len(t, files, 4)
	require.Contains(t, files[settingsFile], "kind: Config")
	require.Contains(t, files["settings.yaml"], "kind: Settings", "a template of that name")
	require.Equal(t, 2, strings.Count(files["one.yaml"], "---\n"), "a template and two constraints")
	require.Less(t, strings.Index(files["one.yaml"], "name: a"), strings.Index(files["one.yaml"], "name: c"))
	for _, unwanted := range []string{"status", "resourceVersion", "last-applied"} {
		require.NotContains(t, files["one.yaml"], unwanted)
	}
	require.Contains(t, files["one.yaml"], "metadata.gatekeeper.sh/title: T")
	set, err := source.Compile(definition.Source{Name: "s", Files: files})
	require.NoError(t, err, "what is left compiles together")
	require.Equal(t, 3, set.Policies(), "one that is in the way of all, and what is wrong, holds nobody else up")

	said := messages(problems)
	require.Len(t, said, 5)
	require.Contains(t, said["SyncSet/wrong"], "name one group, version and kind")
	require.Contains(t, said["ConstraintTemplate/broken"], "broken.yaml:")
	require.Contains(t, said["Broken/a"], "its ConstraintTemplate is not enforced: broken.yaml:")
	require.Contains(t, said["One/bad"], "(by the schema of ConstraintTemplate one)")
	require.Equal(t, "two want different things", said["Two/quarrels"])

	again, _ := choose(newCandidates(settings, templates, constraints, files), evaluate)
	require.Equal(t, files, layoutOf(again).files)
	require.False(t, hasEffect(newCandidates(settings, templates, nil, nil)), "without constraints there is nothing to enforce")
}

// The API server accepts every kind without a spec, which is not the same as spec: null.
func TestObjectsWithoutSpec(t *testing.T) {
	without := func(object unstructured.Unstructured) unstructured.Unstructured {
		delete(object.Object, "spec")
		return object
	}
	settings := list(
		without(parse(t, "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\n")),
		without(parse(t, "apiVersion: syncset.gatekeeper.sh/v1alpha1\nkind: SyncSet\nmetadata: {name: none}\n")),
	)
	templates := list(makeTemplate(t, "One", `package x violation[{"msg": "no"}] { input.review.object.x }`))
	constraints := list(without(makeConstraint(t, "One", "everything", "{}")))
	kept, problems := choose(newCandidates(settings, templates, constraints, nil), evaluate)
	require.Empty(t, messages(problems))
	require.Len(t, kept, 4)
	set, err := source.Compile(definition.Source{Name: "s", Files: layoutOf(kept).files})
	require.NoError(t, err)
	require.Equal(t, 1, set.Policies())
}

func TestWhatWasInForceStaysUntilItsChangeCanBe(t *testing.T) {
	templates := list(makeTemplate(t, "One", good))
	before := layoutOf(newCandidates(nil, templates, list(makeConstraint(t, "One", "a", "{parameters: {x: text}}")), nil)).files
	changed := list(makeConstraint(t, "One", "a", "{parameters: {x: 1}}"))
	kept, problems := choose(newCandidates(nil, templates, changed, before), evaluate)
	require.Equal(t, before, layoutOf(kept).files)
	require.Contains(t, messages(problems)["One/a"], "must be of type string")
	require.Contains(t, messages(problems)["One/a"], "; its previous version stays in force")

	kept, problems = choose(newCandidates(nil, list(makeTemplate(t, "One", "package x }")), changed, before), evaluate)
	require.Equal(t, before, layoutOf(kept).files, "template and constraint were broken at once")
	require.Len(t, messages(problems), 2)

	kept, problems = choose(newCandidates(nil, templates, nil, before), evaluate)
	require.Len(t, kept, 1, "what is deleted goes")
	require.Empty(t, problems)
}

func TestWhatCannotBeFoundOut(t *testing.T) {
	templates := list(makeTemplate(t, "One", good))
	busy := makeConstraint(t, "One", "busy", "{parameters: {x: text}}")
	kept, problems := choose(newCandidates(nil, templates, list(busy), nil), evaluate)
	require.Len(t, kept, 1)
	require.Contains(t, messages(problems)["One/busy"], "not evaluated, Lintel retries: the machine is busy")

	before := layoutOf(newCandidates(nil, templates, list(busy), nil)).files
	kept, problems = choose(newCandidates(nil, templates, list(busy), before), evaluate)
	require.Len(t, kept, 2, "nothing is known against what is in force")
	require.Empty(t, problems)
}

func TestTheEntryInAStatus(t *testing.T) {
	constraint := makeConstraint(t, "One", "a", "{}")
	constraint.SetUID("u")
	constraint.SetGeneration(3)
	others := []any{map[string]any{"id": "gatekeeper-0", "enforced": true}}
	require.NoError(t, unstructured.SetNestedSlice(constraint.Object, others, "status", "byPod"))
	entry := entryOf(constraint, "wrong")
	require.Equal(t, map[string]any{
		"id": "lintel", "constraintUID": "u", "enforced": false, "observedGeneration": int64(3), "operations": []any{"webhook"},
		"errors": []any{map[string]any{"code": "not_enforced", "message": "wrong"}},
	}, entry)
	list, was := statusWith(constraint, entry)
	require.Nil(t, was)
	require.Equal(t, append(others, entry), list, "those of Gatekeeper stay")
	require.NoError(t, unstructured.SetNestedSlice(constraint.Object, list, "status", "byPod"))
	list, was = statusWith(constraint, entryOf(constraint, ""))
	require.True(t, sameJSON(was, entry))
	require.Len(t, list, 2)
	require.Equal(t, true, list[1].(map[string]any)["enforced"])
}

// TestTemplatesAreCreatedIfServed: status.created is true if one entry has no errors.
func TestTemplatesAreCreatedIfServed(t *testing.T) {
	fine, wrong := map[string]any{"id": "gatekeeper-0"}, map[string]any{"id": "gatekeeper-0", "errors": []any{map[string]any{"code": "create_error"}}}
	for name, c := range map[string]struct {
		others  []any
		message string
		want    bool
	}{
		"accepted":                    {nil, "", true},
		"refused":                     {nil, "wrong", false},
		"refused by Gatekeeper alone": {[]any{wrong}, "", true},
		"refused by Lintel alone":     {[]any{fine}, "wrong", true},
		"refused by both":             {[]any{wrong}, "wrong", false},
	} {
		t.Run(name, func(t *testing.T) {
			template := makeTemplate(t, "One", good)
			template.SetUID("u")
			require.NoError(t, unstructured.SetNestedField(template.Object, true, "status", "created"), "as an earlier version wrote it")
			require.NoError(t, unstructured.SetNestedSlice(template.Object, c.others, "status", "byPod"))
			stored := template.DeepCopy()
			list, _ := statusWith(template, entryOf(template, c.message))
			require.NoError(t, unstructured.SetNestedSlice(stored.Object, list, "status", "byPod"))
			for _, before := range []*unstructured.Unstructured{&template, stored} {
				writer := fake.NewClientBuilder().WithObjects(before.DeepCopy()).WithStatusSubresource(before).Build()
				r := &Reconciler{client: writer, statuses: map[types.UID]writtenStatus{}}
				object := before.DeepCopy()
				require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(object), object))
				require.NoError(t, r.reportTo(t.Context(), *object, c.message))
				require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(object), object))
				created, _, err := unstructured.NestedBool(object.Object, "status", "created")
				require.NoError(t, err)
				require.Equal(t, c.want, created)
			}
		})
	}
}

func TestTheKindOfConstraints(t *testing.T) {
	crd := crdOf(makeTemplate(t, "One", good), true)
	require.Equal(t, "one.constraints.gatekeeper.sh", crd.GetName())
	require.Equal(t, "one", crd.GetOwnerReferences()[0].Name)
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	require.NoError(t, err)
	require.Len(t, versions, 2)
	path := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "parameters", "properties", "x", "type"}
	kind, _, err := unstructured.NestedString(versions[0].(map[string]any), path...)
	require.NoError(t, err)
	require.Equal(t, "string", kind)
	versions, _, _ = unstructured.NestedSlice(crdOf(makeTemplate(t, "One", good), false).Object, "spec", "versions")
	_, found, _ := unstructured.NestedString(versions[0].(map[string]any), path...)
	require.False(t, found)
	columns, _, err := unstructured.NestedSlice(versions[0].(map[string]any), "additionalPrinterColumns")
	require.NoError(t, err)
	require.Len(t, columns, 2)

	legacy := makeTemplate(t, "One", good)
	require.NoError(t, unstructured.SetNestedField(legacy.Object, true, "spec", "crd", "spec", "validation", "legacySchema"))
	versions, _, _ = unstructured.NestedSlice(crdOf(legacy, true).Object, "spec", "versions")
	kind, _, err = unstructured.NestedString(versions[0].(map[string]any), path...)
	require.NoError(t, err)
	require.Equal(t, "string", kind)
	path = []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "parameters", "x-kubernetes-preserve-unknown-fields"}
	kept, _, err := unstructured.NestedBool(versions[0].(map[string]any), path...)
	require.NoError(t, err)
	require.True(t, kept)
}

func TestLegacySchemasKeepUnknownFields(t *testing.T) {
	schema := map[string]any{
		"type": "object", "properties": map[string]any{
			"list": map[string]any{"type": "array", "items": map[string]any{"properties": map[string]any{"name": map[string]any{"type": "string"}}}},
			"map":  map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "object"}},
		},
	}
	before := fmt.Sprint(schema)
	require.Equal(t, map[string]any{
		"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": map[string]any{
			"list": map[string]any{"type": "array", "items": map[string]any{
				"x-kubernetes-preserve-unknown-fields": true, "properties": map[string]any{"name": map[string]any{"type": "string"}},
			}},
			"map": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				"additionalProperties": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			},
		},
	}, withUnknownFields(schema))
	require.Equal(t, before, fmt.Sprint(schema), "the template's own is not changed")
}

func TestPlacesInAFileAreOfItsCandidates(t *testing.T) {
	first, second := &candidate{text: "first"}, &candidate{text: "second"}
	l := layout{starts: map[string][]start{"a.yaml": {{5, first}, {10, second}}}}
	for line, want := range map[int]*candidate{1: first, 5: first, 9: first, 10: second, 30: second} {
		require.Same(t, want, l.at("a.yaml", line), line)
	}
	require.Nil(t, l.at("b.yaml", 1))
}

// TestConflictingMutators: as in Gatekeeper, neither of two mutators with conflicting locations is
// applied, whichever of them came or changed last.
func TestConflictingMutators(t *testing.T) {
	mutator := func(name, location string) unstructured.Unstructured {
		return parse(t, "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: "+name+"}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: '"+location+"', parameters: {assign: {value: x}}}\n")
	}
	one, two, other := mutator("one", "spec.x.y"), mutator("two", "spec.x[name: z].y"), mutator("other", "spec.z")
	for name, last := range map[string]map[string]string{
		"both are new":         nil,
		"the first is present": layoutOf(newCandidates(list(one, other), nil, nil, nil)).files,
		"the second is":        layoutOf(newCandidates(list(two, other), nil, nil, nil)).files,
		"the second changes":   layoutOf(newCandidates(list(one, mutator("two", "spec.v"), other), nil, nil, nil)).files,
		"the first changes":    layoutOf(newCandidates(list(mutator("one", "spec.v"), two, other), nil, nil, nil)).files,
	} {
		t.Run(name, func(t *testing.T) {
			kept, problems := choose(newCandidates(list(one, two, other), nil, nil, last), evaluate)
			require.Len(t, kept, 1)
			require.Equal(t, "other", kept[0].object.GetName())
			found := messages(problems)
			require.Len(t, found, 2)
			require.Contains(t, found["Assign/one"], "its location and that of Assign/two imply different types at spec.x; neither is applied")
			require.Contains(t, found["Assign/two"], "its location and that of Assign/one imply different types at spec.x; neither is applied")
		})
	}
	kept, problems := choose(newCandidates(list(one, other), nil, nil, nil), evaluate)
	require.Len(t, kept, 2, "the other is deleted")
	require.Empty(t, problems)
}
