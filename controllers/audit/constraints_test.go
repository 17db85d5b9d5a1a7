package audit

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// An existing status of a constraint is removed once the constraint is no longer evaluated for
// stored objects: zero violations would report compliance.
func TestConstraintStatusOfObjectsThatAreNotEvaluated(t *testing.T) {
	t.Parallel()
	resource := schema.GroupVersionResource{Group: "constraints.gatekeeper.sh", Version: "v1beta1", Resource: "k8st"}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K8sT", "metadata": map[string]any{"name": "c"},
		"status": map[string]any{"totalViolations": int64(7), "auditTimestamp": "2026-01-01T00:00:00Z", "violations": []any{map[string]any{"name": "a"}}, "byPod": []any{}},
	}}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "K8sTList"})
	_, err := client.Resource(resource).Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	writer := &constraints{writer: client, ledger: audit.NewLedger(10), written: map[string]string{}}
	key := audit.PolicyKey{Source: constraintSource, Policy: "K8sT/c"}
	info := engine.PolicyInfo{Source: constraintSource, Package: "K8sT/c", AnyVersion: true}
	status := func(info engine.PolicyInfo, counts audit.Counts) map[string]any {
		t.Helper()
		state := &state{policies: []engine.PolicyInfo{info}, sources: map[string]pass{constraintSource: {}}}
		require.NoError(t, writer.write(t.Context(), state, map[audit.PolicyKey]audit.Counts{key: counts}))
		found, err := client.Resource(resource).Get(t.Context(), "c", metav1.GetOptions{})
		require.NoError(t, err)
		content, _, err := unstructured.NestedMap(found.Object, "status")
		require.NoError(t, err)
		return content
	}
	partly := info
	partly.NotAuditable = []engine.NotAuditable{{Path: "spec.scopedEnforcementActions"}}
	require.Equal(t, map[string]any{"byPod": []any{}}, status(partly, nil))
	require.EqualValues(t, 0, status(info, nil)["totalViolations"])
	require.Contains(t, status(info, nil), "auditTimestamp")
	require.EqualValues(t, 2, status(partly, audit.Counts{audit.Fail: 2})["totalViolations"], "the other rules")
	require.EqualValues(t, 1, status(info, audit.Counts{audit.Error: 1})["totalViolations"], "an object for which the template fails")
	require.Equal(t, map[string]any{"byPod": []any{}}, status(partly, nil))
}

// The violations of a constraint with scoped actions have Gatekeeper's form.
func TestViolationsOfScopedConstraints(t *testing.T) {
	t.Parallel()
	info := engine.PolicyInfo{ScopedActions: []string{"warn", "deny"}}
	detail := audit.Detail{
		Object: audit.Object{Kind: admission.PodKind, Namespace: "shop", Name: "web"},
		Result: audit.Result{Outcome: audit.Fail, Enforcement: definition.EnforceAudit, Message: "no"},
	}
	text, err := json.Marshal(constraintStatusOf(info, audit.Counts{audit.Fail: 1}, []audit.Detail{detail}).Violations)
	require.NoError(t, err)
	require.JSONEq(t, `[{"enforcementAction":"scoped","enforcementActions":["warn","deny"],"group":"","version":"v1","kind":"Pod","namespace":"shop","name":"web","message":"no"}]`, string(text))
}
