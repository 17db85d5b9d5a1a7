package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

const (
	modelsOfEnterprise = `package openclaw.enterprise.models

default allow = false

allow { input.model.provider == "internal" }

allow {
	input.model.provider == "external"
	input.data.classification == "public"
}
`
	modelsWidened = `package openclaw.enterprise.models

import rego.v1

default allow := false

allow if input.model.provider == "internal"

allow if {
	input.model.provider == "external"
	input.data.classification in {"public", "internal"}
}
`
	modelsNarrowed = `package openclaw.enterprise.models

import rego.v1

default allow := false

allow if {
	input.model.provider == "internal"
	input.data.classification in {"public", "internal"}
}
`
	modelsDenied = `package openclaw.enterprise.models

import rego.v1

deny contains "not on Fridays" if input.weekday == "friday"
`
)

// scoped is a PolicyBundle of one policy on models.
func scoped(namespace, name, scope, content string) string {
	return asJSON(map[string]any{
		"apiVersion": "openclaw.enterprise.io/v1", "kind": "PolicyBundle",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"policies": []any{
			map[string]any{"scope": scope, "domain": "models", "name": "models", "content": content},
		}},
	})
}

// TestOpenClawScopesOnlyRestrict applies policies of narrower scopes in addition to one of the
// enterprise's, in a bundle of their own.
func TestOpenClawScopesOnlyRestrict(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	must := func(name, scope, content string) string {
		output, ok := apply(t, scoped(namespace, name, scope, content))
		require.True(t, ok, output)
		return output
	}
	must("enterprise", "enterprise", modelsOfEnterprise)

	require.Eventually(t, func() bool { // the replica has heard of the enterprise's bundle
		output, ok := apply(t, scoped(namespace, "widened", "team", modelsWidened))
		if ok {
			mustKubectl(t, "", "delete", "pb", "-n", namespace, "widened")
			return false
		}
		require.Contains(t, output, `admission webhook "policybundle.openclaw.enterprise.io" denied the request: domain "models": team scope cannot expand beyond enterprise scope`)
		require.Contains(t, output, `input: {"data":{"classification":"internal"},"model":{"provider":"external"}}`)
		require.Contains(t, output, "widened/models:9: allow is true")
		require.Contains(t, output, "enterprise/models:3: allow is false")
		return true
	}, 2*time.Minute, 100*time.Millisecond)

	must("narrowed", "team", modelsNarrowed)
	must("denied", "user", modelsDenied)

	output, ok := apply(t, scoped(namespace, "broken", "team", "package openclaw.enterprise.models\n\nallow if {\n"))
	require.False(t, ok)
	require.Contains(t, output, `policy[0] "models", line 4`)
	output, ok = apply(t, scoped(namespace, "elsewhere", "team", "package openclaw.enterprise.data\n"))
	require.False(t, ok)
	require.Contains(t, output, `a policy of domain "models" must be in package openclaw.enterprise.models`)

	// Narrower policies never block a tightening of the broader policy.
	output = must("enterprise", "enterprise", "package openclaw.enterprise.models\n\nimport rego.v1\n\nallow if input.model.provider == \"none\"\n")
	require.Contains(t, output, "Warning: narrowed/models expands beyond this bundle now (allow)")
	require.Eventually(t, func() bool {
		bundle := read[v1.PolicyBundle](t, namespace, "pb/narrowed")
		ready := meta.FindStatusCondition(bundle.Status.Conditions, v1.ConditionPolicyReady)
		return ready != nil && ready.Reason == "ExpandsParent" && meta.IsStatusConditionFalse(bundle.Status.Conditions, v1.ConditionAdmitted)
	}, 2*time.Minute, 100*time.Millisecond)
	must("enterprise", "enterprise", modelsOfEnterprise)
	require.Eventually(t, func() bool {
		bundle := read[v1.PolicyBundle](t, namespace, "pb/narrowed")
		return meta.IsStatusConditionTrue(bundle.Status.Conditions, v1.ConditionPolicyReady)
	}, 2*time.Minute, 100*time.Millisecond)
}

// TestOpenClawInstancesAreEvaluated: invalid values are refused, and missing ones get defaults.
func TestOpenClawInstancesAreEvaluated(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	output, ok := apply(t, instance(namespace, "fax", nil, map[string]any{"integrations": []any{map[string]any{"type": "fax"}}}))
	require.False(t, ok)
	require.Contains(t, output, `spec.integrations[0].type: "fax" is not a connector; there are gcal, gdrive, github, gmail, jira`)
	output, ok = apply(t, instance(namespace, "evil", nil, map[string]any{"images": map[string]any{"opa": "evil.example.com/opa:1.4.2"}}))
	require.False(t, ok)
	require.Contains(t, output, "is from no registry that is permitted here")
	output, ok = apply(t, instance(namespace, "single", nil, map[string]any{"replicas": 3}))
	require.True(t, ok, output)
	require.Contains(t, output, "Warning: spec.replicas is 3, but deploymentMode single runs one; use ha")
	require.Equal(t, "connection-string", read[v1.OpenClawInstance](t, namespace, "oci/single").Spec.Storage.RedisSecretRef.Key)
}
