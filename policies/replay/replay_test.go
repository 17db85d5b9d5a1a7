package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/test/properties"
)

var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func snapshotOf(t testing.TB, source string, files map[string]string, exceptions ...*exception.Exception) *engine.Snapshot {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: source, Revision: "r", Files: files})
	require.NoError(t, err)
	return engine.NewSnapshotWithExceptions(admission.BuiltinResources(), exceptions, set)
}

// policy is a policy about Pods and Secrets with rules.
func policy(rules string) map[string]string {
	return map[string]string{"p.rego": "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}, {group: \"\", kind: Secret}]}\npackage p\n\nimport rego.v1\n\n" + rules + "\n"}
}

func podRequest(uid, image string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"uid":%q,"operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"userInfo":{"username":"jane"},"name":"web","namespace":"shop","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop",
		"labels":{"pod-template-hash":"abc"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-abc","controller":true}]},
		"spec":{"containers":[{"name":"web","image":%q,"env":[{"name":"A","value":"masked"}]}]}},"oldObject":null,"dryRun":false,"options":null}`, uid, image))
}

// recorded is the record of an entry as the manager writes it.
func recorded(t testing.TB, snapshot *engine.Snapshot, entry string, request json.RawMessage, at time.Time) *record.Record {
	t.Helper()
	review, err := admission.NewReview(request)
	require.NoError(t, err)
	r := &record.Record{Schema: record.Schema, Time: at, Entry: entry, Request: request, Decision: record.Decision{Allowed: true}}
	if snapshot == nil {
		return r
	}
	options := engine.Options{Clock: func() time.Time { return at }}
	var d *engine.Decision
	if strings.HasPrefix(entry, "mutate/") {
		mutation := snapshot.Mutate(t.Context(), review, options)
		if r.Decision.Patch, err = json.Marshal(mutation.Patch); len(mutation.Patch) == 0 {
			r.Decision.Patch = nil
		}
		require.NoError(t, err)
		d = &mutation.Decision
	} else {
		d = snapshot.Validate(t.Context(), review, options)
	}
	r.Decision.Allowed, r.Decision.Policies, r.Decision.Snapshot = d.Allowed(), d.Policies, snapshot.Digest()
	for _, f := range d.Denials {
		r.Decision.Denials = append(r.Decision.Denials, findingOf(f))
	}
	for _, f := range d.Warnings {
		r.Decision.Warnings = append(r.Decision.Warnings, findingOf(f))
	}
	return r
}

func replayed(t *testing.T, candidate, baseline *engine.Snapshot, records ...*record.Record) *Result {
	t.Helper()
	result, err := New(candidate, baseline, time.Now()).Evaluate(t.Context(), &Request{"u", records})
	require.NoError(t, err)
	return result
}

const entry = "validate/policies-fail"

var (
	denyLatest = `deny contains "no tag" if some c in input.request.object.spec.containers; not contains(c.image, ":")`
	warnLatest = strings.Replace(denyLatest, "deny", "warn", 1)
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	deny, warn, none := strings.Replace(denyLatest, "if some", "if { some", 1)+" }", strings.Replace(warnLatest, "if some", "if { some", 1)+" }", "deny contains \"x\" if false"
	patch := `defaults := {"spec": {"hostNetwork": false}}`
	for name, test := range map[string]struct {
		before, after string
		image         string
		entry         string
		want          Outcome
		policies      []string
	}{
		"newly denied":       {none, deny, "nginx", entry, NewlyDenied, []string{"s/p"}},
		"newly admitted":     {deny, none, "nginx", entry, NewlyAdmitted, []string{"s/p"}},
		"denied as before":   {deny, deny, "nginx", entry, Same, nil},
		"admitted as before": {deny, deny, "nginx:1", entry, Same, nil},
		"warned":             {none, warn, "nginx", entry, WarningsChanged, []string{"s/p"}},
		"no longer warned":   {warn, none, "nginx", entry, WarningsChanged, []string{"s/p"}},
		"denied, not warned": {warn, deny, "nginx", entry, NewlyDenied, []string{"s/p"}},
		"another patch":      {`defaults := {"spec": {"hostPID": false}}`, patch, "nginx", "mutate/policies-fail", PatchChanged, nil},
		"the same patch":     {patch, patch, "nginx", "mutate/policies-fail", Same, nil},
		"a new patch":        {none, patch, "nginx", "mutate/policies-fail", PatchChanged, nil},
		"an invalid patch":   {none, `patch contains {"op": "remove", "path": "/none"}`, "nginx", "mutate/policies-fail", NewlyDenied, []string{"s/p"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := snapshotOf(t, "s", policy(test.before)), snapshotOf(t, "s", policy(test.after))
			one := recorded(t, before, test.entry, podRequest("u", test.image), epoch)
			for _, baseline := range []*engine.Snapshot{nil, before} {
				got := replayed(t, after, baseline, one)
				require.Equal(t, test.want, got.Outcome)
				require.Equal(t, test.policies, got.Policies())
				require.Equal(t, "Deployment/web", got.Workload)
				require.Equal(t, "CREATE Pod shop/web", got.Title())
			}
		})
	}
}

// TestOtherSourcesStay: recorded findings of sources that the candidate does not replace.
func TestOtherSourcesStay(t *testing.T) {
	t.Parallel()
	deny := policy(`deny contains "no"`)
	none := policy(`deny contains "no" if false`)
	other := recorded(t, snapshotOf(t, "other", deny), entry, podRequest("u", "nginx"), epoch)
	require.Equal(t, Same, replayed(t, snapshotOf(t, "s", none), nil, other).Outcome, "still denied")
	require.Equal(t, Same, replayed(t, snapshotOf(t, "s", deny), nil, other).Outcome, "denied already")
	require.Equal(t, NewlyAdmitted, replayed(t, snapshotOf(t, "other", none), nil, other).Outcome)
	require.Equal(t, Same, replayed(t, snapshotOf(t, "other", none), snapshotOf(t, "other", none), other).Outcome)
	builtin := recorded(t, nil, "validate/openvox", podRequest("u", "nginx"), epoch)
	builtin.Decision.Allowed, builtin.Decision.Denials = false, []record.Finding{{Policy: "openvox", Msg: "no"}}
	require.Equal(t, Same, replayed(t, snapshotOf(t, "s", deny), nil, builtin).Outcome, "the rules of a system deny it")
}

// TestEntriesAreOneRequest: the findings of all entries count together.
func TestEntriesAreOneRequest(t *testing.T) {
	t.Parallel()
	deny := snapshotOf(t, "s", policy(`deny contains "no"`))
	fail := recorded(t, deny, entry, podRequest("u", "nginx"), epoch)
	ignore := recorded(t, nil, "validate/policies-ignore", podRequest("u", "nginx"), epoch.Add(time.Second))
	require.Equal(t, Same, replayed(t, deny, nil, ignore, fail).Outcome)

	records := func(yield func(*record.Record, error) bool) {
		late := recorded(t, nil, entry, podRequest("v", "nginx"), epoch.Add(10*time.Minute))
		again := recorded(t, nil, entry, podRequest("u", "nginx"), epoch.Add(11*time.Minute))
		for _, one := range []*record.Record{ignore, fail, {Time: epoch, Request: json.RawMessage(`[`)}, late, again} {
			if !yield(one, nil) {
				return
			}
		}
	}
	var sizes []int
	for request, err := range GroupRequests(records) {
		require.NoError(t, err)
		sizes = append(sizes, len(request.Records))
		require.True(t, slices.IsSortedFunc(request.Records, func(a, b *record.Record) int { return a.Time.Compare(b.Time) }))
	}
	require.Equal(t, []int{2, 1, 1, 1}, sizes)
}

// TestMaskedAndMissingData: what a record lacks is never guessed.
func TestMaskedAndMissingData(t *testing.T) {
	t.Parallel()
	const reads = "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\n#   requires: [{group: \"\", kind: Service}]\npackage p\n\nimport rego.v1\n\n"
	value := `deny contains "v" if { some c in input.request.object.spec.containers; some e in c.env; e.value == "x" }`
	image := `deny contains "i" if { some c in input.request.object.spec.containers; c.image == "nginx" }`
	lookup := reads + `deny contains "s" if data.cluster.Service.shop.web.spec.type == "LoadBalancer"` + "\n"
	iterate := reads + `deny contains "s" if { some s in data.cluster.Service.shop; s.spec.type == "LoadBalancer" }` + "\n"
	service := json.RawMessage(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop"},"spec":{"type":"LoadBalancer"}}`)
	fields := func(field string) *clusterdata.Fields {
		f := &clusterdata.Fields{}
		require.NoError(t, json.Unmarshal([]byte(`{"fields":{"spec":{"fields":{"`+field+`":{"whole":true}}}}}`), f))
		return f
	}
	for name, test := range map[string]struct {
		files   map[string]string
		masked  []string
		cluster []record.ClusterData
		want    Outcome
		reason  string
	}{
		"masked, read":             {policy(value), []string{"/object/spec/containers/0/env/0/value"}, nil, Undecided, "it reads input.request.object.spec.containers[0].env[0].value, which is masked or not recorded"},
		"masked, not read":         {policy(image), []string{"/object/spec/containers/0/env/0/value"}, nil, NewlyDenied, ""},
		"masked, and denied":       {map[string]string{"p.rego": policy(value)["p.rego"], "q.rego": strings.Replace(policy(image)["p.rego"], "package p", "package q", 1)}, []string{"/object/spec/containers/0/env/0/value"}, nil, NewlyDenied, "it reads input.request.object.spec.containers[0].env[0].value, which is masked or not recorded"},
		"masked label":             {policy(image), []string{"/object/metadata/labels"}, nil, Undecided, "it is unknown which policies match: input.request.object.metadata.labels is masked"},
		"no cluster data":          {map[string]string{"p.rego": lookup}, nil, nil, Undecided, "it requires cluster objects (Service)"},
		"recorded object":          {map[string]string{"p.rego": lookup}, nil, []record.ClusterData{{Kind: "Service", Objects: []json.RawMessage{service}}}, NewlyDenied, ""},
		"recorded fields":          {map[string]string{"p.rego": lookup}, nil, []record.ClusterData{{Kind: "Service", Fields: fields("type"), Objects: []json.RawMessage{service}}}, NewlyDenied, ""},
		"other fields":             {map[string]string{"p.rego": lookup}, nil, []record.ClusterData{{Kind: "Service", Fields: fields("ports"), Objects: []json.RawMessage{service}}}, Undecided, "it requires cluster objects (Service)"},
		"masked object":            {map[string]string{"p.rego": lookup}, nil, []record.ClusterData{{Kind: "Service", Objects: []json.RawMessage{service}, Masked: []string{"/0/spec/type"}, Complete: true}}, Undecided, `it reads data.cluster["Service"]["shop"]["web"], which is masked or not recorded`},
		"all of the namespace":     {map[string]string{"p.rego": iterate}, nil, []record.ClusterData{{Kind: "Service", Objects: []json.RawMessage{service}, CompleteNamespaces: []string{"shop"}}}, NewlyDenied, ""},
		"absent object":            {map[string]string{"p.rego": lookup}, nil, []record.ClusterData{{Kind: "Service", Absent: []clusterdata.Key{{Namespace: "shop", Name: "web"}}}}, Same, ""},
		"unknown object":           {map[string]string{"p.rego": lookup}, nil, []record.ClusterData{{Kind: "Service"}}, Undecided, `it reads data.cluster["Service"]["shop"]["web"], which is masked or not recorded`},
		"iteration":                {map[string]string{"p.rego": iterate}, nil, []record.ClusterData{{Kind: "Service", Objects: []json.RawMessage{service}}}, Undecided, `it reads data.cluster["Service"]["shop"], which is masked or not recorded`},
		"iteration over all":       {map[string]string{"p.rego": iterate}, nil, []record.ClusterData{{Kind: "Service", Objects: []json.RawMessage{service}, Complete: true}}, NewlyDenied, ""},
		"Namespace":                {policy(`deny contains "n" if input.namespace.metadata.labels.a == "b"`), nil, nil, Undecided, `it reads input.namespace, and namespace "shop" is not at hand`},
		"masked, policy unmatched": {map[string]string{"p.rego": strings.Replace(policy(value)["p.rego"], `[{group: "", kind: Pod}, {group: "", kind: Secret}]`, `[{group: "", kind: Service}]`, 1)}, []string{"/object/spec/containers/0/env/0/value"}, nil, Same, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := recorded(t, nil, entry, podRequest("u", "nginx"), epoch)
			one.Masked, one.Cluster = test.masked, test.cluster
			got := replayed(t, snapshotOf(t, "s", test.files), nil, one)
			require.Equal(t, test.want, got.Outcome)
			if test.reason == "" {
				require.Empty(t, got.Undecided)
			} else {
				require.Len(t, got.Undecided, 1)
				require.Equal(t, test.reason, got.Undecided[0].Reason)
			}
		})
	}
}

// TestTimeOfTheRecord: policies see the time of the record, and exceptions are those of now.
func TestTimeOfTheRecord(t *testing.T) {
	t.Parallel()
	files := map[string]string{"p.rego": "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\n#   clock: true\npackage p\n\nimport rego.v1\n\n" +
		fmt.Sprintf("deny contains \"early\" if time.now_ns() < %d\n", epoch.UnixNano())}
	candidate := snapshotOf(t, "s", files)
	require.Equal(t, NewlyDenied, replayed(t, candidate, nil, recorded(t, nil, entry, podRequest("u", "x"), epoch.Add(-time.Minute))).Outcome)
	require.Equal(t, Same, replayed(t, candidate, nil, recorded(t, nil, entry, podRequest("u", "x"), epoch)).Outcome)

	exempt := &exception.Exception{Name: "e", Source: "s", Policy: "p", Scope: hierarchy.Key{Level: hierarchy.Enterprise}, Expires: time.Now().Add(80 * 24 * time.Hour)}
	excepted := snapshotOf(t, "s", files, exempt)
	require.Equal(t, Same, replayed(t, excepted, nil, recorded(t, nil, entry, podRequest("u", "x"), epoch.Add(-30*24*time.Hour))).Outcome,
		"at the time of the record, the exception would last too long")
}

// TestFailedRequests: a request that could not be evaluated has no decision to compare with.
func TestFailedRequests(t *testing.T) {
	t.Parallel()
	one := recorded(t, nil, entry, podRequest("u", "nginx"), epoch)
	one.Decision = record.Decision{Error: "busy"}
	none := snapshotOf(t, "s", policy(`deny contains "x" if false`))
	got := replayed(t, none, nil, one)
	require.Equal(t, Undecided, got.Outcome)
	require.Contains(t, got.Undecided[0].Reason, "busy")
	require.Equal(t, Same, replayed(t, none, none, one).Outcome)
	for _, request := range []string{`{`, `[]`, `{"uid":"u"}`, `{"uid":"u","object":1}`} {
		_, err := New(none, nil, epoch).Evaluate(t.Context(), &Request{"u", []*record.Record{{Entry: entry, Request: json.RawMessage(request)}}})
		require.Error(t, err, request)
	}
	_, err := New(none, nil, epoch).Evaluate(t.Context(), &Request{"u", []*record.Record{recorded(t, nil, "other", podRequest("u", "x"), epoch)}})
	require.ErrorContains(t, err, "neither validate/ nor mutate/")
}

// samples are the policies of config/samples.
func samples(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := "../../config/samples/policies"
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".rego") || strings.HasSuffix(name, "_test.rego") {
			return err
		}
		text, err := os.ReadFile(name)
		files[filepath.ToSlash(strings.TrimPrefix(name, root+"/"))] = string(text)
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// randomPod is the request for a Pod of which some fields violate some of the samples.
func randomPod(r *rand.Rand, uid string) json.RawMessage {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	return json.RawMessage(fmt.Sprintf(`{"uid":%q,"operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"userInfo":{"username":"jane"},"name":"web","namespace":"shop","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":%s},
		"spec":{"hostNetwork":%s,"volumes":%s,"containers":[{"name":"web","image":%q,"securityContext":%s,"env":[{"name":"A","value":"v"}]}]}},"oldObject":null,"dryRun":false,"options":null}`,
		uid, pick(`{}`, `{"team":"a"}`, `{"team":""}`), pick("true", "false", "null"), pick(`[]`, `[{"name":"h","hostPath":{"path":"/"}}]`),
		pick("nginx", "nginx:latest", "registry.example.com/nginx:1.2"), pick(`{}`, `{"privileged":true}`, `{"runAsNonRoot":true,"allowPrivilegeEscalation":false}`)))
}

// TestReplayOfTheSamePolicies gives no difference, for random requests and through a store.
func TestReplayOfTheSamePolicies(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(properties.Seed(1), 1))
	snapshot := snapshotOf(t, "samples", samples(t))
	store, err := record.OpenFolder(t.TempDir())
	require.NoError(t, err)
	now := epoch
	writer, err := record.NewWriter(store, record.WriterOptions{Now: func() time.Time { return now }, FrameBytes: 4096})
	require.NoError(t, err)
	const requests = 200
	denied := 0
	for i := range requests {
		now = now.Add(time.Second)
		request := randomPod(random, fmt.Sprint("u", i))
		for _, entry := range []string{"mutate/policies-fail", entry} {
			one := recorded(t, snapshot, entry, request, now)
			if !one.Decision.Allowed {
				denied++
			}
			one.Masked = []string{"/object/spec/containers/0/env/0/value"}
			if len(one.Decision.Patch) > 0 {
				one.Masked = nil // an object with masked values cannot be patched
			}
			one.Namespace = json.RawMessage(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`)
			require.NoError(t, writer.Write(t.Context(), one))
		}
	}
	require.NoError(t, writer.Close(t.Context()))
	require.Greater(t, denied, 10)
	require.Less(t, denied, 2*requests)

	tally := NewTally()
	var order []string
	run := func(skip int64, stop int) error {
		return New(snapshot, nil, now).Run(t.Context(), GroupRequests(InOrder(t.Context(), store, time.Time{}, time.Time{})), 4, skip, func(one *Evaluated) error {
			if one.Result == nil && one.Err == nil {
				require.Equal(t, order[len(order)-1], one.Request.UID)
				return nil
			}
			require.NoError(t, one.Err)
			require.Equal(t, Same, one.Result.Outcome, "%+v", one.Result)
			require.Len(t, one.Request.Records, 2)
			tally.Add(one.Result, 3)
			order = append(order, one.Request.UID)
			if len(order) == stop {
				return context.Canceled
			}
			return nil
		})
	}
	require.ErrorIs(t, run(0, 50), context.Canceled)
	require.NoError(t, run(50, 0), "a run that is resumed")
	require.EqualValues(t, requests, tally.Requests)
	require.EqualValues(t, 2*requests, tally.Records)
	require.EqualValues(t, requests, tally.Same)
	require.Equal(t, "u0", order[0])
	require.Equal(t, fmt.Sprint("u", requests-1), order[requests-1])
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(order))), requests)
	require.ErrorIs(t, run(requests+1, 0), ErrFewer)
}

// TestMinimize removes fields that do not matter, and keeps the outcome.
func TestMinimize(t *testing.T) {
	t.Parallel()
	candidate := snapshotOf(t, "s", policy(`deny contains "i" if { some c in input.request.object.spec.containers; c.image == "nginx" }`))
	replayer := New(candidate, nil, time.Now())
	one := recorded(t, nil, entry, podRequest("u", "nginx"), epoch)
	one.Masked = []string{"/object/spec/containers/0/env/0/value"}
	result, err := replayer.Evaluate(t.Context(), &Request{"u", []*record.Record{one}})
	require.NoError(t, err)
	least := replayer.Minimize(t.Context(), result)
	require.JSONEq(t, `{"uid":"u","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"name":"web","namespace":"shop","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"image":"nginx"}]}}}`, string(least.Request))
	require.Empty(t, least.Masked)
}

// TestGroupsAreBounded: a tenant cannot fill the memory by names.
func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	tally := NewTally()
	for i := range 2 * maxGroups {
		r := &Result{Outcome: NewlyDenied, Subject: Subject{User: fmt.Sprint(i), Namespace: "n"}, Request: &Request{Records: []*record.Record{{}}}}
		r.After.Denials = []record.Finding{{Source: "s", Policy: "p"}}
		tally.Add(r, 3)
		tally.Skip("x", fmt.Sprint(i), 1)
	}
	require.Len(t, tally.Users, maxGroups+1)
	require.EqualValues(t, maxGroups, tally.Users[otherGroups].NewlyDenied)
	require.Len(t, tally.Skipped, maxReasons)
	require.Len(t, tally.Examples, 3)
	require.Equal(t, "n", Sorted(tally.Namespaces)[0].Name)
}
