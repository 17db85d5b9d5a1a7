package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// status is that of the PolicySource now.
func (s *site) status() v1alpha1.PolicySourceStatus {
	source := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	setAudit(source, s.state(), s.ledger.Totals(), "")
	return source.Status
}

// reports waits until the condition has a reason.
func (s *site) reports(reason string) {
	s.Helper()
	require.Eventually(s, func() bool { return s.state() != nil && s.status().Conditions[0].Reason == reason }, 20*time.Second, 20*time.Millisecond, reason)
}

// firstWatch answers the first watch with a watcher of the test.
func (s *site) firstWatch() *watch.FakeWatcher {
	watcher := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: 1})
	var watched atomic.Bool
	s.client.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
		if watched.Swap(true) {
			return false, nil, nil
		}
		return true, watcher, nil
	})
	return watcher
}

// refuseLists answers lists with an error: nil for the tracker's own answer.
func (s *site) refuseLists() *atomic.Pointer[error] {
	var refusal atomic.Pointer[error]
	s.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := refusal.Load(); err != nil {
			return true, nil, *err
		}
		return false, nil, nil
	})
	return &refusal
}

// After a watch has ended, the kind does not count as audited until it is listed again, and
// objects that have changed in the meantime are evaluated.
func TestEndsOfWatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end     func(*watch.FakeWatcher)
		refusal error
	}{
		"410 Gone": {
			func(w *watch.FakeWatcher) {
				w.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
			}, apierrors.NewServiceUnavailable("starting"),
		},
		"410 again":   {(*watch.FakeWatcher).Stop, apierrors.NewResourceExpired("too old")},
		"CRD removed": {(*watch.FakeWatcher).Stop, apierrors.NewNotFound(configMaps.GroupResource(), "")},
		"throttled":   {(*watch.FakeWatcher).Stop, apierrors.NewTooManyRequests("later", 1)},
		"etcd is down": {
			(*watch.FakeWatcher).Stop, apierrors.NewInternalError(errors.New("etcdserver: no leader")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, configMap("shop", "a", map[string]string{"team": "x"}))
			watcher, refusal := s.firstWatch(), s.refuseLists()
			s.put("1", "team")
			s.start()
			s.reports(ReasonAudited)
			require.EqualValues(t, 1, s.status().Audit.Compliant)

			require.NoError(t, s.client.Tracker().Add(configMap("shop", "b", nil))) // the watch misses it
			refusal.Store(&c.refusal)
			c.end(watcher)
			s.reports(ReasonKindNotListed)
			require.Zero(t, s.status().Audit.Compliant, "nothing is known about b")
			require.Contains(t, s.status().Conditions[0].Message, "listing ConfigMap")
			refusal.Store(nil)
			s.violations("no team", "b")
			s.reports(ReasonAudited)
		})
	}
}

// The objects of a kind that the cluster no longer serves leave the results.
func TestRemovedKind(t *testing.T) {
	t.Parallel()
	s := newSite(t, configMap("shop", "a", nil)).start()
	s.put("1", "team")
	s.violations("no team", "a")
	s.live.SetResources(admission.NewResources(nil))
	s.violations("")
	require.Eventually(t, func() bool { return s.ledger.Len() == 0 }, 20*time.Second, 20*time.Millisecond)
}

// throttlingServer refuses the first requests, and asks for a pause.
type throttlingServer struct {
	mu    sync.Mutex
	times []time.Time
	ready chan struct{}
}

// ServeHTTP implements http.Handler.
func (s *throttlingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	s.times = append(s.times, time.Now())
	n := len(s.times)
	s.mu.Unlock()
	switch {
	case n <= 2:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`)
	case r.URL.Query().Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case r.URL.Query().Get("watch") != "":
		<-r.Context().Done()
	default:
		<-s.ready
		fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}]}`)
	}
}

// Audit waits as long as a throttling API server asks for, and the status waits with it.
func TestThrottlingServer(t *testing.T) {
	t.Parallel()
	server := &throttlingServer{ready: make(chan struct{})}
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: listener.URL})
	require.NoError(t, err)
	s := newSite(t)
	s.lists = object.ListWatch(client)
	s.put("1", "team")
	s.start()
	s.reports(ReasonAuditing)
	require.Zero(t, s.status().Audit.Compliant)
	require.Nil(t, s.status().Audit.LastFullPass)
	close(server.ready)
	s.violations("no team", "a")
	server.mu.Lock()
	defer server.mu.Unlock()
	for n := range 2 {
		require.GreaterOrEqual(t, server.times[n+1].Sub(server.times[n]), time.Second, "Retry-After")
	}
}

// Admission does not wait for audit: neither for its lock, nor for its lists and evaluations.
func TestAdmissionNeverWaitsForAudit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.lists = func(admission.ServedResource) cache.ListerWatcher {
		wait := func(metav1.ListOptions) error { <-s.Context().Done(); return errors.New("ended") }
		return &cache.ListWatch{
			ListWithContextFunc:  func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) { return nil, wait(o) },
			WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) { return nil, wait(o) },
		}
	}
	s.put("1", "team")
	s.adjust(t.Context())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slot <- struct{}{} // an evaluation that does not end

	admitted := make(chan int)
	go func() {
		s.put("2", "owner")
		s.live.PutExceptions(nil)
		review, err := admission.NewReview([]byte(`{"uid":"1","operation":"CREATE","name":"a","namespace":"shop","kind":{"version":"v1","kind":"ConfigMap"},"resource":{"version":"v1","resource":"configmaps"},"object":{"metadata":{"name":"a"}}}`))
		if err != nil {
			panic(err)
		}
		admitted <- len(s.live.Snapshot().Validate(t.Context(), review, engine.Options{}).Denials)
	}()
	select {
	case denials := <-admitted:
		require.Equal(t, 1, denials)
	case <-time.After(20 * time.Second):
		t.Fatal("admission waits for audit")
	}
}
