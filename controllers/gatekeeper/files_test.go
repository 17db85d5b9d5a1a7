package gatekeeper

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/engine"
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

func compiles(files map[string]string) error {
	_, err := source.Compile(engine.Source{Name: "s", Files: files})
	return err
}

func list(objects ...unstructured.Unstructured) []unstructured.Unstructured { return objects }

func TestFilesOfTheCluster(t *testing.T) {
	settings := list(
		parse(t, "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec: {match: [{excludedNamespaces: [a], processes: ['*']}]}\n"),
		parse(t, "apiVersion: syncset.gatekeeper.sh/v1alpha1\nkind: SyncSet\nmetadata: {name: wrong}\nspec: {gvks: [{kind: '*'}]}\n"),
	)
	templates := list(makeTemplate(t, "Two", good), makeTemplate(t, "One", good), makeTemplate(t, "Broken", "package x }"), makeTemplate(t, "Unused", good))
	constraints := list(
		makeConstraint(t, "Two", "b", "{}"), makeConstraint(t, "One", "c", "{parameters: {x: why}}"), makeConstraint(t, "One", "a", "{parameters: {x: text}}"),
		makeConstraint(t, "One", "bad", "{parameters: {x: 1}}"), makeConstraint(t, "Broken", "a", "{}"),
	)
	files, problems := filesOf(settings, templates, constraints, compiles)
	require.Len(t, files, 3)
	require.Contains(t, files["settings.yaml"], "kind: Config")
	require.Equal(t, 2, strings.Count(files["one.yaml"], "---\n"), "a template and two constraints")
	require.Less(t, strings.Index(files["one.yaml"], "name: a"), strings.Index(files["one.yaml"], "name: c"))
	for _, unwanted := range []string{"status", "resourceVersion", "last-applied"} {
		require.NotContains(t, files["one.yaml"], unwanted)
	}
	require.Contains(t, files["one.yaml"], "metadata.gatekeeper.sh/title: T")
	set, err := source.Compile(engine.Source{Name: "s", Files: files})
	require.NoError(t, err, "what is left compiles together")
	require.Equal(t, 3, set.Policies())

	var names []string
	for _, p := range problems {
		names = append(names, p.object.GetKind()+"/"+p.object.GetName())
		require.NotEmpty(t, p.message)
	}
	require.Equal(t, []string{"SyncSet/wrong", "ConstraintTemplate/broken", "One/bad"}, names)

	again, _ := filesOf(settings, templates, constraints, compiles)
	require.Equal(t, files, again)
	none, _ := filesOf(settings, templates, nil, compiles)
	require.Empty(t, none, "without constraints there is nothing to enforce")
}

func TestWhatSaysNothingAboutATemplateKeepsItIn(t *testing.T) {
	asked := 0
	check := checker(func(engine.Source) error {
		asked++
		return errors.New("the machine is busy")
	})
	require.NoError(t, check(map[string]string{"a": "b"}))
	check = checker(func(engine.Source) error {
		asked++
		return engine.CompileErrors{{Message: "wrong"}}
	})
	require.Error(t, check(map[string]string{"a": "b"}))
	require.Error(t, check(map[string]string{"a": "b"}))
	require.Equal(t, 2, asked, "the same files are compiled once")
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
}
