package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

// TestAPartialPolicySource enforces the files that compile, reports the others, and keeps a policy in
// force whose file is broken later.
func TestAPartialPolicySource(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	denies := func(name, word string) string {
		return inNamespace(namespace, configMapKind, "package partial."+name+"\ndeny contains \""+word+"\" if input.name == \""+name+"\"")
	}
	serve := func(files map[string]string) {
		t.Helper()
		output, ok := apply(t, installation.PolicySource("partial", files, map[string]any{"partial": true}))
		require.True(t, ok, output)
		waitSource(t, "partial")
	}
	requireDenied := func(name, word string) {
		t.Helper()
		output, ok := apply(t, configMap(namespace, name))
		require.False(t, ok)
		require.Contains(t, output, word)
	}
	complete := func() *metav1.Condition {
		return meta.FindStatusCondition(readSource(t, "partial").Status.Conditions, v1alpha1.ConditionComplete)
	}
	t.Cleanup(func() { removeSource(context.Background(), "partial") })

	output, ok := apply(t, installation.PolicySource("partial", map[string]string{"one.rego": denies("one", "first"), "broken.rego": broken}, nil))
	require.False(t, ok, "without the field, the source is refused")
	require.Contains(t, output, "broken.rego:4:2")
	output, ok = apply(t, installation.PolicySource("partial", map[string]string{"one.rego": denies("one", "first"), "broken.rego": broken}, map[string]any{"partial": true}))
	require.True(t, ok, output)
	require.Contains(t, output, "not in force: broken.rego:4:2", "the API server passes the warning on")
	waitSource(t, "partial")
	require.Equal(t, metav1.ConditionFalse, complete().Status)
	require.Contains(t, complete().Message, "broken.rego:4:2")
	require.Equal(t, "broken.rego", readSource(t, "partial").Status.Errors[0].File)
	requireDenied("one", "first")

	serve(map[string]string{"one.rego": denies("one", "first"), "two.rego": denies("two", "second")})
	require.Equal(t, metav1.ConditionTrue, complete().Status)
	requireDenied("two", "second")

	serve(map[string]string{"one.rego": denies("one", "changed"), "two.rego": "package partial.two\n}"})
	require.Contains(t, complete().Message, "the text of the last good revision stays in force")
	requireDenied("one", "changed")
	requireDenied("two", "second")

	serve(map[string]string{"one.rego": denies("one", "changed")})
	require.Equal(t, metav1.ConditionTrue, complete().Status)
	output, ok = apply(t, configMap(namespace, "two"))
	require.True(t, ok, output)
}
