package openclaw

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// TestABurstOfEditsIsSignedTwice: the first edit is signed immediately, and those that follow
// within the interval together.
func TestABurstOfEditsIsSignedTwice(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, v1.AddToScheme(scheme))
	stored := fake.NewClientBuilder().WithScheme(scheme).Build()
	r := &InstanceReconciler{records: recordStore{client: stored, live: stored, namespace: "lintel-system"}}
	instance := sampleInstance(t)
	start := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	var recorded *signedPolicies
	for _, c := range []struct {
		after            time.Duration
		revision, signed string
		again            time.Duration
	}{
		{0, "a", "a", 0},
		{10 * time.Second, "b", "b", 0},
		{11 * time.Second, "c", "b", 13 * time.Second},
		{12 * time.Second, "d", "b", 13 * time.Second},
		{12 * time.Second, "b", "b", 0}, // the edits are reverted
		{13 * time.Second, "d", "d", 0},
		{5 * time.Second, "e", "e", 0}, // by a clock that is behind
	} {
		signed, again, err := r.signed(t.Context(), instance, &composition{revision: c.revision}, recorded, start.Add(c.after))
		require.NoError(t, err)
		require.Equal(t, c.signed, signed.Revision, c.revision)
		if c.again == 0 {
			require.Zero(t, again, c.revision)
		} else {
			require.Equal(t, start.Add(c.again), again)
		}
		recorded = signed
	}
	require.Len(t, recorded.Former, 3, "each of which replaced the gateways")
}
