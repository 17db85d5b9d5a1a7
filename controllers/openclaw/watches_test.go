package openclaw

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// TestBundlesOfTheRootNamespaceComeFirst, however many of others wait.
func TestBundlesOfTheRootNamespaceComeFirst(t *testing.T) {
	t.Parallel()
	queue := priorityqueue.New[reconcile.Request](t.Name())
	defer queue.ShutDown()
	w := watches{library: newLibrary("root")}
	for _, namespace := range []string{"a", "b", "root", "c"} {
		bundle := &v1.PolicyBundle{}
		bundle.Namespace, bundle.Name = namespace, "all"
		for _, request := range itself(t.Context(), bundle) {
			w.enqueue(queue, request, 0)
		}
	}
	require.Eventually(t, func() bool { return queue.Len() == 4 }, time.Minute, time.Millisecond)
	var order []string
	for range 4 {
		next, _ := queue.Get()
		order = append(order, next.Namespace)
		queue.Done(next)
	}
	require.Equal(t, []string{"root", "a", "b", "c"}, order)
}
