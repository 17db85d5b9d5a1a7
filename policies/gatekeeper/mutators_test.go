package gatekeeper

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// mutatorText is a mutator for Pods.
func mutatorText(kind, name, location, parameters string) string {
	applyTo := "  applyTo: [{groups: [\"\"], versions: [v1], kinds: [Pod]}]\n"
	if kind == "AssignMetadata" {
		applyTo = ""
	}
	return fmt.Sprintf("apiVersion: mutations.gatekeeper.sh/v1\nkind: %s\nmetadata: {name: %s}\nspec:\n%s  location: '%s'\n  parameters: %s\n",
		kind, name, applyTo, location, parameters)
}

func TestMutatorErrors(t *testing.T) {
	t.Parallel()
	value := "{assign: {value: x}}"
	for name, c := range map[string]struct {
		text string
		want string // the beginning of the error
	}{
		"unknown field":        {mutatorText("Assign", "a", "spec.x", value) + "  other: 1\n", `f.yaml:1: Assign "a" cannot be read: unknown field "other"`},
		"unknown parameter":    {mutatorText("ModifySet", "a", "spec.x", "{values: {fromList: [x]}, assignTag: x}"), "f.yaml:7: spec.parameters.assignTag: ModifySet has no such parameter"},
		"location":             {mutatorText("Assign", "a", "spec.x[name]", value), `f.yaml:6: spec.location: "spec.x[name]" at character 12: want : and the value of the key`},
		"open quote":           {mutatorText("Assign", "a", `spec."x`, value), `f.yaml:6: spec.location: "spec.\"x" at character 8: the quote is not closed`},
		"metadata":             {mutatorText("Assign", "a", "metadata.labels.x", value), "f.yaml:6: spec.location: Assign cannot change metadata"},
		"kind":                 {mutatorText("Assign", "a", "kind", value), "f.yaml:6: spec.location: kind says what the object is"},
		"apiVersion":           {mutatorText("AssignImage", "a", "apiVersion.x", "{assignTag: ':v1'}"), "f.yaml:6: spec.location: apiVersion says what the object is"},
		"not metadata":         {mutatorText("AssignMetadata", "a", "spec.x", value), "f.yaml:5: spec.location: AssignMetadata changes metadata.labels.<name> and"},
		"key":                  {mutatorText("Assign", "a", "spec.x[name: y].name", value), "f.yaml:6: spec.location: name is the key of the list"},
		"glob at the end":      {mutatorText("Assign", "a", "spec.x[name: *]", value), "f.yaml:6: spec.location: * selects all elements of a list"},
		"element without key":  {mutatorText("Assign", "a", "spec.x[name: y]", value), "f.yaml:7: spec.parameters.assign.value: must be an object whose name is y"},
		"two values":           {mutatorText("Assign", "a", "spec.x", "{assign: {value: x, fromMetadata: {field: name}}}"), "f.yaml:7: spec.parameters.assign: set exactly one of"},
		"external data":        {mutatorText("Assign", "a", "spec.x", "{assign: {externalData: {provider: p}}}"), "f.yaml:7: spec.parameters.assign.externalData.provider: the source has no Provider \"p\"; add one"},
		"external key":         {mutatorText("Assign", "a", "spec.x", "{assign: {externalData: {provider: p, dataSource: Name}}}"), `spec.parameters.assign.externalData.dataSource: "Name" is not one of ValueAtLocation, Username`},
		"external failure":     {mutatorText("Assign", "a", "spec.x", "{assign: {externalData: {provider: p, failurePolicy: Warn}}}"), `spec.parameters.assign.externalData.failurePolicy: "Warn" is not one of Fail, Ignore, UseDefault`},
		"external default":     {mutatorText("Assign", "a", "spec.x", "{assign: {externalData: {provider: p, failurePolicy: UseDefault}}}"), `spec.parameters.assign.externalData.default: must be set`},
		"external and value":   {mutatorText("Assign", "a", "spec.x", "{assign: {value: 1, externalData: {provider: p}}}"), `set exactly one of value, fromMetadata and externalData`},
		"external element":     {mutatorText("Assign", "a", "spec.x[name: y]", "{assign: {externalData: {provider: p}}}"), `spec.location: a text cannot be an element of a list`},
		"external field":       {mutatorText("Assign", "a", "spec.x", "{assign: {externalData: {provider: p, url: x}}}"), `spec.parameters.assign.externalData: unknown field "url"`},
		"external metadata":    {mutatorText("AssignMetadata", "a", "metadata.labels.x", "{assign: {externalData: {provider: p}}}"), `AssignMetadata sets fields that are missing, so its key is the user`},
		"metadata field":       {mutatorText("Assign", "a", "spec.x", "{assign: {fromMetadata: {field: uid}}}"), `f.yaml:7: spec.parameters.assign.fromMetadata.field: "uid" is not one of name, namespace`},
		"image path":           {mutatorText("AssignImage", "a", "spec.x", "{assignPath: a.io/x}"), `f.yaml:7: spec.parameters.assignPath: "a.io/x" begins with a domain`},
		"image tag":            {mutatorText("AssignImage", "a", "spec.x", "{assignTag: v1}"), `f.yaml:7: spec.parameters.assignTag: "v1" is not a tag such as :v1`},
		"no image part":        {mutatorText("AssignImage", "a", "spec.x", "{}"), "f.yaml:7: spec.parameters: set at least one of assignDomain"},
		"operation":            {mutatorText("ModifySet", "a", "spec.x", "{operation: add, values: {fromList: [x]}}"), `f.yaml:7: spec.parameters.operation: "add" is not one of merge, prune`},
		"no values":            {mutatorText("ModifySet", "a", "spec.x", "{values: {}}"), "f.yaml:7: spec.parameters.values.fromList: must list the values"},
		"subPath":              {mutatorText("Assign", "a", "spec.x", "{assign: {value: 1}, pathTests: [{subPath: spec.y, condition: MustExist}]}"), `f.yaml:7: spec.parameters.pathTests[0].subPath: "spec.y" is not the beginning`},
		"condition":            {mutatorText("Assign", "a", "spec.x", "{assign: {value: 1}, pathTests: [{subPath: spec, condition: Exists}]}"), `f.yaml:7: spec.parameters.pathTests[0].condition: "Exists" is not one of`},
		"contradiction":        {mutatorText("Assign", "a", "spec.x", "{assign: {value: 1}, pathTests: [{subPath: spec, condition: MustNotExist}, {subPath: spec.x, condition: MustExist}]}"), "f.yaml:7: spec.parameters.pathTests: a path cannot exist below"},
		"long name":            {mutatorText("Assign", strings.Repeat("a", 64), "spec.x", value), "f.yaml:3: metadata.name: a mutator's name has at most 63"},
		"operations":           {strings.Replace(mutatorText("Assign", "a", "spec.x", value), "kinds: [Pod]", "kinds: [Pod], operations: [DELETE]", 1), `f.yaml:5: spec.applyTo[0].operations[0]: "DELETE" is not one of CREATE, UPDATE, *`},
		"wildcard kind":        {strings.Replace(mutatorText("Assign", "a", "spec.x", value), "kinds: [Pod]", "kinds: ['*']", 1), "f.yaml:5: spec.applyTo[0].kinds: * is not supported"},
		"applyTo of metadata":  {strings.Replace(mutatorText("AssignMetadata", "a", "metadata.labels.x", value), "spec:\n", "spec:\n  applyTo: []\n", 1), "f.yaml:5: spec.applyTo: AssignMetadata has no applyTo"},
		"match":                {mutatorText("Assign", "a", "spec.x", value) + "  match: {scope: All}\n", `f.yaml:8: spec.match.scope: "All" is not one of`},
		"same name":            {mutatorText("Assign", "a", "spec.x", value) + "---\n" + mutatorText("Assign", "a", "spec.y", value), `f.yaml:9: Assign "a": already defined at f.yaml:1; rename one`},
		"conflicting location": {mutatorText("Assign", "a", "spec.x.y", value) + "---\n" + mutatorText("Assign", "b", "spec.x[name: z].y", value), `f.yaml:6: spec.location: Assign "a": its location and that of Assign/b imply different types at spec.x`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, errs := Dialect(map[string]string{"f.yaml": c.text})
			require.NotEmpty(t, errs)
			require.Contains(t, errs[0].Error(), c.want)
		})
	}
}

// applyText applies the mutators of a file to a Pod.
func applyText(t *testing.T, text, namespace string, object map[string]any) ([]definition.AppliedMutator, error) {
	t.Helper()
	templates, errs := Dialect(map[string]string{"f.yaml": text})
	require.Empty(t, errs)
	require.Len(t, templates, 1)
	applied, _, err := templates[0].Mutators.Apply(t.Context(), definition.MutationRequest{
		Kind: admission.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: namespace, Operation: "CREATE",
	}, object)
	return applied, err
}

// TestMutatorsAreRepeated applies mutators until the object no longer changes.
func TestMutatorsAreRepeated(t *testing.T) {
	t.Parallel()
	text := mutatorText("Assign", "one", "spec.x", "{assign: {value: 1}}") + "---\n" + mutatorText("Assign", "two", "spec.x", "{assign: {value: 2}}")
	applied, err := applyText(t, text, "a", map[string]any{})
	require.NoError(t, err, "the last one is the same in each round")
	require.Len(t, applied, 2)
	require.Equal(t, definition.Location{File: "f.yaml", Line: 9}, applied[1].Location)

	text = mutatorText("ModifySet", "add", "spec.x", "{values: {fromList: [a]}}") + "---\n" +
		mutatorText("ModifySet", "remove", "spec.x", "{operation: prune, values: {fromList: [b]}}") + "---\n" +
		mutatorText("Assign", "copy", "spec.x", "{assign: {value: [b]}}")
	object := map[string]any{}
	_, err = applyText(t, text, "a", object)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"spec": map[string]any{"x": []any{"a"}}}, object)

	labelled := mutatorText("Assign", "first", "spec.x", "{assign: {value: 1}}") + "  match: {labelSelector: {matchLabels: {owner: x}}}\n---\n" +
		mutatorText("AssignMetadata", "second", "metadata.labels.owner", "{assign: {value: x}}")
	object = map[string]any{}
	_, err = applyText(t, labelled, "a", object)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"spec": map[string]any{"x": json.Number("1")}, "metadata": map[string]any{"labels": map[string]any{"owner": "x"}}}, object)
	_, err = applyText(t, mutatorText("Assign", "one", "spec.x.y", "{assign: {value: 1}}"), "a", map[string]any{"spec": "text"})
	require.ErrorContains(t, err, `Assign/one needs an object at "spec", but the object has a string there`)
}

// TestConfigExcludesFromMutation tests the processes of a Config.
func TestConfigExcludesFromMutation(t *testing.T) {
	t.Parallel()
	for process, excludes := range map[string]bool{"mutation-webhook": true, "*": true, "webhook": false, "audit": false} {
		config := fmt.Sprintf("apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec: {match: [{excludedNamespaces: [a], processes: ['%s']}]}\n---\n", process)
		applied, err := applyText(t, config+mutatorText("Assign", "one", "spec.x", "{assign: {value: 1}}"), "a", map[string]any{"metadata": map[string]any{"namespace": "a"}})
		require.NoError(t, err)
		require.Equal(t, excludes, len(applied) == 0, process)
	}
}
