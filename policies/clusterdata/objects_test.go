package clusterdata

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
	"github.com/lintel-policy/lintel/test/properties"
)

var ingressKind = admission.GroupVersionKind{Group: "networking.k8s.io", Kind: "Ingress"}

// makeIngress is an Ingress for one host.
func makeIngress(t testing.TB, namespace, name, host string) *DecodedObject {
	t.Helper()
	object, err := NewObject(ingressJSON(namespace, name, host))
	require.NoError(t, err)
	return object
}

func ingressJSON(namespace, name, host string) json.RawMessage {
	return fmt.Appendf(nil, `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":%q,"namespace":%q,"uid":"0b1f"},"spec":{"rules":[{"host":%q}]}}`, name, namespace, host)
}

func putObjects(kind admission.GroupVersionKind, objects ...*DecodedObject) Change {
	change := Change{Kind: kind, Objects: map[Key]*DecodedObject{}}
	for _, object := range objects {
		change.Objects[object.Key()] = object
	}
	return change
}

// viewOf is what a source reads that requires Ingresses and Services.
func viewOf(data *Objects) eval.Document {
	service := admission.GroupVersionKind{Kind: "Service"}
	return Document(ast.NewObject(), data, map[string]admission.GroupVersionKind{
		ingressKind.String(): ingressKind, service.String(): service,
	}, nil)
}

// readAt is what a policy reads at a path below data: nil if there is nothing.
func readAt(document eval.Document, path ...string) (ast.Value, error) {
	for _, key := range path {
		value, next, err := document.Get(key)
		if next == nil || err != nil {
			return value, err
		}
		document = next
	}
	return document.Value()
}

// textOf is a path below data in JSON: empty if there is nothing.
func textOf(t testing.TB, document eval.Document, path ...string) string {
	t.Helper()
	value, err := readAt(document, path...)
	require.NoError(t, err)
	if value == nil {
		return ""
	}
	return value.String()
}

// TestClusterDataEqualsARebuild derives snapshots by random changes, and compares each with one
// built from scratch, and each again after all others were built.
func TestClusterDataEqualsARebuild(t *testing.T) {
	first := properties.Seed(0) << 32
	for seed := first; seed < first+uint64(properties.Count(10, 200)); seed++ {
		random := rand.New(rand.NewPCG(seed, 7))
		data := Empty().With(Change{Kind: ingressKind}, Change{Kind: admission.GroupVersionKind{Kind: "Service"}})
		model := map[Key]*DecodedObject{}
		type version struct {
			data *Objects
			text string
		}
		var versions []version
		var readers sync.WaitGroup
		for range 60 {
			change := Change{Kind: ingressKind, Objects: map[Key]*DecodedObject{}}
			if random.IntN(20) == 0 {
				change.Reset = true
				clear(model)
			}
			for range random.IntN(6) {
				key := Key{Namespace: fmt.Sprint("ns", random.IntN(4)), Name: fmt.Sprint("i", random.IntN(40))}
				if random.IntN(3) == 0 {
					change.Objects[key] = nil
					delete(model, key)
					continue
				}
				object := makeIngress(t, key.Namespace, key.Name, fmt.Sprint("h", random.Int()))
				change.Objects[key], model[key] = object, object
			}
			data = data.With(change)
			derived := data
			readers.Go(func() { textOf(t, viewOf(derived), definition.ClusterKey) })

			var rebuilt []json.RawMessage
			bytes := 0
			for _, object := range model {
				raw, err := terms.Encode(object.value)
				require.NoError(t, err)
				rebuilt = append(rebuilt, raw)
				bytes += object.bytes
			}
			scratch, err := New(rebuilt)
			require.NoError(t, err)
			want := textOf(t, viewOf(scratch), definition.ClusterKey)
			require.Equal(t, want, textOf(t, viewOf(data), definition.ClusterKey), "seed %d", seed)
			require.Contains(t, data.Sizes(), KindSize{Kind: ingressKind, Objects: len(model), Bytes: bytes})
			for key, object := range model {
				require.Equal(t, object.value.String(), textOf(t, viewOf(data), definition.ClusterKey, ingressKind.String(), key.Namespace, key.Name))
			}
			versions = append(versions, version{data, want})
		}
		readers.Wait()
		for _, v := range versions {
			again := &kindObjects{namespaces: v.data.kinds[ingressKind].namespaces}
			require.Equal(t, v.text, textOf(t, viewOf(v.data), definition.ClusterKey))
			require.True(t, strings.Contains(v.text, again.value().String()), "an old version never changes, not even where it was not read yet")
		}
	}
}

func TestReadingAPathDoesNotMaterialiseTheKind(t *testing.T) {
	data := Empty().With(putObjects(ingressKind,
		makeIngress(t, "shop", "a", "a.example"), makeIngress(t, "shop", "b", "b.example"), makeIngress(t, "bank", "c", "c.example")))
	view := viewOf(data)
	ingresses := data.kinds[ingressKind]
	shop, _ := ingresses.namespaces.Get("shop")
	bank, _ := ingresses.namespaces.Get("bank")

	require.Contains(t, textOf(t, view, definition.ClusterKey, ingressKind.String(), "shop", "a"), `"a.example"`)
	require.Empty(t, textOf(t, view, definition.ClusterKey, ingressKind.String(), "nowhere", "a"))
	require.Nil(t, shop.all.term)

	textOf(t, view, definition.ClusterKey, ingressKind.String(), "shop")
	require.NotNil(t, shop.all.term)
	require.Nil(t, bank.all.term, "only what is iterated is materialised")
	require.Nil(t, ingresses.all.term)

	textOf(t, view, definition.ClusterKey, ingressKind.String())
	next := data.With(Change{Kind: ingressKind, Objects: map[Key]*DecodedObject{{"bank", "c"}: nil}})
	kept, _ := next.kinds[ingressKind].namespaces.Get("shop")
	require.Same(t, shop, kept, "what did not change is shared, materialised as it is")
	require.Nil(t, next.kinds[ingressKind].all.term)
}

func TestASourceSeesOnlyWhatItRequires(t *testing.T) {
	secret, err := NewObject(json.RawMessage(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"shop"}}`))
	require.NoError(t, err)
	data := Empty().With(
		Change{Kind: ingressKind}, Change{Kind: admission.GroupVersionKind{Kind: "Service"}},
		putObjects(admission.GroupVersionKind{Kind: "Secret"}, secret))
	view := viewOf(data)
	require.Equal(t, `{"Ingress.networking.k8s.io": {}, "Service": {}}`, textOf(t, view, definition.ClusterKey))
	require.Equal(t, `{"cluster": {"Ingress.networking.k8s.io": {}, "Service": {}}}`, textOf(t, view))
	require.Empty(t, textOf(t, view, definition.ClusterKey, "Secret"))
	require.Empty(t, textOf(t, view, definition.ClusterKey, "Secret", "shop", "a"))
}

func TestNewObjectRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a list":    {`[]`, "not an object"},
		"no kind":   {`{"apiVersion":"v1","metadata":{"name":"a"}}`, "kind or metadata.name is missing"},
		"no name":   {`{"apiVersion":"v1","kind":"Pod","metadata":{}}`, "kind or metadata.name is missing"},
		"no object": {`{"apiVersion":`, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewObject(json.RawMessage(c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// podJSON is a Pod as a cluster holds it, of about 4 KB.
func podJSON(n int) json.RawMessage {
	var env []string
	for i := range 40 {
		env = append(env, fmt.Sprintf(`{"name":"SETTING_%d","value":"value %d of pod %d"}`, i, i, n))
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%d","namespace":"ns-%d","uid":"5f9c1c9e-%d","resourceVersion":"%d","labels":{"app":"web","pod-template-hash":"7d9c%d"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-%d","uid":"1f2e","controller":true}]},"spec":{"nodeName":"node-%d","containers":[{"name":"web","image":"registry/web:1.%d","env":[%s],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"mountPath":"/var/run/secrets","name":"token","readOnly":true}]}],"tolerations":[{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300}]},"status":{"phase":"Running","podIP":"10.0.%d.1","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
		n, n%50, n, n, n/5, n/5, n%100, n%250, strings.Join(env, ","), n%250)
}

// BenchmarkClusterDataMemory reports the heap that an object takes per byte of its
// JSON, before and after a policy iterated over all objects.
func BenchmarkClusterDataMemory(b *testing.B) {
	const objects = 5000
	podKind := admission.GroupVersionKind{Kind: "Pod"}
	images := (&Fields{}).add([]string{"spec", "containers", "", "image"}, true).add([]string{"metadata", "labels"}, true)
	for name, fields := range map[string]*Fields{"whole": nil, "images and labels": images} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				before := heap()
				change := Change{Kind: podKind, Fields: fields, Objects: map[Key]*DecodedObject{}}
				for n := range objects {
					object, err := NewProjectedObject(podJSON(n), fields)
					require.NoError(b, err)
					change.Objects[object.Key()] = object
				}
				data := Empty().With(change)
				change.Objects = nil
				bytes := float64(data.Sizes()[0].Bytes)
				b.ReportMetric(bytes/objects, "json-B/object")
				b.ReportMetric((heap()-before)/bytes, "heap-B/json-B")
				data.kinds[podKind].value()
				b.ReportMetric((heap()-before)/bytes, "iterated-heap-B/json-B")
				runtime.KeepAlive(data)
			}
		})
	}
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// BenchmarkClusterDataWith derives a version by one event, in one namespace of many
// objects.
func BenchmarkClusterDataWith(b *testing.B) {
	for _, objects := range []int{100, 10_000} {
		b.Run(fmt.Sprint(objects), func(b *testing.B) {
			data := manyIngresses(b, objects)
			change := putObjects(ingressKind, makeIngress(b, "shop", "i50", "changed"))
			for b.Loop() {
				data.With(change)
			}
		})
	}
}

// BenchmarkClusterDataRead reads one path of a new version, and iterates over it.
func BenchmarkClusterDataRead(b *testing.B) {
	data := manyIngresses(b, 10_000)
	change := putObjects(ingressKind, makeIngress(b, "shop", "i50", "changed"))
	for name, path := range map[string][]string{
		"path":    {definition.ClusterKey, ingressKind.String(), "shop", "i50"},
		"iterate": {definition.ClusterKey, ingressKind.String()},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				view := viewOf(data.With(change))
				if value, err := readAt(view, path...); value == nil || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func manyIngresses(b *testing.B, n int) *Objects {
	var objects []*DecodedObject
	for i := range n {
		objects = append(objects, makeIngress(b, "shop", fmt.Sprint("i", i), fmt.Sprint("h", i)))
	}
	return Empty().With(putObjects(ingressKind, slices.Clone(objects)...))
}
