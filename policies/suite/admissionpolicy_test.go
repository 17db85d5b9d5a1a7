package suite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/suite"
)

// TestAdmissionPolicies: a Suite names a ValidatingAdmissionPolicy as template and its binding as
// constraint.
func TestAdmissionPolicies(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"policy.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations:
  - {expression: "object.data.a == 'x'", message: a is not x}
  - {expression: "oldObject == null || request.userInfo.username == 'alice'", message: only alice}
`,
		"binding.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny]}
`,
		"good.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\ndata: {a: x}\n",
		"bad.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\ndata: {a: y}\n",
		"suite.yaml": `apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
metadata: {name: s}
tests:
- name: t
  template: policy.yaml
  constraint: binding.yaml
  cases:
  - {name: good, object: good.yaml, assertions: [{violations: no}]}
  - {name: bad, object: bad.yaml, assertions: [{violations: 1, message: a is not x}]}
  - {name: bob, object: good.yaml, request: {as: bob, oldObject: good.yaml}, assertions: [{violations: 1, message: only alice}]}
  - {name: alice, object: good.yaml, request: {as: alice, oldObject: good.yaml}, assertions: [{violations: no}]}
  - {name: wrong, object: good.yaml, assertions: [{violations: 1}]}
`,
	}
	results, err := suite.Run(t.Context(), definition.Source{Name: "s", Files: files}, suite.Options{})
	require.NoError(t, err)
	outcomes := map[string]suite.Outcome{}
	for _, c := range results.Cases {
		outcomes[c.Name] = c.Outcome
	}
	require.Equal(t, map[string]suite.Outcome{"good": suite.Passed, "bad": suite.Passed, "bob": suite.Passed, "alice": suite.Passed, "wrong": suite.Failed}, outcomes)
}

// TestMutatedObjects: a case names the object that MutatingAdmissionPolicies make of its own.
func TestMutatedObjects(t *testing.T) {
	t.Parallel()
	policy := func(name, expression string) string {
		return `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ` + name + `}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints: {resourceRules: [{apiGroups: ["", example.com], apiVersions: [v1], operations: [CREATE], resources: [configmaps, widgets]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: '` + expression + `'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ` + name + `}
spec: {policyName: ` + name + `}
`
	}
	object := func(labels string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team" + labels + "}\ndata: {a: x}\n"
	}
	files := map[string]string{
		"policy.yaml": policy("p", `Object{metadata: Object.metadata{labels: {"count": string(size(object.metadata.?labels.orValue({})))}}}`),
		"custom.yaml": policy("p", `Object{spec: Object.spec{size: 2}}`),
		"fails.yaml":  policy("p", `Object{data: object.data.none}`),
		"crd.yaml":    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]}\n",
		"object.yaml": object(""), "labelled.yaml": object(", labels: {count: '1'}"), "other.yaml": object(", labels: {count: '7'}"),
		"small.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 1}\n",
		"large.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 2}\n",
		"suite.yaml": `apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
metadata: {name: s}
tests:
- name: built in
  template: policy.yaml
  constraint: policy.yaml
  cases:
  - {name: both passes, object: object.yaml, mutated: labelled.yaml}
  - {name: with assertions, object: object.yaml, mutated: labelled.yaml, assertions: [{violations: no}]}
  - {name: wrong, object: object.yaml, mutated: other.yaml}
  - {name: missing, object: object.yaml, mutated: none.yaml}
- name: custom
  template: custom.yaml
  constraint: custom.yaml
  cases:
  - {name: custom, object: small.yaml, mutated: large.yaml}
- name: fails
  template: fails.yaml
  constraint: fails.yaml
  cases:
  - {name: fails, object: object.yaml, mutated: object.yaml}
`,
	}
	run := func(t *testing.T) map[string]suite.Case {
		t.Helper()
		results, err := suite.Run(t.Context(), definition.Source{Name: "s", Files: files}, suite.Options{})
		require.NoError(t, err)
		cases := map[string]suite.Case{}
		for _, c := range results.Cases {
			cases[c.Name] = c
		}
		return cases
	}
	cases := run(t)
	require.Contains(t, cases["missing"].Message, "mutated: none.yaml is not among the files of the source")
	for name, want := range map[string]suite.Outcome{"both passes": suite.Passed, "with assertions": suite.Passed, "wrong": suite.Failed, "custom": suite.Passed, "fails": suite.Errored, "missing": suite.Errored} {
		require.Equal(t, want, cases[name].Outcome, "%s: %s", name, cases[name].Message)
	}
	require.Equal(t, `the mutated object differs: to become other.yaml, it lacks: replace /metadata/labels/count = "7"`, cases["wrong"].Message)
}
