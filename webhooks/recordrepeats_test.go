package webhooks

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/record"
)

const readsImages = `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Pod}]}
package team.images

import rego.v1

deny contains msg if {
	some container in input.request.object.spec.containers
	container.image == "bad"
	msg := sprintf("%s has a bad image", [input.request.object.metadata.name])
}
`

// generatedPod is a request for a Pod with a generated name, with changes.
func generatedPod(t *testing.T, n int, change func(metadata, spec map[string]any)) string {
	t.Helper()
	metadata := map[string]any{
		"name": fmt.Sprintf("web-%05d", n), "generateName": "web-", "namespace": "shop", "uid": fmt.Sprint("p", n),
		"creationTimestamp": fmt.Sprintf("2026-01-01T00:00:%02dZ", n%60), "labels": map[string]any{"app": "web"},
	}
	spec := map[string]any{"nodeName": fmt.Sprint("node-", n), "containers": []any{map[string]any{"name": "c", "image": "good"}}}
	if change != nil {
		change(metadata, spec)
	}
	text, err := json.Marshal(map[string]any{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": map[string]any{
		"uid": fmt.Sprint("u", n), "operation": "CREATE", "namespace": "shop", "name": metadata["name"],
		"kind": map[string]any{"group": "", "version": "v1", "kind": "Pod"}, "resource": map[string]any{"group": "", "version": "v1", "resource": "pods"},
		"userInfo": map[string]any{"username": "jane", "groups": []any{fmt.Sprint("g", n)}},
		"object":   map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
	}})
	require.NoError(t, err)
	return string(text)
}

func image(name string) func(_, spec map[string]any) {
	return func(_, spec map[string]any) { spec["containers"] = []any{map[string]any{"name": "c", "image": name}} }
}

// TestRepeatedRequestsAreCounted in one record, if they differ only in what no policy reads. Every
// request is in the sum.
func TestRepeatedRequestsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, compiled(t, definition.Fail, readsImages), []string{"other=1"}, func(_ *HandlerOptions, o *RecorderOptions) { o.Merge = time.Hour })
	n := 0
	send := func(times int, change func(metadata, spec map[string]any)) {
		for range times {
			n++
			r.ask(t, "/validate/fail?timeout=30s", generatedPod(t, n, change))
		}
	}
	send(20, nil)
	send(10, image("other"))
	send(5, image("bad"))
	send(1, func(metadata, _ map[string]any) { metadata["labels"] = map[string]any{"app": "api"} })
	r.end()
	counts := map[string][]int64{}
	for _, one := range r.records(t) {
		var request struct {
			Object struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct{ Containers []struct{ Image string } }
			}
		}
		require.NoError(t, json.Unmarshal(one.Request, &request))
		key := request.Object.Spec.Containers[0].Image + " " + request.Object.Metadata.Labels["app"]
		counts[key] = append(counts[key], one.Count)
	}
	require.Equal(t, map[string][]int64{"good web": {0, 19}, "other web": {0, 9}, "bad web": {0, 4}, "good api": {0}}, counts)
	require.InDelta(t, 36-7, testutil.ToFloat64(r.options.Recorder.merged), 0)
}

// TestWhatPoliciesReadSeparatesRequests: keys are equal only if policies cannot tell the requests
// apart.
func TestWhatPoliciesReadSeparatesRequests(t *testing.T) {
	t.Parallel()
	policy := func(condition string) string {
		return strings.Replace(readsImages, `container.image == "bad"`, condition, 1)
	}
	whole := strings.Replace(readsImages, "some container in input.request.object.spec.containers", "some container in [json.marshal(input)]", 1)
	whole = strings.Replace(whole, `container.image == "bad"`, `contains(container, "bad")`, 1)
	for name, c := range map[string]struct {
		module string
		change func(metadata, spec map[string]any)
		equal  bool
	}{
		"another name, uid, node and group": {readsImages, nil, true},
		"the image":                         {readsImages, image("other"), false},
		"a field that is not read":          {readsImages, func(_, spec map[string]any) { spec["hostNetwork"] = true }, true},
		"a field that is read":              {policy("input.request.object.spec.hostNetwork"), func(_, spec map[string]any) { spec["hostNetwork"] = true }, false},
		"a field at a computed name":        {policy(`input.request.object.spec[container.name] == 1`), func(_, spec map[string]any) { spec["hostNetwork"] = true }, false},
		"an annotation":                     {readsImages, func(metadata, _ map[string]any) { metadata["annotations"] = map[string]any{"a": "b"} }, true},
		"the groups":                        {policy(`"g1" in input.request.userInfo.groups`), nil, false},
		"the whole input":                   {whole, func(_, spec map[string]any) { spec["priority"] = 1 }, false},
		"another prefix":                    {readsImages, func(metadata, _ map[string]any) { metadata["generateName"], metadata["name"] = "api-", "api-00002" }, false},
		"a name by the user":                {readsImages, func(metadata, _ map[string]any) { delete(metadata, "generateName") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t, compiled(t, definition.Fail, c.module), nil, nil)
			reader := r.current().(inputReader)
			keyOf := func(body string) repeatKey {
				review, err := admission.DecodeReview([]byte(body))
				require.NoError(t, err)
				from := newRecording("validate/policies-fail", time.Now())
				from.reader = reader
				key, ok := r.options.Recorder.keyOf(from, review, &answer{})
				require.True(t, ok)
				return key
			}
			require.Equal(t, c.equal, keyOf(generatedPod(t, 1, nil)) == keyOf(generatedPod(t, 2, c.change)))
		})
	}
}

// TestRepeatsAreBounded: known requests and held records are, and no count is lost.
func TestRepeatsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRepeats(time.Minute)
	keyOf := func(n int) repeatKey { return sha256.Sum256(fmt.Append(nil, n)) }
	now := time.Unix(1000, 0)
	sent, total := 0, int64(0)
	count := func(records []*heldRecord) {
		for _, one := range records {
			total += one.record.Count
		}
	}
	for n := range 3 * maxRepeatKeys {
		for range 3 {
			sent++
			found, evicted := r.look(keyOf(n))
			count(evicted)
			switch found {
			case firstSighting:
				total++
			case repeatedRequest:
				_, evicted = r.hold(keyOf(n), &heldRecord{queuedRecord: queuedRecord{record: &record.Record{Count: 1}, bytes: 10 << 10}, since: now})
				count(evicted)
			}
		}
		require.LessOrEqual(t, len(r.known), maxRepeatKeys)
		require.LessOrEqual(t, r.bytes, int64(maxHeldBytes))
	}
	require.Empty(t, r.due(now.Add(time.Minute-1), false))
	count(r.due(now.Add(time.Minute), false))
	require.EqualValues(t, sent, total)
	require.Zero(t, r.bytes)
	require.Empty(t, r.due(now, true))
}
