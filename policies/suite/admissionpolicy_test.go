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
