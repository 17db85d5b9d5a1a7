package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/record"
)

// recorded is a handler that records to a folder.
type recorded struct {
	fixture
	path  string
	store *record.Store
	// end stores all records.
	end func()
}

func newRecorded(t *testing.T, decider Decider, sampling []string, change func(*HandlerOptions, *RecorderOptions)) recorded {
	t.Helper()
	r := recorded{path: t.TempDir()}
	var err error
	r.store, err = record.OpenFolder(r.path)
	require.NoError(t, err)
	options := RecorderOptions{
		Store: r.store, MaxRate: 1 << 30, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
	}
	options.Sampling, err = ParseRecordSampling(sampling)
	require.NoError(t, err)
	options.Mask, err = ParseRecordMask([]string{MaskEnv})
	require.NoError(t, err)
	r.fixture = newFixture(t, decider, func(o *HandlerOptions) {
		o.MaxReviewBytes = 1 << 20
		if change != nil {
			change(o, &options)
		}
		o.Recorder = NewRecorder(options)
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.options.Recorder.Start(ctx) }()
	r.end = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(r.end)
	return r
}

func (r recorded) records(t *testing.T) (records []*record.Record) {
	t.Helper()
	for one, err := range r.store.Records(t.Context(), time.Time{}, time.Time{}) {
		require.NoError(t, err)
		records = append(records, one)
	}
	return records
}

const shopLookup = `# METADATA
# custom:
#   requires: [{group: "", kind: Service}, {group: "", kind: ConfigMap}]
package team.lookup

import rego.v1

deny contains "no service" if not data.cluster.Service.shop.web.spec

deny contains "other" if data.cluster.Service.shop.missing

deny contains "bank" if data.cluster.Service.bank.web
`

// TestARecordHasTheReferencedClusterData and states which data are missing.
func TestARecordHasTheReferencedClusterData(t *testing.T) {
	t.Parallel()
	service := func(namespace, name string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":%q},"spec":{"type":"ClusterIP"}}`, name, namespace))
	}
	ask := func(module string, objects ...json.RawMessage) *record.Record {
		data, err := clusterdata.New(objects)
		require.NoError(t, err)
		r := newRecorded(t, compiled(t, definition.Fail, module), []string{"other=1"}, func(o *HandlerOptions, _ *RecorderOptions) {
			o.Cluster = func() *clusterdata.Objects { return data }
		})
		r.ask(t, "/validate/fail?timeout=30s", podRequest)
		r.end()
		records := r.records(t)
		require.Len(t, records, 1)
		require.JSONEq(t, `{"metadata":{"name":"shop"}}`, string(records[0].Namespace))
		return records[0]
	}
	looked := ask(shopLookup, service("shop", "web"), service("shop", "other"), service("front", "web"))
	require.Len(t, looked.Cluster, 1, "no policy read a ConfigMap")
	require.Equal(t, record.ClusterData{
		Kind: "Service", Objects: looked.Cluster[0].Objects, Absent: []clusterdata.Key{{Namespace: "shop", Name: "missing"}}, CompleteNamespaces: []string{"bank"},
	}, looked.Cluster[0])
	require.Len(t, looked.Cluster[0].Objects, 1)
	require.JSONEq(t, string(service("shop", "web")), string(looked.Cluster[0].Objects[0]))

	counting := strings.Replace(shopLookup, "data.cluster.Service.bank.web", "count(data.cluster.Service) > 5", 1)
	all := ask(counting, service("shop", "web"), service("shop", "other"), service("front", "web"))
	require.True(t, all.Cluster[0].Complete)
	require.Len(t, all.Cluster[0].Objects, 3)

	var many []json.RawMessage
	for n := range 5000 {
		many = append(many, service("shop", fmt.Sprint("s", n)))
	}
	cut := ask(counting, many...)
	require.False(t, cut.Cluster[0].Complete)
	require.Empty(t, cut.Cluster[0].CompleteNamespaces)
	require.Less(t, len(cut.Cluster[0].Objects), 5000)
}

func TestRecordsAreSampledByOutcomeAndPolicy(t *testing.T) {
	t.Parallel()
	denial, warning := finding("no"), finding("old")
	warning.Policy = "team.other"
	failed := finding("timeout")
	failed.Error = true
	for name, c := range map[string]struct {
		items   []string
		a       *answer
		share   float64
		outcome string
	}{
		"a denial":                 {nil, &answer{denials: []engine.Finding{denial}}, 1, "denied"},
		"an admission":             {nil, &answer{}, 0.1, "allowed"},
		"a mutation":               {[]string{"mutated=0.5"}, &answer{operations: 1}, 0.5, "mutated"},
		"an error":                 {[]string{"denied=0"}, &answer{denials: []engine.Finding{failed}}, 1, "error"},
		"a failure":                {nil, &answer{failure: errPanic}, 1, "error"},
		"the denial of a policy":   {[]string{"team.labels:denied=0.2"}, &answer{denials: []engine.Finding{denial}}, 0.2, "denied"},
		"the largest share":        {[]string{"team.labels:denied=0.2", "team.other:warned=0.7"}, &answer{denials: []engine.Finding{denial}, warnings: []engine.Finding{warning}}, 0.7, "warned"},
		"nothing else":             {[]string{"other=0"}, &answer{warnings: []engine.Finding{warning}}, 0, "warned"},
		"the last item takes part": {[]string{"allowed=0.3", "allowed=0.4"}, &answer{}, 0.4, "allowed"},
	} {
		sampling, err := ParseRecordSampling(c.items)
		require.NoError(t, err, name)
		share, outcome := sampling.share(c.a)
		require.InDelta(t, c.share, share, 1e-9, name)
		require.Equal(t, c.outcome, outcome, name)
	}
	for _, item := range []string{"denied", "denied=2", "denied=-1", "denied=NaN", "unknown=1", "team:allowed=1", ":denied=1", "=1"} {
		_, err := ParseRecordSampling([]string{item})
		require.Error(t, err, item)
	}
	selected := 0
	for n := range 10000 {
		if selects(0.1, fmt.Sprintf("8f14e45f-ceea-467f-a0e6-%012d", n)) {
			selected++
		}
	}
	require.InDelta(t, 1000, selected, 150)
}

// TestAFloodOfOneTenantLeavesRoomForOthers, in the queue and in the rate.
func TestAFloodOfOneTenantLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	q := newRecordQueue(1000, 1000/int64(rateWindow/time.Second)*3, func() time.Time { return now })
	taken := 0
	for q.reserve("flood", 10) == "" {
		taken += 10
	}
	require.Equal(t, 500, taken)
	require.Equal(t, droppedShare, q.reserve("flood", 10))
	require.Empty(t, q.reserve("other", 200))
	require.Empty(t, q.reserve("third", 100))
	require.Equal(t, droppedQueue, q.reserve("fourth", 300))
	require.Equal(t, droppedSize, q.reserve("fourth", 2000))

	// The queue is drained, but the rate remains until the next window.
	for range taken / 10 {
		q.cancel("flood", 10)
	}
	q.cancel("other", 200)
	q.cancel("third", 100)
	require.Zero(t, q.size())
	for q.reserve("flood", 10) == "" {
		q.cancel("flood", 10)
		taken += 10
	}
	require.LessOrEqual(t, taken, 3000/2)
	require.Empty(t, q.reserve("other", 200))
	now = now.Add(rateWindow)
	require.Empty(t, q.reserve("flood", 10))
	q.close()
	require.Equal(t, droppedStore, q.reserve("other", 1))
	require.False(t, q.add(queuedRecord{}))
}

// TestAFailingStoreCostsRecordsAndNoReview also covers a store that denies access or is full: each
// is an error of a write.
func TestAFailingStoreCostsRecordsAndNoReview(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, compiled(t, definition.Fail, teamLabel), []string{"other=1"}, nil)
	require.NoError(t, os.RemoveAll(r.path))
	for range 3 {
		require.True(t, r.ask(t, "/validate/fail?timeout=30s", podRequest).Allowed)
	}
	r.end()
	recorder := r.options.Recorder
	require.InDelta(t, 3, testutil.ToFloat64(recorder.dropped.WithLabelValues(droppedStore)), 0)
	require.InDelta(t, 1, testutil.ToFloat64(recorder.failing), 0)
	require.InDelta(t, 0, testutil.ToFloat64(recorder.storedAt), 0)
	require.True(t, r.ask(t, "/validate/fail?timeout=30s", podRequest).Allowed)
	require.InDelta(t, 4, testutil.ToFloat64(recorder.dropped.WithLabelValues(droppedStore)), 0)
}

// TestASpoolThatIsNotMovedIsFailing: also while the manager can write to the folder.
func TestASpoolThatIsNotMovedIsFailing(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, compiled(t, definition.Fail, teamLabel), []string{"other=1"}, func(_ *HandlerOptions, options *RecorderOptions) {
		options.Writer.Spool = true
		earlier, err := record.NewWriter(options.Store, record.WriterOptions{})
		require.NoError(t, err)
		require.NoError(t, earlier.Write(t.Context(), &record.Record{Schema: record.Schema, Time: time.Now().Add(-time.Hour)}))
		require.NoError(t, earlier.Close(t.Context()))
	})
	recorder := r.options.Recorder
	require.Eventually(t, func() bool { return testutil.ToFloat64(recorder.failing) == 1 }, time.Minute, time.Millisecond)
	require.True(t, r.ask(t, "/validate/fail?timeout=30s", podRequest).Allowed)
	r.end()
	require.Positive(t, testutil.ToFloat64(recorder.storedAt), "the record is in the folder")
	require.InDelta(t, 1, testutil.ToFloat64(recorder.failing), 0)
}

// TestReviewsThatWereNotEvaluatedAreNotRecorded: they have no decision of policies.
func TestReviewsThatWereNotEvaluatedAreNotRecorded(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, compiled(t, definition.Fail, teamLabel), []string{"other=1"}, nil)
	r.post("/validate/fail", "{}")
	r.post("/validate/fail", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","object":7}}`)
	r.end()
	require.Empty(t, r.records(t))
}
