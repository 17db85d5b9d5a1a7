package openzro

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/test/openzro"
)

// TestAServerThatHangs checks that a hanging server blocks only a few workers, and none once the
// outage is known: the others serve other tenants.
func TestAServerThatHangs(t *testing.T) {
	s := newSite(t)
	second := s.server.AddAccount("umbrella")
	s.key("other", second.Token)
	s.server.Fault(openzro.Call{Account: "umbrella"}, 0, openzro.Hang())
	const waiting = 50
	for i := range waiting {
		s.apply(in("other", ozgroup(fmt.Sprint("g", i), fmt.Sprint("g", i))))
	}
	var lock sync.Mutex
	var back, held atomic.Int64
	var all sync.WaitGroup
	for i := range waiting {
		all.Go(func() {
			request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "other", Name: fmt.Sprint("g", i)}}
			result, err := s.all[0].Reconcile(t.Context(), request)
			lock.Lock()
			defer lock.Unlock()
			require.NoError(t, err)
			if back.Add(1); result.RequeueAfter == turnPause {
				held.Add(1)
			}
		})
	}
	const perTenant = 8
	require.Eventually(t, func() bool { return back.Load() == waiting-perTenant }, time.Minute, time.Millisecond)
	require.EqualValues(t, waiting-perTenant, held.Load(), "it is not their turn")
	mine := ozgroup("dev", "Developers")
	s.apply(mine)
	_, err := s.all[0].Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mine)})
	require.NoError(t, err)
	s.requireReconciled(mine)
	s.server.Stop()
	all.Wait()
}
