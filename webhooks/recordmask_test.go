package webhooks

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/test/properties"
)

// written returns all that is in a folder, with segments decompressed.
func written(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	require.NoError(t, filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		plain, err := decoder.DecodeAll(text, nil)
		all.WriteString(name + "\n" + string(text) + "\n" + string(plain) + "\n")
		return err
	}))
	return all.String()
}

// quotingPolicy quotes all values that it reads: in messages, fields, details, defaults and patches.
const quotingPolicy = `# METADATA
# custom:
#   match:
#     kinds: [{group: "*", kind: "*"}]
#     operations: [CREATE, UPDATE, DELETE]
#   requires: [{group: "", kind: Secret}]
package team.quotes

import rego.v1

objects contains input.request.object if input.request.object != null

objects contains input.request.oldObject if input.request.oldObject != null

texts contains value if {
	some object in objects
	walk(object, [_, value])
	is_string(value)
}

deny contains {"msg": sprintf("value %s", [text]), "field": text, "details": {text: [text]}} if some text in texts

deny contains sprintf("decoded %s", [base64.decode(text)]) if {
	some text in texts
	base64.is_valid(text)
}

deny contains sprintf("encoded %s quoted %q upper %s", [base64.encode(text), text, upper(text)]) if some text in texts

warn contains sprintf("all %s", [json.marshal(input.request.object)])

warn contains sprintf("from the cluster %v", [data.cluster.Secret.shop.stored.data])

defaults := {"metadata": {"annotations": {sprintf("copy-%d", [i]): text | some i, text in [text | some text in texts]}}}
`

// canaries creates values that must not be written.
type canaries struct {
	random *rand.Rand
	values []string
}

func (c *canaries) next() string {
	letters := []string{"q", "Z", "7", "é", "-", "/", "\n", "\"", "\\", "<", " "}
	var b strings.Builder
	fmt.Fprintf(&b, "canary%x", c.random.Uint64())
	for range c.random.IntN(20) {
		b.WriteString(letters[c.random.IntN(len(letters))])
	}
	fmt.Fprintf(&b, "%x", c.random.Uint64())
	c.values = append(c.values, b.String())
	return b.String()
}

func (c *canaries) encoded() string {
	return base64.StdEncoding.EncodeToString([]byte(c.next()))
}

// object returns a random object with canaries in masked locations.
func (c *canaries) object() (kind admission.GroupVersionKind, object map[string]any) {
	metadata := map[string]any{"name": "n", "namespace": "shop", "annotations": map[string]any{"other": "public"}, "managedFields": []any{map[string]any{"manager": "kubectl"}}}
	containers := func() []any {
		return []any{map[string]any{"name": "app", "image": "nginx", "env": []any{
			map[string]any{"name": "A", "value": c.next()}, map[string]any{"name": "B", "value": c.next()},
		}}}
	}
	pod := func() map[string]any {
		return map[string]any{"containers": containers(), "initContainers": containers(), "ephemeralContainers": containers()}
	}
	object = map[string]any{"metadata": metadata}
	switch c.random.IntN(8) {
	case 0, 1:
		kind = admission.GroupVersionKind{Version: "v1", Kind: "Secret"}
		object["data"] = map[string]any{"a": c.encoded(), "b": c.encoded()}
		object["stringData"] = map[string]any{"c": c.next(), ".dockerconfigjson": `{"auths":{"r":{"password":"` + strings.NewReplacer(`"`, ``, `\`, ``, "\n", "").Replace(c.next()) + `"}}}`}
	case 2:
		kind = admission.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}
		object["status"] = map[string]any{"token": c.next()}
	case 3:
		kind = admission.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenReview"}
		object["spec"] = map[string]any{"token": c.next()}
	case 4:
		kind = admission.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
		object["spec"] = map[string]any{"template": map[string]any{"spec": pod()}}
	case 5:
		kind = admission.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
		object["spec"] = map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod()}}}}
	default:
		kind = admission.GroupVersionKind{Version: "v1", Kind: "Pod"}
		object["spec"] = pod()
	}
	object["apiVersion"], object["kind"] = strings.TrimPrefix(kind.Group+"/"+kind.Version, "/"), kind.Kind
	return kind, object
}

func (c *canaries) review(t *testing.T, n int) string {
	t.Helper()
	kind, object := c.object()
	request := map[string]any{
		"uid": fmt.Sprint(n), "kind": kind, "resource": map[string]any{"group": kind.Group, "version": kind.Version, "resource": strings.ToLower(kind.Kind) + "s"},
		"operation": "CREATE", "namespace": "shop", "name": "n", "object": object, "userInfo": map[string]any{"username": "jane"},
	}
	request["kind"] = map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}
	var old map[string]any
	for other := (admission.GroupVersionKind{}); other != kind; {
		other, old = c.object()
	}
	applied, err := json.Marshal(old)
	require.NoError(t, err)
	object["metadata"].(map[string]any)["annotations"].(map[string]any)["kubectl.kubernetes.io/last-applied-configuration"] = string(applied)
	switch c.random.IntN(3) {
	case 0:
		request["operation"], request["oldObject"] = "UPDATE", old
	case 1:
		request["operation"], request["oldObject"], request["object"] = "DELETE", object, nil
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	require.NoError(t, err)
	return string(text)
}

// TestNothingUnmaskedIsWritten searches all that is stored for the values of random Secrets, tokens
// and environment variables, which a policy quotes in every way that it can.
func TestNothingUnmaskedIsWritten(t *testing.T) {
	t.Parallel()
	seed := properties.Seed(uint64(time.Now().UnixNano()))
	t.Logf("LINTEL_SEED=%d", seed)
	c := &canaries{random: rand.New(rand.NewPCG(seed, 1))}
	stored := c.next()
	secret := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"stored","namespace":"shop"},"data":{"a":%q}}`, base64.StdEncoding.EncodeToString([]byte(stored)))
	objects, err := clusterdata.New([]json.RawMessage{json.RawMessage(secret)})
	require.NoError(t, err)
	namespace, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "shop", "annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": c.next()}}})
	require.NoError(t, err)
	r := newRecorded(t, compiled(t, definition.Fail, quotingPolicy), []string{"other=1"}, func(o *HandlerOptions, _ *RecorderOptions) {
		o.Cluster = func() *clusterdata.Objects { return objects }
		o.Namespaces = namespacesFunc(func(string) ([]byte, error) { return namespace, nil })
		o.Decisions.Mode = LogNone
	})
	count := properties.Count(20, 300)
	quoted := 0
	for n := range count {
		review := c.review(t, n)
		if n%50 == 49 {
			require.Eventually(t, func() bool { return r.options.Recorder.queue.size() == 0 }, time.Minute, time.Millisecond, "the records fit into the queue")
		}
		for _, path := range []string{"/validate/fail?timeout=30s", "/mutate/fail?timeout=30s"} {
			answer := r.post(path, review).Body.String()
			if strings.Contains(answer, "canary") {
				quoted++
			}
		}
	}
	require.GreaterOrEqual(t, quoted, count, "the policy quotes values in each denial")
	r.end()
	records := r.records(t)
	require.Len(t, records, 2*count)

	text := written(t, r.path)
	require.Contains(t, text, `"masked"`)
	for _, value := range c.values {
		for form, secret := range map[string]string{
			"plain": value, "base64": base64.StdEncoding.EncodeToString([]byte(value)),
			"JSON": strings.Trim(string(must(json.Marshal(value))), `"`), "upper": strings.ToUpper(value),
		} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Fatalf("a %s value is written: %s", form, text[max(0, at-300):min(len(text), at+300)])
			}
		}
	}
	require.NotContains(t, strings.ToLower(text), "canary", "nor a part of one")
	for _, one := range records {
		var request map[string]any
		require.NoError(t, json.Unmarshal(one.Request, &request))
		require.NotEmpty(t, one.Masked)
		require.NotContains(t, string(one.Request), "managedFields")
		for _, pointer := range one.Masked {
			require.Contains(t, []any{masked, nil}, valueAt(request, pointer), pointer)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// valueAt is nil if there is no value.
func valueAt(node any, pointer string) any {
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch inner := node.(type) {
		case map[string]any:
			node = inner[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(inner) {
				return nil
			}
			node = inner[i]
		}
	}
	return node
}

// TestMessagesRemainReadable: the annotation of kubectl has a copy of all values, also of those that
// are not masked.
func TestMessagesRemainReadable(t *testing.T) {
	t.Parallel()
	masks := newRecordMasks(must(ParseRecordMask([]string{MaskEnv})))
	pod := admission.GroupVersionKind{Version: "v1", Kind: "Pod"}
	object := `{"metadata":{"name":"web-front"},"spec":{"containers":[{"name":"application","env":[{"name":"A","value":"hunter-2"}]}]}}`
	applied := strings.Replace(object, "hunter-2", "earlier-value", 1)
	body := `{"request":{"object":` + strings.Replace(object, `{"name":"web-front"}`, `{"name":"web-front","annotations":{"kubectl.kubernetes.io/last-applied-configuration":`+string(must(json.Marshal(applied)))+`}}`, 1) + `}}`
	hidden := newConcealed()
	request, pointers, err := masks.request([]byte(body), pod, hidden)
	require.NoError(t, err)
	require.Equal(t, []string{"/object/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", "/object/spec/containers/0/env/0/value"}, pointers)
	require.NotContains(t, string(request), "hunter-2")
	require.Equal(t, "the container application of web-front", hidden.text("the container application of web-front"))
	for _, text := range []string{"it is hunter-2", "HUNTER-2", "it was earlier-value", "aHVudGVyLTI=", applied} {
		require.Equal(t, masked, hidden.text(text), text)
	}
	for n := range 2 * maxConcealed {
		hidden.addText(fmt.Sprint("value-", n))
	}
	require.Equal(t, masked, hidden.text("any text"), "the search is bounded")
}

// TestPatchesAreMasked at the locations of masks, and where they copy a masked value.
func TestPatchesAreMasked(t *testing.T) {
	t.Parallel()
	masks := newRecordMasks(must(ParseMask([]string{"/spec/containers/*/env/*/value", "/spec/list/1"})))
	pod := admission.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for patch, want := range map[string]string{
		`[{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"A","value":"s3cret"}}]`:                               `[{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"A","value":"masked"}}]`,
		`[{"op":"add","path":"/spec/containers/-","value":{"env":[{"name":"A","value":"s3cret"}]}}]`:                           `[{"op":"add","path":"/spec/containers/-","value":{"env":[{"name":"A","value":"masked"}]}}]`,
		`[{"op":"replace","path":"/spec/containers/0/env/0/value","value":"s3cret"}]`:                                          `[{"op":"replace","path":"/spec/containers/0/env/0/value","value":"masked"}]`,
		`[{"op":"add","path":"/spec/list/-","value":"s3cret"}]`:                                                                `[{"op":"add","path":"/spec/list/-","value":"masked"}]`,
		`[{"op":"replace","path":"","value":{"spec":{"list":["a","s3cret"]}}}]`:                                                `[{"op":"replace","path":"","value":{"spec":{"list":["a","masked"]}}}]`,
		`[{"op":"add","path":"/a","value":"s3cret"},{"op":"add","path":"/spec/list/1","value":"s3cret"}]`:                      `[{"op":"add","path":"/a","value":"masked"},{"op":"add","path":"/spec/list/1","value":"masked"}]`,
		`[{"op":"add","path":"/metadata/labels","value":{"a":"public","n":12345678901234567890}},{"op":"remove","path":"/b"}]`: `[{"op":"add","path":"/metadata/labels","value":{"a":"public","n":12345678901234567890}},{"op":"remove","path":"/b"}]`,
	} {
		out, err := masks.patch(json.RawMessage(patch), pod, newConcealed())
		require.NoError(t, err, patch)
		require.JSONEq(t, want, string(out))
		require.NotContains(t, string(out), "s3cret")
	}
}
