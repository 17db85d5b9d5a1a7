package orloj

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
	"github.com/lintel-policy/lintel/test/orlojd"
)

// peer is a double of orlojd, or a real one: see its package.
var peer *orlojd.Peer

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if peer, err = orlojd.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer peer.Stop()
		return m.Run()
	}())
}

// upkeep is what a manager of one cluster does to the rows of its objects, without an
// API server: the objects are here.
type upkeep struct {
	reconcilers map[string]*reconciler
	keeper      *keeper
	objects     map[string]v1.Object // by kind and name
	scans       int
	writes      []string
	events      *events.FakeRecorder
}

func newUpkeep(t *testing.T, cluster string) *upkeep {
	t.Helper()
	rows, err := store.New(t.Context(), store.Options{DSN: peer.DSN, Key: os.Getenv("ORLOJ_SECRET_ENCRYPTION_KEY")})
	require.NoError(t, err)
	t.Cleanup(rows.Close)
	counted := newMetrics(prometheus.NewRegistry(), rows.Transactions)
	compiled, err := rules.New()
	require.NoError(t, err)
	u := &upkeep{reconcilers: map[string]*reconciler{}, objects: map[string]v1.Object{}, events: events.NewFakeRecorder(1000)}
	options := options{
		settings: settings{driftInterval: time.Minute}, store: rows, events: u.events,
		admit: func(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
			return compiled.Evaluate(ctx, object, []byte(`{"metadata":{"name":"rest"}}`), rules.Restricted)
		},
	}
	u.keeper = &keeper{options: options, metrics: counted, outage: &outage{metrics: counted}, cluster: &cluster}
	for _, one := range allKinds() {
		u.reconcilers[one.Kind] = &reconciler{
			kind: one, options: options, ledger: newLedger(), outage: u.keeper.outage, metrics: counted, cluster: &cluster,
			look: make(chan event.GenericEvent, 1000),
		}
	}
	t.Cleanup(func() {
		for _, r := range u.reconcilers {
			_, _ = pool(t).Exec(context.Background(), "DELETE FROM "+r.Name+" WHERE namespace = 'rest'")
		}
	})
	return u
}

func pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(context.Background(), peer.DSN)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// apply is an object that its user applies.
func (u *upkeep) apply(t *testing.T, kind, name, uid, spec string) v1.Object {
	t.Helper()
	object := u.reconcilers[kind].object()
	require.NoError(t, json.Unmarshal([]byte(`{"kind":"`+kind+`","spec":`+spec+`}`), object))
	object.SetNamespace("rest")
	object.SetName(name)
	object.SetUID(types.UID(uid))
	object.SetGeneration(1)
	object.SetFinalizers([]string{v1.Finalizer})
	if before := u.objects[kind+" "+name]; before != nil {
		object.SetGeneration(before.GetGeneration() + 1)
		*object.SyncStatus() = *before.SyncStatus()
	}
	u.objects[kind+" "+name] = object
	u.sync(t, kind, object)
	return object
}

func (u *upkeep) sync(t *testing.T, kind string, object v1.Object) {
	t.Helper()
	r := u.reconcilers[kind]
	o, err := r.store(t.Context(), object)
	require.NoError(t, err)
	require.Empty(t, o.denied, kind)
	if o.result.Written() {
		u.writes = append(u.writes, kind+" "+object.GetName())
	}
	before := object.SyncStatus().DeepCopy()
	*object.SyncStatus() = nextStatus(object, o, noon)
	send(u.events, object, before)
}

func send(recorder events.EventRecorder, of v1.Object, before *v1.Status) {
	object.Send(recorder, of, "Sync", object.Changes(news, before.Conditions, of.SyncStatus().Conditions)...)
}

// drift is one look for drift, and what follows.
func (u *upkeep) drift(t *testing.T) {
	t.Helper()
	u.scans++
	for kind, r := range u.reconcilers {
		require.NoError(t, u.keeper.scan(t.Context(), r, u.scans))
		for len(r.look) > 0 {
			name := client.ObjectKeyFromObject((<-r.look).Object)
			u.sync(t, kind, u.objects[kind+" "+name.Name])
		}
	}
}

func (u *upkeep) recordedEvents() (told []string) {
	for len(u.events.Events) > 0 {
		told = append(told, <-u.events.Events)
	}
	slices.Sort(told)
	return told
}

func conditionOf(object v1.Object) string {
	condition := meta.FindStatusCondition(object.SyncStatus().Conditions, v1.ConditionSynced)
	return string(condition.Status) + " " + condition.Reason + ": " + condition.Message
}

// richSpecs maps specs with fields that orlojd 0.3 does not know to these fields.
var richSpecs = map[string][2]string{
	"Agent":         {`{"model_ref":"m","prompt":"p"}`, ""},
	"AgentPolicy":   {`{"blocked_tools":["shell"],"max_child_depth":2,"target_agents":["a"]}`, "spec.max_child_depth, spec.target_agents"},
	"AgentSystem":   {`{"agents":["a","b"],"graph":{"a":{"edges":[{"to":"b","condition":{"default":true}}]},"b":{"review":{"checkpoint_id":"c"}}}}`, "spec.graph.a.edges[0].condition, spec.graph.b.review"},
	"McpServer":     {`{"transport":"http","endpoint":"http://127.0.0.1:1","idle_timeout":"5m"}`, "spec.idle_timeout"},
	"Memory":        {`{"type":"in-memory","endpoint_secret_ref":"s"}`, "spec.endpoint_secret_ref"},
	"ModelEndpoint": {`{"provider":"ollama","default_model":"m"}`, "spec.allowPrivate"},
	"Secret":        {`{"stringData":{"k":"v"}}`, ""},
	"Tool":          {`{"type":"http","endpoint":"http://127.0.0.1:1","wasm":{"module":"m","enable_wasi":true}}`, "spec.wasm"},
}

// TestItRestsBesideOrlojd: orlojd drops fields with its own writes. A field that is dropped
// twice is reported once and then left alone, so that Lintel and orlojd stop overwriting each
// other.
func TestItRestsBesideOrlojd(t *testing.T) {
	u := newUpkeep(t, "c1")
	for kind, spec := range richSpecs {
		u.apply(t, kind, "rich", "rich-"+kind, spec[0])
	}
	u.apply(t, "McpServer", "plain", "plain-mcp", `{"transport":"http","endpoint":"http://127.0.0.1:1"}`)
	u.apply(t, "Tool", "plain", "plain-tool", `{"endpoint":"http://127.0.0.1:1"}`)
	u.apply(t, "AgentSystem", "plain", "plain-system", `{"agents":["a"]}`)
	for range 4 {
		require.NoError(t, peer.Settle(t.Context(), "rest"))
		u.drift(t)
	}
	written := len(u.writes)
	for range 2 {
		require.NoError(t, peer.Settle(t.Context(), "rest"))
		u.drift(t)
	}
	require.Len(t, u.writes, written, "at rest: %v", u.writes)
	counts := map[string]int{}
	for _, write := range u.writes {
		counts[write]++
	}
	told := u.recordedEvents()
	for kind, spec := range richSpecs {
		require.LessOrEqual(t, counts[kind+" rich"], 2, kind)
		object := u.objects[kind+" rich"]
		if spec[1] == "" {
			require.Equal(t, "True Synced: stored as rest/rich", conditionOf(object), kind)
			continue
		}
		words := "stored as rest/rich, but this orlojd does not keep " + spec[1] + ": it was gone twice after it had been written, and has no effect; take it out, or upgrade orlojd"
		require.Equal(t, "True NotKept: "+words, conditionOf(object), kind)
		require.True(t, meta.IsStatusConditionTrue(object.SyncStatus().Conditions, v1.ConditionReady))
		require.Contains(t, told, "Warning NotKept "+words)
	}
	require.Len(t, slices.DeleteFunc(told, func(event string) bool { return !strings.Contains(event, " NotKept ") }), 6, "each is told once")
	for _, plain := range []string{"McpServer plain", "Tool plain", "AgentSystem plain"} {
		require.Equal(t, 1, counts[plain], plain)
	}
	require.NotContains(t, strings.Join(told, "\n"), reasonRepaired)
}

// TestWhatIsLostIsNoLeaveToEdit: an edit of a row with lost fields is undone as often as it is
// repeated. Newer fields that the store has kept once are always restored.
func TestWhatIsLostIsNoLeaveToEdit(t *testing.T) {
	u := newUpkeep(t, "c1")
	policy := u.apply(t, "AgentPolicy", "p", "p", richSpecs["AgentPolicy"][0])
	for range 3 {
		require.NoError(t, peer.Settle(t.Context(), "rest"))
		u.drift(t)
	}
	require.Contains(t, conditionOf(policy), "True NotKept")
	for range 4 {
		_, err := pool(t).Exec(t.Context(), "UPDATE agent_policies SET payload = payload #- '{spec,blocked_tools}' WHERE name = 'rest/p'")
		require.NoError(t, err)
		u.drift(t)
		var tools string
		require.NoError(t, pool(t).QueryRow(t.Context(), "SELECT payload->'spec'->>'blocked_tools' FROM agent_policies WHERE name = 'rest/p'").Scan(&tools))
		require.Equal(t, `["shell"]`, tools)
		require.NoError(t, peer.Settle(t.Context(), "rest"))
	}
	require.Contains(t, conditionOf(policy), "True NotKept")
}

// TestNewerOrlojd uses an orlojd that adds zeros to every Tool and keeps newer fields: an edit
// of these fields is always undone, and fields that an older orlojd lost are restored.
func TestNewerOrlojd(t *testing.T) {
	u := newUpkeep(t, "c1")
	touch := func(statement string) {
		_, err := pool(t).Exec(t.Context(), "UPDATE agent_policies SET payload = jsonb_set("+statement+`, '{metadata,resourceVersion}', to_jsonb((random() * 1e9)::int::text)) WHERE name = 'rest/p'`)
		require.NoError(t, err)
		u.drift(t)
	}
	depth := func() (depth string) {
		require.NoError(t, pool(t).QueryRow(t.Context(), "SELECT COALESCE(payload->'spec'->>'max_child_depth', '') FROM agent_policies WHERE name = 'rest/p'").Scan(&depth))
		return depth
	}
	policy := u.apply(t, "AgentPolicy", "p", "p", `{"blocked_tools":["shell"],"max_child_depth":2}`)
	touch("payload")
	for range 4 {
		touch("payload #- '{spec,max_child_depth}'")
		require.Equal(t, "2", depth())
	}
	require.Contains(t, conditionOf(policy), "True Synced")

	// It is replaced by an older one, and that by a newer one.
	policy = u.apply(t, "AgentPolicy", "p", "p", `{"blocked_tools":["shell"],"max_child_depth":3}`)
	touch("payload #- '{spec,max_child_depth}'")
	touch("payload #- '{spec,max_child_depth}'")
	require.Contains(t, conditionOf(policy), "True NotKept")
	require.Empty(t, depth())
	policy = u.apply(t, "AgentPolicy", "p", "p", `{"blocked_tools":["shell","browser"],"max_child_depth":3}`)
	require.Contains(t, conditionOf(policy), "True NotKept", "it is not known yet that it is kept")
	touch("payload")
	require.Contains(t, conditionOf(policy), "True Synced")
	require.Equal(t, "3", depth())
	u.recordedEvents()

	if peer.Double == nil {
		return
	}
	u.reconcilers["AgentPolicy"].ledger.forget("p")
	peer.Double.AddsZeros = true
	t.Cleanup(func() { peer.Double.AddsZeros = false })
	u.apply(t, "Tool", "t", "t", `{"endpoint":"http://127.0.0.1:1"}`)
	written := len(u.writes)
	for range 3 {
		require.NoError(t, peer.Settle(t.Context(), "rest"))
		u.drift(t)
	}
	require.Len(t, u.writes, written)
	require.Empty(t, u.recordedEvents())
}

// TestTwoClustersOnOneStore: both have an object of one name in one namespace.
func TestTwoClustersOnOneStore(t *testing.T) {
	const spec = `{"model_ref":"m","prompt":"p"}`
	older, newer := newUpkeep(t, "c1"), newUpkeep(t, "c2")
	first := older.apply(t, "Agent", "a", "u1", spec)
	second := newer.apply(t, "Agent", "a", "u2", strings.Replace(spec, `"p"`, `"q"`, 1))
	require.Contains(t, conditionOf(first), "True Synced")
	require.Contains(t, conditionOf(second), "False OtherCluster: the row rest/a belongs to Agent rest/a of another cluster (c1; this one is c2), which had it first")
	require.Equal(t, v1.PhaseSyncError, second.SyncStatus().Phase)
	require.Empty(t, second.SyncStatus().StoreKey)
	require.Contains(t, newer.recordedEvents()[0], "Warning OtherCluster")

	// An edit through orlojd's API takes the marks out, or the row. The newer one looks
	// first, and leaves it to the older one.
	for _, edit := range []string{"UPDATE agents SET payload = payload #- '{metadata,annotations}' WHERE name = 'rest/a'", "DELETE FROM agents WHERE name = 'rest/a'"} {
		_, err := pool(t).Exec(t.Context(), edit)
		require.NoError(t, err)
		newer.sync(t, "Agent", second)
		newer.sync(t, "Agent", second)
		require.Contains(t, conditionOf(second), "False StoreKeyReleased")
		older.drift(t)
		newer.sync(t, "Agent", second)
		require.Contains(t, conditionOf(second), "False OtherCluster")
		var prompt string
		require.NoError(t, pool(t).QueryRow(t.Context(), "SELECT payload->'spec'->>'prompt' FROM agents WHERE name = 'rest/a'").Scan(&prompt))
		require.Equal(t, "p", prompt)
	}
	require.Contains(t, conditionOf(first), "True Synced")
}
