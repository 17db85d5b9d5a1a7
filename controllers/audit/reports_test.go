package audit

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
)

// Refused writes stay in the problem until they succeed, also while other reports are written,
// and are repeated.
func TestRefusedReports(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{
		"forbidden":      apierrors.NewForbidden(schema.GroupResource{Resource: "reports"}, "r", errors.New("no")),
		"invalid":        apierrors.NewInvalid(schema.GroupKind{Kind: "Report"}, "r", nil),
		"a full etcd":    apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded")),
		"a quota":        apierrors.NewForbidden(schema.GroupResource{Resource: "reports"}, "r", errors.New("exceeded quota")),
		"a read-only":    apierrors.NewServiceUnavailable("read-only"),
		"a slow server":  apierrors.NewTimeoutError("later", 1),
		"a busy server":  apierrors.NewTooManyRequests("later", 1),
		"a conflict":     apierrors.NewConflict(schema.GroupResource{Resource: "reports"}, "r", errors.New("changed")),
		"a large object": apierrors.NewRequestEntityTooLargeError("too large"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewSimpleDynamicClient(runtime.NewScheme())
			refused, written := true, map[string]int{}
			client.PrependReactor("patch", "reports", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if action.GetNamespace() == "refused" && refused {
					return true, nil, refusal
				}
				written[action.GetNamespace()]++
				object := configMap(action.GetNamespace(), action.(clienttesting.PatchAction).GetName(), nil)
				object.SetResourceVersion("1")
				return true, object, nil
			})
			now := time.Unix(1_800_000_000, 0)
			r := newReporter(&reporter{
				ledger: audit.NewLedger(10), format: audit.OpenReports, limit: 10, writer: client,
				isReady: func(string) bool { return true }, owns: func(string) bool { return true }, mayWrite: func() bool { return true },
				metrics: newMetrics(prometheus.NewRegistry()), now: func() time.Time { return now },
			})
			r.listed[true], r.listed[false] = true, true
			pass := func() {
				r.flush(t.Context())
				now = now.Add(2 * time.Minute)
				r.flush(t.Context())
			}
			for _, namespace := range []string{"a", "refused", "z"} {
				r.ledger.Set(audit.Object{Kind: admission.PodKind, Namespace: namespace, Name: "web"}, audit.Digest{1}, []audit.Result{{Source: "s", Policy: "p", Outcome: audit.Fail, Message: "no"}}, now)
			}
			for range 5 {
				pass()
				require.Contains(t, r.problem(), "applying Report refused/lintel-s: ")
			}
			require.Equal(t, map[string]int{"a": 1, "z": 1}, written, "the others are written, once")
			require.GreaterOrEqual(t, testutil.ToFloat64(r.metrics.failures), 5.0)
			refused = false
			pass()
			require.Empty(t, r.problem())
			require.Equal(t, 1, written["refused"])
		})
	}
}

// A report that is no longer wanted does not count as a problem, although its last write was refused.
func TestRefusedReportThatIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("patch", "reports", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("read-only")
	})
	now := time.Unix(1_800_000_000, 0)
	r := newReporter(&reporter{
		ledger: audit.NewLedger(10), format: audit.OpenReports, limit: 10, writer: client,
		isReady: func(string) bool { return true }, owns: func(string) bool { return true }, mayWrite: func() bool { return true },
		metrics: newMetrics(prometheus.NewRegistry()), now: func() time.Time { return now },
	})
	r.listed[true], r.listed[false] = true, true
	web := audit.Object{Kind: admission.PodKind, Namespace: "shop", Name: "web"}
	r.ledger.Set(web, audit.Digest{1}, []audit.Result{{Source: "s", Policy: "p", Outcome: audit.Fail, Message: "no"}}, now)
	for _, want := range []bool{true, false} {
		r.flush(t.Context())
		now = now.Add(2 * time.Minute)
		r.flush(t.Context())
		require.Equal(t, want, r.problem() != "")
		r.ledger.Remove(web)
	}
}

// While a cluster serves no reports, the problem keeps its text: otherwise the status of all sources
// is written with each attempt.
func TestMissingReportsAreOneProblem(t *testing.T) {
	t.Parallel()
	r := newReporter(&reporter{format: audit.OpenReports, ledger: audit.NewLedger(10)})
	missing := apierrors.NewNotFound(schema.GroupResource{}, "")
	r.cannotList(t.Context(), false, missing)
	r.cannotList(t.Context(), true, missing)
	problem := r.problem()
	require.Contains(t, problem, "does not serve reports.openreports.io")
	for _, namespaced := range []bool{false, true, false} {
		r.cannotList(t.Context(), namespaced, missing)
		require.Equal(t, problem, r.problem())
	}
	require.NoError(t, (&reportStore{r, true}).Replace(nil, "1"))
	require.Contains(t, r.problem(), "does not serve clusterreports.openreports.io")
	require.NoError(t, (&reportStore{r, false}).Replace(nil, "1"))
	require.Empty(t, r.problem())
}
