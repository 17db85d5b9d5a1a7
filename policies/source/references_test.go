package source

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/source/schema"
	"github.com/lintel-policy/lintel/policies/source/schema/offline"
)

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              old: {type: string}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              labels: {type: object, additionalProperties: {type: string}}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
              parts: {type: array, items: {type: object, properties: {name: {type: string}}}}
`

// policyFor is a policy that matches kinds: `Pod`, `Deployment.apps`.
func policyFor(kinds, rego string) string {
	var list []string
	for _, kind := range strings.Fields(kinds) {
		kind, group, _ := strings.Cut(kind, ".")
		list = append(list, `{group: "`+group+`", kind: "`+kind+`"}`)
	}
	return "# METADATA\n# custom:\n#   match: {kinds: [" + strings.Join(list, ", ") + "]}\npackage p\nimport rego.v1\n" + rego
}

func testSchemas(t *testing.T) Schemas { return schemasWith(t, widgets) }

// schemasWith adds definitions in YAML to the kinds of Kubernetes.
func schemasWith(t testing.TB, definitions ...string) Schemas {
	t.Helper()
	var all []*schema.Definition
	for _, text := range definitions {
		document, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		definition, err := schema.ReadDefinition(document)
		require.NoError(t, err)
		require.NotNil(t, definition)
		all = append(all, definition)
	}
	return offline.NewKinds(all...)
}

// referenceErrorsOf checks files in this process, without a child.
func referenceErrorsOf(t *testing.T, files map[string]string) []string {
	t.Helper()
	found, _ := referenceErrorsBy(t, testSchemas(t), files)
	return found
}

// referenceErrorsBy also counts the policies that are checked.
func referenceErrorsBy(t *testing.T, schemas Schemas, files map[string]string) ([]string, int) {
	t.Helper()
	source := definition.Source{Name: "s", Files: files}
	set, err := policyset.Verify(source, nil)
	require.NoError(t, err)
	matches := matchesOf(set)
	checks := referenceChecks(t.Context(), schemas, matches)
	answer, err := checkReferences(set, matches, referenceRequest{Checks: checks})
	require.NoError(t, err)
	// Only clean policies are omitted the next time.
	again, err := checkReferences(set, matches, referenceRequest{Checks: checks, Clean: keysOf(answer.Clean)})
	require.NoError(t, err)
	require.Equal(t, answer.Errors, again.Errors)
	require.ElementsMatch(t, answer.Clean, again.Clean)
	var out []string
	for _, err := range answer.Errors {
		out = append(out, err.Error())
	}
	checked := 0
	for _, check := range checks {
		checked += len(check.Packages)
	}
	return out, checked
}

func TestWrongReferences(t *testing.T) {
	for name, c := range map[string]struct {
		kinds, rego string
		want        string // empty: nothing is wrong
	}{
		"direct": {"Pod", `deny contains "x" if input.request.object.spec.containter`,
			"p.rego:6:22: input.request.object.spec.containter is in none of the kinds that policy p matches (Pod); did you mean containers?"},
		"right": {"Pod", `deny contains "x" if input.request.object.spec.containers[_].image == "x"`, ""},
		"alias": {"Pod", `deny contains "x" if { c := input.request.object.spec.containers[_]; c.imagee }`,
			"c.imagee is in none of the kinds that policy p matches (Pod); did you mean image?"},
		"alias of an alias": {"Pod", `deny contains "x" if { o := input.request.object; s := o.spec; s.hostNetwrk }`, "s.hostNetwrk is in none"},
		"old object":        {"Pod", `deny contains "x" if input.request.oldObject.spec.nodname`, "did you mean nodeName?"},
		"comprehension":     {"Pod", `deny contains "x" if count([c | some c in input.request.object.spec.containers; c.privilegd]) > 0`, "c.privilegd is in none"},
		"some in":           {"Pod", `deny contains "x" if { some i, c in input.request.object.spec.containers; c.nam == "x"; i > 0 }`, "did you mean name?"},
		"in every":          {"Pod", `deny contains "x" if { every c in input.request.object.spec.containers { c.name == input.request.object.spec.hostname2 } }`, "did you mean hostname?"},
		"brackets":          {"Pod", `deny contains "x" if input.request.object["spec"]["hostPd"]`, "did you mean hostPID?"},
		"not":               {"Pod", `deny contains "x" if not input.request.object.metadata.label.team`, "did you mean labels?"},
		"in a call":         {"Pod", `deny contains "x" if count(input.request.object.spec.containter) > 0`, "did you mean containers?"},
		"in the head":       {"Pod", `deny contains input.request.object.spec.containter`, "did you mean containers?"},
		"helper rule":       {"Pod", "spec := input.request.object.spec\ndeny contains \"x\" if spec.containter", "spec.containter is in none"},
		"helper set":        {"Pod", "all contains c if some c in input.request.object.spec.containers\nall contains c if some c in input.request.object.spec.initContainers\ndeny contains \"x\" if { some c in all; c.imagee }", "c.imagee is in none"},
		"else":              {"Pod", "f if { false } else if { input.request.object.spec.containter }\ndeny contains \"x\" if f", "spec.containter is in none"},
		"a list":            {"Pod", `deny contains "x" if input.request.object.spec.containers.image`, "is a list; take its elements"},
		"below a string":    {"Pod", `deny contains "x" if input.request.object.metadata.name.first`, "is a single value without fields; remove .first"},
		"envelope":          {"Pod", `deny contains "x" if input.reqest.object.spec`, "input.reqest is not available to policies; did you mean request?"},
		"review":            {"Pod", `deny contains "x" if input.review.object.spec`, "input.review is not available to policies"},
		"review, too":       {"Pod", "object := input.review.object if input.review.object\nobject := input.request.object if not input.review\ndeny contains \"x\" if object.spec.hostPID", ""},
		"request":           {"Pod", `deny contains "x" if input.request.objet.spec`, "input.request.objet is not available to policies; did you mean object?"},
		"user":              {"Pod", `deny contains "x" if input.request.userInfo.usernme`, "did you mean username?"},
		"two rules":         {"Pod", "deny contains \"x\" if input.request.object.spec.containter\ndeny contains \"y\" if input.request.object.spec.containter", "p.rego:7:22"},

		"object.get":          {"Pod", `deny contains "x" if object.get(input.request.object.spec, "containter", null)`, ""},
		"object.get path":     {"Pod", `deny contains "x" if object.get(input, ["request", "object", "containter"], null)`, ""},
		"one of two has it":   {"Pod Deployment.apps", `deny contains "x" if input.request.object.spec.replicas > 1`, ""},
		"none of two has it":  {"Pod Deployment.apps", `deny contains "x" if input.request.object.spec.replica > 1`, "that policy p matches (Pod, Deployment.apps); did you mean replicas?"},
		"map":                 {"Pod", `deny contains "x" if input.request.object.metadata.labels.team.anything`, ""},
		"quantity":            {"Pod", `deny contains "x" if input.request.object.spec.containers[_].resources.limits.cpu`, ""},
		"int or string":       {"Service", `deny contains "x" if input.request.object.spec.ports[_].targetPort == "http"`, ""},
		"kind without schema": {"Unknown.example.com", `deny contains "x" if input.request.object.spec.anything`, ""},
		"one without schema":  {"Pod Unknown.example.com", `deny contains "x" if input.request.object.spec.containter`, ""},
		"wildcard":            {"Pod *.*", `deny contains "x" if input.request.object.spec.containter`, ""},
		"walk":                {"Pod", `deny contains "x" if { walk(input.request.object, [_, value]); value.containter }`, ""},
		"with":                {"Pod", "bad if input.request.object.spec.containter\ndeny contains \"x\" if bad with input as {\"request\": {\"object\": {\"spec\": {\"containter\": true}}}}", ""},
		"variable key":        {"Pod", `deny contains "x" if { some key in ["containter", "volumes"]; input.request.object.spec[key] }`, ""},
		"parameters":          {"Pod", `deny contains "x" if input.parameters.anything.at.all`, ""},
		"null":                {"Pod", `deny contains "x" if input.request.object == null`, ""},
		"other type":          {"Pod", `deny contains "x" if input.request.object.spec.hostNetwork == "true"`, ""},
		"status":              {"Pod", `deny contains "x" if input.request.object.status.phase == "Running"`, ""},
		"recursive":           {"CustomResourceDefinition.apiextensions.k8s.io", `deny contains "x" if input.request.object.spec.anything`, ""},

		"definition":            {"Widget.example.com", `deny contains "x" if input.request.object.spec.sise`, "(Widget.example.com); did you mean size?"},
		"definition, right":     {"Widget.example.com", `deny contains "x" if { input.request.object.spec.size > 3; input.request.object.spec.labels.a.b; input.request.object.spec.port.x }`, ""},
		"definition, versions":  {"Widget.example.com", `deny contains "x" if input.request.object.spec.old`, ""},
		"definition, metadata":  {"Widget.example.com", `deny contains "x" if input.request.object.metadata.annotations.a`, ""},
		"definition, metadata!": {"Widget.example.com", `deny contains "x" if input.request.object.metadata.anotations.a`, "did you mean annotations?"},
		"definition, preserved": {"Widget.example.com", `deny contains "x" if input.request.object.spec.extra.unknown`, ""},
		"definition, list":      {"Widget.example.com", `deny contains "x" if input.request.object.spec.parts[_].nam`, "did you mean name?"},
	} {
		t.Run(name, func(t *testing.T) {
			found := strings.Join(referenceErrorsOf(t, map[string]string{"p.rego": policyFor(c.kinds, c.rego)}), "\n")
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, found, c.want)
		})
	}
}

func TestWrongReferencesInLibraries(t *testing.T) {
	use := func(name, kinds string) string {
		return strings.Replace(policyFor(kinds, `deny contains "x" if data.lib.bad`), "package p", "package "+name, 1)
	}
	library := "package lib\nimport rego.v1\nbad if input.request.object.spec.replica > 1\nunused if input.request.object.spec.anything"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"used by one":                    {map[string]string{"p.rego": use("p", "Pod")}, "lib.rego:3:8: input.request.object.spec.replica is in none of the kinds that the policies match which use package lib (Pod)"},
		"used by two":                    {map[string]string{"p.rego": use("p", "Pod"), "q.rego": use("q", "Deployment.apps")}, "(Deployment.apps, Pod); did you mean replicas?"},
		"used by a policy without kinds": {map[string]string{"p.rego": use("p", "Pod"), "q.rego": "package q\nimport rego.v1\ndeny contains \"x\" if data.lib.bad"}, ""},
		"used by one that may be":        {map[string]string{"p.rego": use("p", "Pod"), "q.rego": use("q", "Unknown.example.com")}, ""},
		"used by two, one has it":        {map[string]string{"p.rego": use("p", "Pod"), "q.rego": use("q", "Deployment.apps"), "lib.rego": strings.Replace(library, "replica ", "replicas ", 1)}, ""},
		"used by nobody":                 {map[string]string{"p.rego": policyFor("Pod", `deny contains "x"`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.files["lib.rego"] == "" {
				c.files["lib.rego"] = library
			}
			found := referenceErrorsOf(t, c.files)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0], c.want)
		})
	}
}

// TestMatchesThatBringOtherObjects are only checked for fields outside the object.
func TestMatchesThatBringOtherObjects(t *testing.T) {
	pod := []admission.GroupVersionKind{{Kind: "Pod"}}
	for name, c := range map[string]struct {
		match definition.Match
		known bool
	}{
		"kinds":           {definition.Match{Kinds: pod}, true},
		"its own":         {definition.Match{Kinds: pod, Subresources: []string{"status", "ephemeralcontainers"}}, true},
		"another's":       {definition.Match{Kinds: pod, Subresources: []string{"exec"}}, false},
		"any subresource": {definition.Match{Kinds: pod, Subresources: []string{"*"}}, false},
		"any version":     {definition.Match{Kinds: []admission.GroupVersionKind{{Version: "*", Kind: "Pod"}}}, false},
		"no kinds":        {definition.Match{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			checks := referenceChecks(t.Context(), testSchemas(t), []matched{{"p", c.match}})
			require.Len(t, checks, 1)
			require.Equal(t, c.known, len(checks[0].Kinds) == 1)
			require.Equal(t, c.known, strings.Contains(string(checks[0].Input), "hostPID"))
		})
	}
}

// TestTheShapeOfInputIsAlwaysChecked: it is the same for every kind.
func TestTheShapeOfInputIsAlwaysChecked(t *testing.T) {
	const noKinds, operations = "package p\nimport rego.v1\n", "# METADATA\n# custom:\n#   match: {operations: [CREATE]}\npackage p\nimport rego.v1\n"
	wildcard, unknown := policyFor("*.*", ""), policyFor("Unknown.example.com", "")
	for name, c := range map[string]struct {
		rego string
		want string // empty: nothing is wrong
	}{
		"conftest's":          {`deny contains "x" if not input.spec.template.spec.securityContext.runAsNonRoot`, "input.spec is not available to policies; input is the AdmissionReview, and the object itself in conftest only: write input.request.object.spec"},
		"its metadata":        {"name := input.metadata.name\ndeny contains name if input.request", "write input.request.object.metadata"},
		"in a function":       {"f(x) if x == input.data.a\ndeny contains \"x\" if f(1)", "write input.request.object.data"},
		"Gatekeeper's":        {`deny contains "x" if input.review.object.spec.hostPID`, "that is Gatekeeper's form"},
		"the request":         {`deny contains "x" if input.reqest.object.spec`, "did you mean request?"},
		"its object":          {`deny contains "x" if input.request.objet.spec`, "did you mean object?"},
		"its operation":       {`deny contains "x" if input.request.operation.name`, "input.request.operation.name is not available to policies"},
		"a user":              {`deny contains "x" if input.request.userInfo.usernme == "x"`, "did you mean username?"},
		"the kind":            {`deny contains "x" if input.request.kind.knd == "x"`, "did you mean kind?"},
		"by an alias":         {`deny contains "x" if { r := input.request; r.operatoin == "CREATE" }`, "did you mean operation?"},
		"any object":          {`deny contains "x" if { input.request.object.anything.at.all; input.request.oldObject.spec }`, ""},
		"all fields":          {`deny contains "x" if { input.name; input.namespace.metadata.labels.a; input.scope.level; input.parameters.a.b; input.csr.usages; input.facts.x; input.kind; input.apiVersion }`, ""},
		"options and extra":   {`deny contains "x" if { input.request.options.fieldManager; input.request.userInfo.extra["x"][_] == "y"; input.request.dryRun; input.request.subResource }`, ""},
		"for all hosts":       {"object := input.request.object if input.request\nobject := input if not input.request\nspec := input.spec if not input.request\ndeny contains \"x\" if object.spec.a == spec.a", ""},
		"for Gatekeeper, too": {"object := input.review.object\nobject := input.request.object\ndeny contains \"x\" if object.spec.hostPID", ""},
		"asked with another":  {"bad if input.spec.a\ndeny contains \"x\" if bad with input as input.request.object", ""},
		"given to a function": {"f(object) if object.spec.a\ndeny contains \"x\" if f(input.request.object)\ndeny contains \"y\" if f(input)", ""},
		"object.get":          {`deny contains "x" if object.get(input, ["spec"], false)`, ""},
	} {
		for match, header := range map[string]string{"no match": noKinds, "no kinds": operations, "any kind": wildcard, "unknown kind": unknown} {
			t.Run(name+", "+match, func(t *testing.T) {
				found := strings.Join(referenceErrorsOf(t, map[string]string{"p.rego": header + c.rego}), "\n")
				if c.want == "" {
					require.Empty(t, found)
					return
				}
				require.Contains(t, found, c.want)
			})
		}
	}
}

func TestTheGateChecksReferences(t *testing.T) {
	compiler := testCompiler(t, patience)
	compiler.Schemas = testSchemas(t)
	good := definition.Source{Name: "s", Files: map[string]string{"p.rego": policyFor("Pod", `deny contains "x" if input.request.object.spec.hostPID`)}}
	_, err := compiler.Compile(t.Context(), good)
	require.NoError(t, err)

	bad := definition.Source{Name: "s", Files: map[string]string{"p.rego": policyFor("Pod", `deny contains "x" if input.request.object.spec.containter`)}}
	_, err = compiler.Compile(t.Context(), bad)
	var errs definition.CompileErrorList
	require.ErrorAs(t, err, &errs)
	require.Equal(t, definition.CompileError{File: "p.rego", Line: 6, Column: 22,
		Message: "input.request.object.spec.containter is in none of the kinds that policy p matches (Pod); did you mean containers?"}, errs[0])

	compiler.Schemas = nil
	_, err = compiler.Compile(t.Context(), bad)
	require.NoError(t, err, "what schemas said is not kept: they may say something else now")
}

// TestASchemaIsWrittenTheSameEachTime: else nothing would ever have been checked before.
func TestASchemaIsWrittenTheSameEachTime(t *testing.T) {
	schemas, seen := testSchemas(t), map[string]bool{}
	for range 5 {
		text, err := json.Marshal(referenceChecks(t.Context(), schemas, []matched{{"p", definition.Match{Kinds: []admission.GroupVersionKind{{Kind: "Pod"}}}}}))
		require.NoError(t, err)
		seen[string(text)] = true
	}
	require.Len(t, seen, 1)
}

// TestWhatChangedIsCheckedAgain: a policy, or its dependencies, or the schema.
func TestWhatChangedIsCheckedAgain(t *testing.T) {
	compiler := testCompiler(t, patience)
	compiler.Schemas = testSchemas(t)
	files := map[string]string{
		"p.rego":   policyFor("Pod", `deny contains "x" if data.lib.bad`),
		"q.rego":   strings.Replace(policyFor("Widget.example.com", `deny contains "x" if input.request.object.spec.size`), "package p", "package q", 1),
		"lib.rego": "package lib\nbad if input.request.object.spec.hostPID",
	}
	evaluate := func(change func(files map[string]string)) error {
		changed := maps.Clone(files)
		change(changed)
		_, err := compiler.Compile(t.Context(), definition.Source{Name: "s", Files: changed})
		return err
	}
	require.NoError(t, evaluate(func(map[string]string) {}))
	clean, _ := compiler.clean.Get(definition.Source{Name: "s", Files: files}.Identity())
	require.Len(t, clean, 2)
	require.ErrorContains(t, evaluate(func(files map[string]string) {
		files["lib.rego"] = "package lib\nbad if input.request.object.spec.hostPod"
	}), "lib.rego:2:8: ")
	require.ErrorContains(t, evaluate(func(files map[string]string) {
		files["q.rego"] = strings.ReplaceAll(files["q.rego"], "size", "sizes")
	}), "q.rego:6:22: ")
	require.NoError(t, evaluate(func(files map[string]string) { files["p.rego"] += "\n# the same" }))
	compiler.Schemas = schemasWith(t, strings.ReplaceAll(widgets, "size:", "large:"))
	require.ErrorContains(t, evaluate(func(files map[string]string) { files["lib.rego"] += "\n# the same" }), "q.rego:6:22: ")
}

// slowSchemas never answer.
type slowSchemas struct{}

func (slowSchemas) Schemas(ctx context.Context, _ []admission.GroupVersionKind) map[admission.GroupVersionKind]*schema.Schema {
	<-ctx.Done()
	return nil
}

// TestReferencesDoNotHoldUpPolicies: references that cannot be checked in time are accepted.
func TestReferencesDoNotHoldUpPolicies(t *testing.T) {
	for timeout := 500 * time.Millisecond; ; timeout *= 2 {
		compiler := testCompiler(t, timeout)
		compiler.Schemas = slowSchemas{}
		var unchecked string
		compiler.Unchecked = func(source string, _ error) { unchecked = source }
		_, err := compiler.Compile(t.Context(), definition.Source{Name: "s", Files: map[string]string{"p.rego": policyFor("Pod", `deny contains "x" if input.request.object.spec.containter`)}})
		if err != nil && timeout < patience {
			continue // on a busy machine the child had not compiled in time
		}
		require.NoError(t, err)
		require.Equal(t, "s", unchecked)
		return
	}
}

// TestShippedPoliciesReferToWhatThereIs: samples and built-in rules.
func TestShippedPoliciesReferToWhatThereIs(t *testing.T) {
	definitions, err := ReadFolder(filepath.FromSlash("../../config/crd"), func(name string) bool { return strings.Contains(name, "_") }, MaxArtifactBytes)
	require.NoError(t, err)
	schemas := schemasWith(t, slices.Collect(maps.Values(definitions))...)
	for folder, least := range map[string]int{"../../config/samples/policies": 8, "../rules": 2} {
		files, err := ReadFolder(filepath.FromSlash(folder), definition.IsPolicyFile, MaxArtifactBytes)
		require.NoError(t, err)
		found, checked := referenceErrorsBy(t, schemas, files)
		require.Empty(t, found)
		require.GreaterOrEqual(t, checked, least, folder)
	}
}
