package cel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/kinds"
)

// makeMutating writes a MutatingAdmissionPolicy about ConfigMaps and Widgets with its binding.
func makeMutating(name, spec, binding string) string {
	return `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ` + name + `}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["", example.com], apiVersions: [v1], operations: ["*"], resources: [configmaps, widgets]}]}
  ` + spec + `
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ` + name + `}
spec:
  policyName: ` + name + `
  ` + binding + "\n"
}

func apply(expression string) string {
	return "reinvocationPolicy: Never\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: '" + expression + "'}}]"
}

func patch(expression string) string {
	return "reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '" + expression + "'}}]"
}

// setData is a JSON Patch that sets a field of a ConfigMap.
func setData(key, value string) string {
	return patch(`[JSONPatch{op: "add", path: "/data/` + key + `", value: ` + value + `}]`)
}

const widgets = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
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
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, color: {type: string}}}
`

const widget = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c","namespace":"team"},"spec":{"size":1,"parts":[{"name":"one"},{"name":"two"}]}}`

// mutateBoth are both passes of the API server.
func mutateBoth(t *testing.T, text string, review *admission.Review) (string, *engine.Mutation) {
	t.Helper()
	namespace, err := engine.ReadNamespace([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"tier":"gold"}}}`))
	require.NoError(t, err)
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), compile(t, text))
	options, passes := engine.Options{Namespace: namespace, Offline: true}, &engine.ServerPasses{}
	mutation := snapshot.MutateByServer(t.Context(), review, options, passes)
	if mutation.Allowed() && passes.NeedsAnother() {
		mutation = snapshot.MutateByServer(t.Context(), mutation.Review, options, passes)
	}
	after, err := mutation.Review.Object()
	require.NoError(t, err)
	var object struct{ Metadata, Data, Spec any }
	require.NoError(t, json.Unmarshal(after, &object))
	out, err := json.Marshal([]any{object.Metadata, object.Data, object.Spec})
	require.NoError(t, err)
	require.Empty(t, snapshot.Mutate(t.Context(), review, options).Patch, "webhooks apply none of them")
	require.Empty(t, snapshot.Validate(t.Context(), review, options).Denials)
	return string(out), mutation
}

func TestMutations(t *testing.T) {
	t.Parallel()
	const meta = `{"labels":{"a":"b"},"name":"c","namespace":"team"}`
	unchanged := `[` + meta + `,{"a":"x"},null]`
	for name, c := range map[string]struct {
		policies, object string
		want             string
		deny             []string
		undecided        string
	}{
		"an apply configuration": {policies: makeMutating("p", apply(`Object{metadata: Object.metadata{labels: {"team": "x"}}}`), ""), want: `[{"labels":{"a":"b","team":"x"},"name":"c","namespace":"team"},{"a":"x"},null]`},
		"a JSON Patch":           {policies: makeMutating("p", setData("b", `"y"`), ""), want: `[` + meta + `,{"a":"x","b":"y"},null]`},
		"a test that fails":      {policies: makeMutating("p", patch(`[JSONPatch{op: "test", path: "/data/a", value: "z"}, JSONPatch{op: "remove", path: "/data/a"}]`), ""), want: unchanged},
		"escaped keys":           {policies: makeMutating("p", patch(`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("x/y"), value: "z"}]`), ""), want: `[{"labels":{"a":"b","x/y":"z"},"name":"c","namespace":"team"},{"a":"x"},null]`},
		"a false condition":      {policies: makeMutating("p", "matchConditions: [{name: c, expression: 'false'}]\n  "+setData("b", `"y"`), ""), want: unchanged},
		"variables and the Namespace": {
			policies: makeMutating("p", "variables: [{name: v, expression: namespaceObject.metadata.labels.tier}]\n  "+setData("b", `variables.v`), ""),
			want:     `[` + meta + `,{"a":"x","b":"gold"},null]`,
		},
		"params": {
			policies: makeMutating("p", "paramKind: {apiVersion: v1, kind: ConfigMap}\n  "+setData("b", `params.data.b`), "paramRef: {name: d, parameterNotFoundAction: Deny}") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: team}, data: {b: z}}\n",
			want:     `[` + meta + `,{"a":"x","b":"z"},null]`,
		},
		"missing params": {
			policies: makeMutating("p", "paramKind: {apiVersion: v1, kind: ConfigMap}\n  "+setData("b", `params.data.b`), "paramRef: {name: d, parameterNotFoundAction: Deny}"),
			deny:     []string{"16: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"}, want: unchanged,
		},
		"missing params under Ignore": {
			policies: makeMutating("p", "failurePolicy: Ignore\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  "+setData("b", `params.data.b`), "paramRef: {name: d, parameterNotFoundAction: Deny}"), want: unchanged,
		},
		"an error": {policies: makeMutating("p", setData("b", `object.data.none`), ""), want: unchanged, deny: []string{"resulted in error: no such key: none"}},
		"an error under Ignore, and the next mutation": {
			policies: makeMutating("p", "failurePolicy: Ignore\n  reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/data/none\"}]'}}, {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/data/b\", value: \"y\"}]'}}]", ""),
			want:     `[` + meta + `,{"a":"x","b":"y"},null]`,
		},
		"a patch that does not apply": {policies: makeMutating("p", patch(`[JSONPatch{op: "remove", path: "/data/none"}]`), ""), want: unchanged, deny: []string{"8: JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value"}},
		"a field that the type lacks, even under Ignore": {
			policies: makeMutating("p", "failurePolicy: Ignore\n  "+patch(`[JSONPatch{op: "add", path: "/spec", value: {"a": "b"}}]`), ""), want: unchanged,
			deny: []string{`9: Internal error occurred: strict decoding error: unknown field "spec"`},
		},
		"a field that the schema lacks": {policies: makeMutating("p", apply(`Object{spec: Object.spec{a: "b"}}`), ""), want: unchanged, deny: []string{"8: error applying patch: failed to convert patch object to typed object: .spec: field not declared in schema"}},
		"the cost": {
			policies: makeMutating("p", patch(`[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0)))))) ? [JSONPatch{op: "remove", path: "/data/a"}] : []`), ""),
			want:     unchanged, deny: []string{"resulted in error: operation cancelled: actual cost limit exceeded"},
		},
		"the authorizer": {policies: makeMutating("p", setData("b", `string(authorizer.group("").resource("pods").check("get").allowed())`), ""), want: unchanged, undecided: "it calls the authorizer, which only an API server can answer"},
		"later policies see the changes of earlier ones": {
			policies: makeMutating("a", setData("b", `"y"`), "") + makeMutating("b", setData("c", `object.data.b + "z"`), ""),
			want:     `[` + meta + `,{"a":"x","b":"y","c":"yz"},null]`,
		},
		"without reinvocation": {
			policies: makeMutating("a", setData("n", `string(size(object.data))`), "") + makeMutating("b", setData("b", `"y"`), ""),
			want:     `[` + meta + `,{"a":"x","b":"y","n":"1"},null]`,
		},
		"with reinvocation": {
			policies: makeMutating("a", strings.Replace(setData("n", `string(size(object.data))`), "Never", "IfNeeded", 1), "") + makeMutating("b", setData("b", `"y"`), ""),
			want:     `[` + meta + `,{"a":"x","b":"y","n":"3"},null]`,
		},
		"a mutation that grows with each invocation": {
			policies: makeMutating("a", strings.Replace(setData("a", `object.data.a + "x"`), "Never", "IfNeeded", 1), ""),
			want:     `[` + meta + `,{"a":"xxx"},null]`,
		},
		"a custom resource": {
			policies: makeMutating("p", apply(`Object{spec: Object.spec{parts: [Object.spec.parts{name: "two", color: "red"}, Object.spec.parts{name: "three"}]}}`), "") + widgets, object: widget,
			want: `[{"name":"c","namespace":"team"},null,{"parts":[{"name":"one"},{"color":"red","name":"two"},{"name":"three"}],"size":1}]`,
		},
		"a custom resource with a wrong type": {
			policies: makeMutating("p", apply(`Object{spec: Object.spec{size: "large"}}`), "") + widgets, object: widget, want: `[{"name":"c","namespace":"team"},null,{"parts":[{"name":"one"},{"name":"two"}],"size":1}]`,
			deny: []string{`8: error applying patch: failed to convert patch object to typed object: .spec.size: expected numeric (int or float), got string`},
		},
		"a custom resource without its definition": {
			policies: makeMutating("p", apply(`Object{spec: Object.spec{size: 2}}`), ""), object: widget, want: `[{"name":"c","namespace":"team"},null,{"parts":[{"name":"one"},{"name":"two"}],"size":1}]`,
			undecided: "an ApplyConfiguration is merged by the schema of Widget.example.com, which is not available: provide its CustomResourceDefinition",
		},
		"a JSON Patch of a custom resource without its definition": {
			policies: makeMutating("p", patch(`[JSONPatch{op: "replace", path: "/spec/size", value: object.spec.size + 1}]`), ""), object: widget,
			want: `[{"name":"c","namespace":"team"},null,{"parts":[{"name":"one"},{"name":"two"}],"size":2}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			review := creation(t, `{"a":"x"}`)
			if c.object != "" {
				var err error
				review, err = admission.NewStoredReview([]byte(c.object), admission.ServedResource{Group: "example.com", Version: "v1", Kind: "Widget", Name: "widgets", Namespaced: true})
				require.NoError(t, err)
			}
			after, mutation := mutateBoth(t, c.policies, review)
			found := words(mutation.Denials)
			require.Len(t, found, len(c.deny), found)
			for i := range found {
				require.Contains(t, found[i], c.deny[i])
			}
			var undecided string
			for _, one := range mutation.Undecided {
				undecided = one.Reason
			}
			require.Equal(t, c.undecided, undecided)
			require.JSONEq(t, c.want, after)
		})
	}
}

// TestMutationsByACallersSchema: the caller may have the definition of a custom resource.
func TestMutationsByACallersSchema(t *testing.T) {
	t.Parallel()
	definition, err := kinds.ReadDefinition([]byte(strings.TrimPrefix(widgets, "---\n")))
	require.NoError(t, err)
	known := kinds.New(definition)
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), compile(t, makeMutating("p", apply(`Object{spec: Object.spec{size: 2}}`), "")))
	review, err := admission.NewStoredReview([]byte(widget), admission.ServedResource{Group: "example.com", Version: "v1", Kind: "Widget", Name: "widgets", Namespaced: true})
	require.NoError(t, err)
	options := engine.Options{Offline: true, Schemas: known.Schema}
	mutation := snapshot.MutateByServer(t.Context(), review, options, &engine.ServerPasses{})
	require.Empty(t, mutation.Undecided)
	require.Len(t, mutation.Patch, 1)

	explained := snapshot.ExplainMutationByServer(t.Context(), review, options)
	require.Equal(t, engine.AnswerAsked, explained[0].Answer)
	require.Equal(t, mutation.Patch, explained[0].Changes)
}

func TestMutatingPoliciesAreValidated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no mutations":          {makeMutating("p", "reinvocationPolicy: Never", ""), `p.yaml:6: MutatingAdmissionPolicy "p": spec.mutations: must have at least one entry`},
		"no reinvocationPolicy": {makeMutating("p", strings.TrimPrefix(apply("Object{}"), "reinvocationPolicy: Never\n  "), ""), `spec.reinvocationPolicy: must be Never or IfNeeded`},
		"a reinvocationPolicy":  {makeMutating("p", strings.Replace(apply("Object{}"), "Never", "Always", 1), ""), `p.yaml:7: MutatingAdmissionPolicy "p": spec.reinvocationPolicy: "Always" is not one of Never, IfNeeded`},
		"a patchType":           {makeMutating("p", strings.Replace(apply("Object{}"), "ApplyConfiguration", "Merge", 1), ""), `spec.mutations[0].patchType: "Merge" is not one of ApplyConfiguration, JSONPatch`},
		"another patch":         {makeMutating("p", strings.Replace(apply("Object{}"), "ApplyConfiguration", "JSONPatch", 1), ""), `spec.mutations[0].jsonPatch: must be set for this patchType`},
		"an empty expression":   {makeMutating("p", apply(" "), ""), `spec.mutations[0].applyConfiguration.expression: is empty`},
		"a type":                {makeMutating("p", apply("1"), ""), `p.yaml:8: MutatingAdmissionPolicy "p": spec.mutations[0].applyConfiguration.expression: must evaluate to Object but got int`},
		"the types of patches in a variable": {
			makeMutating("p", "variables: [{name: v, expression: 'Object{}'}]\n  "+apply("Object{}"), ""), `p.yaml:7: MutatingAdmissionPolicy "p": spec.variables[0].expression: undeclared reference to 'Object'`,
		},
		"DELETE":         {strings.Replace(makeMutating("p", apply("Object{}"), ""), `["*"]`, "[DELETE]", 1), `operations[0]: "DELETE" is not one of *, CREATE, UPDATE, CONNECT`},
		"an action":      {makeMutating("p", apply("Object{}"), "validationActions: [Deny]"), `unknown field "spec.validationActions"`},
		"an unset name":  {strings.Replace(makeMutating("p", apply("Object{}"), ""), "policyName: p", "policyName: ''", 1), `MutatingAdmissionPolicyBinding "p": spec.policyName: is empty`},
		"an unknown one": {makeMutating("p", strings.Replace(apply("Object{}"), "mutations", "mutates", 1), ""), `unknown field "spec.mutates"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := compileText(c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestNamespaceNamesAreKnown: the label kubernetes.io/metadata.name of a Namespace is its name.
func TestNamespaceNamesAreKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		selector        string
		matches, needed bool
	}{
		"not in others":        {"{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}", true, false},
		"not in its own":       {"{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [team]}]}", false, false},
		"its name":             {"{matchLabels: {kubernetes.io/metadata.name: team}}", true, false},
		"another label":        {"{matchLabels: {tier: gold}}", false, true},
		"its name and another": {"{matchLabels: {kubernetes.io/metadata.name: team, tier: gold}}", false, true},
		"a wrong name besides": {"{matchLabels: {kubernetes.io/metadata.name: other, tier: gold}}", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := vap("  validations: [{expression: 'false', message: nope}]") + bound(denies+"  matchResources: {namespaceSelector: "+c.selector+"}\n")
			snapshot := engine.NewSnapshot(admission.BuiltinResources(), compile(t, text))
			decision := snapshot.Validate(t.Context(), creation(t, "{}"), engine.Options{Offline: true})
			require.Equal(t, c.matches, len(decision.Denials) > 0)
			require.Equal(t, c.needed, len(decision.Undecided) > 0)
		})
	}
}

// TestEventsOfBothGroups: the API server serves the same Events in two groups, and converts them.
func TestEventsOfBothGroups(t *testing.T) {
	t.Parallel()
	events := func(group, policy string) string {
		return strings.Replace(vap("  validations: [{expression: 'false', message: nope}]"), `{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}`,
			"{apiGroups: ['"+group+"'], apiVersions: [v1], operations: [CREATE], resources: [events]}\n    matchPolicy: "+policy, 1) + bound(denies)
	}
	for name, c := range map[string]struct {
		policies, version string
		denied, undecided bool
	}{
		"the same group":              {events("", "Equivalent"), "v1", true, false},
		"the other group":             {events("", "Equivalent"), "events.k8s.io/v1", false, true},
		"the other group of the core": {events("events.k8s.io", "Equivalent"), "v1", false, true},
		"the other group, exactly":    {events("", "Exact"), "events.k8s.io/v1", false, false},
		"every group":                 {events("*", "Equivalent"), "events.k8s.io/v1", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := strings.TrimSuffix(strings.TrimSuffix(c.version, "v1"), "/")
			review, err := admission.NewStoredReview([]byte(`{"apiVersion":"`+c.version+`","kind":"Event","metadata":{"name":"e","namespace":"team"}}`), admission.ServedResource{Group: group, Version: "v1", Kind: "Event", Name: "events", Namespaced: true})
			require.NoError(t, err)
			snapshot := engine.NewSnapshot(admission.BuiltinResources(), compile(t, c.policies))
			decision := snapshot.Validate(t.Context(), review, engine.Options{Offline: true})
			require.Equal(t, c.denied, len(decision.Denials) > 0)
			require.Equal(t, c.undecided, len(decision.Undecided) > 0)
		})
	}
}

// TestABindingWithoutAPolicyIsAWarning: the other policies of the source are evaluated.
func TestABindingWithoutAPolicyIsAWarning(t *testing.T) {
	t.Parallel()
	text := vap("  validations: [{expression: 'false', message: nope}]") + bound(denies) + "---\n{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: c}, spec: {policyName: q, validationActions: [Deny]}}\n"
	require.Contains(t, compile(t, text).Warnings()[0].Error(), `ValidatingAdmissionPolicyBinding "c": spec.policyName: the source has no ValidatingAdmissionPolicy "q"`)
	require.Len(t, decide(t, text, creation(t, "{}")).Denials, 1)
}

// TestPoliciesAboutUsersAreNotAuditable: a stored object has no user.
func TestPoliciesAboutUsersAreNotAuditable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"the object":        {"  validations: [{expression: 'has(object.data)'}]", nil},
		"a condition":       {"  matchConditions: [{name: c, expression: 'request.userInfo.username == \"a\"'}]\n  validations: [{expression: 'true'}]", []string{"p.yaml:8: request.userInfo"}},
		"a variable":        {"  variables:\n  - name: v\n    expression: |\n      1 == 1 &&\n      request.dryRun\n  validations: [{expression: 'true'}]", []string{"p.yaml:12: request.dryRun"}},
		"the authorizer":    {"  validations: [{expression: 'authorizer.group(\"\").resource(\"pods\").check(\"get\").allowed()'}]", []string{"p.yaml:8: authorizer"}},
		"other parts of it": {"  validations: [{expression: 'request.operation == \"CREATE\"'}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot := engine.NewSnapshot(admission.BuiltinResources(), compile(t, vap(c.spec)+bound(denies)))
			var found []string
			for _, one := range snapshot.Policies()[0].NotAuditable {
				require.True(t, one.IsWhole())
				found = append(found, one.String())
			}
			require.Equal(t, c.want, found)
			require.Len(t, snapshot.Audits(admission.GroupVersionKind{Kind: "ConfigMap"}), map[bool]int{true: 1}[c.want == nil])
		})
	}
}
