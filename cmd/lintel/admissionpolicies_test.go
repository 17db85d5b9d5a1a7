package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	limitPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limit}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: "object.spec.replicas <= int(params.data.max)", messageExpression: "'at most ' + params.data.max"}]
`
	limitBinding = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limit}
spec: {policyName: limit, validationActions: [Deny], paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}}
`
	limitParams = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: default}\ndata: {max: '5'}\n"
	halves      = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: halves}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{spec: Object.spec{replicas: object.spec.replicas / 2}}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: halves}
spec: {policyName: halves}
`
	manyReplicas = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 7, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"
)

// TestMutatingAdmissionPolicies: the patch is printed, and validations see the mutated object.
func TestMutatingAdmissionPolicies(t *testing.T) {
	t.Parallel()
	in := folder(t, map[string]string{
		"p/limit.yaml": limitPolicy + "---\n" + limitBinding + "---\n" + limitParams, "p/halves.yaml": halves, "web.yaml": manyReplicas,
		"alone/limit.yaml": limitPolicy + "---\n" + limitBinding + "---\n" + limitParams,
		"rego/p.rego":      "package p\nimport rego.v1\ndeny contains \"three\" if input.request.object.spec.replicas == 3",
	})
	out := lintel(t, "", "check", "-p", in+"/alone", "-f", in+"/web.yaml")
	require.Equal(t, 1, out.code)
	require.Contains(t, out.stdout, "at most 5 [ValidatingAdmissionPolicy/limit deny, limit.yaml:7")

	out = lintel(t, "", "check", "-p", in+"/p", "-f", in+"/web.yaml")
	require.Zero(t, out.code, out.stdout)
	require.Contains(t, out.stdout, "patch      replace /spec/replicas = 3")

	out = lintel(t, "", "check", "-p", in+"/p", "-p", in+"/rego", "-f", in+"/web.yaml")
	require.Equal(t, 1, out.code, "webhooks see the mutated object, too")
	require.Contains(t, out.stdout, "three [p deny")

	out = lintel(t, "", "why", "-p", in+"/p", "-f", in+"/web.yaml")
	require.Zero(t, out.code, out.stdout)
	require.Contains(t, out.stdout, "MutatingAdmissionPolicy/halves   p  changes the object")

	out = lintel(t, "", "policy", "lint", "-p", in+"/p")
	require.NotContains(t, out.stdout, "MutatingAdmissionPolicy/halves")
}

// TestAdmissionPoliciesOfTheCluster: the policies, bindings and params among the objects of --cluster
// are evaluated.
func TestAdmissionPoliciesOfTheCluster(t *testing.T) {
	t.Parallel()
	in := folder(t, map[string]string{
		"cluster/policies.yaml": limitPolicy + "---\n" + limitBinding + "---\n" + limitParams, "web.yaml": manyReplicas,
		"other/policies.yaml": limitPolicy + "---\n" + limitBinding + "---\n" + limitParams + "---\n" + `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: newer}
spec: {newField: true, matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, validations: [{expression: "true"}]}
`,
		"none/configmap.yaml": limitParams,
		"ok/p.rego":           "package ok\nimport rego.v1\ndeny contains \"never\" if false",
	})
	for _, command := range []string{"check", "why"} {
		out := lintel(t, "", command, "--cluster", in+"/cluster", "-f", in+"/web.yaml")
		require.Equal(t, 1, out.code, out.stdout)
		require.Contains(t, out.stdout, "at most 5 [ValidatingAdmissionPolicy/limit deny, validatingadmissionpolicy/limit.yaml:")

		out = lintel(t, "", command, "-p", in+"/ok", "--cluster", in+"/cluster", "-f", in+"/web.yaml")
		require.Equal(t, 1, out.code, "next to those of -p: %s", out.stdout)

		out = lintel(t, "", command, "--cluster", in+"/other", "-f", in+"/web.yaml")
		require.Equal(t, 1, out.code, "the readable ones: %s", out.stdout)
		require.Contains(t, out.stderr, "a policy of the cluster is not evaluated: validatingadmissionpolicy/newer.yaml:")

		out = lintel(t, "", command, "--cluster", in+"/none", "-f", in+"/web.yaml")
		require.Equal(t, 2, out.code)
		require.Contains(t, out.stderr, "no policies")
	}
}
