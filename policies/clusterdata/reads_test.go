package clusterdata

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// TestReadsAreObserved by each way in which a policy reads: an object, a namespace, a kind, or all.
func TestReadsAreObserved(t *testing.T) {
	data := Empty().With(putObjects(ingressKind, makeIngress(t, "shop", "a", "a.example"), makeIngress(t, "shop", "b", "b.example"), makeIngress(t, "bank", "c", "c.example")))
	kinds := []admission.GroupVersionKind{ingressKind}
	byKey := map[string]admission.GroupVersionKind{ingressKind.String(): ingressKind}
	kind := []string{definition.ClusterKey, ingressKind.String()}
	inventory := []string{definition.TemplateKey, definition.InventoryKey}
	for name, c := range map[string]struct {
		path       []string
		all        bool
		namespaces []string
		absent     []Key
		objects    []string
	}{
		"an object":            {append(kind, "shop", "a"), false, nil, nil, []string{"a"}},
		"a missing object":     {append(kind, "shop", "x"), false, nil, []Key{{"shop", "x"}}, nil},
		"a namespace":          {append(kind, "shop"), false, []string{"shop"}, nil, []string{"a", "b"}},
		"a missing namespace":  {append(kind, "none", "a"), false, []string{"none"}, nil, nil},
		"a kind":               {kind, true, nil, nil, []string{"a", "b", "c"}},
		"all kinds":            {kind[:1], true, nil, nil, []string{"a", "b", "c"}},
		"the inventory":        {inventory, true, nil, nil, []string{"a", "b", "c"}},
		"one of its namespace": {append(inventory, "namespace", "shop"), false, []string{"shop"}, nil, []string{"a", "b"}},
		"cluster-scoped ones":  {append(inventory, "cluster"), false, []string{""}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(objects *Objects) string {
				if c.path[0] == definition.ClusterKey {
					return textOf(t, Document(ast.NewObject(), objects, byKey, nil), c.path...)
				}
				return textOf(t, Inventory(objects, kinds, nil), c.path...)
			}
			var reads Reads
			require.Equal(t, read(data), read(data.Observed(&reads)))
			found := 0
			reads.Kinds(func(of admission.GroupVersionKind, k *KindReads) {
				found++
				require.Equal(t, ingressKind.WithoutVersion(), of)
				require.Equal(t, c.all, k.All)
				for _, namespace := range c.namespaces {
					require.True(t, k.Namespaces[namespace], namespace)
				}
				for _, key := range c.absent {
					object, ok := k.Objects[key]
					require.True(t, ok)
					require.Nil(t, object)
				}
				var names []string
				require.True(t, k.Each(func(o *DecodedObject) bool { names = append(names, o.Key().Name); return true }))
				slices.Sort(names)
				require.Equal(t, c.objects, names)
				if len(names) > 0 {
					require.False(t, k.Each(func(*DecodedObject) bool { return false }))
				}
			})
			require.Equal(t, 1, found)
		})
	}
	require.Nil(t, (*Objects)(nil).Observed(&Reads{}))
}

// TestAProjectedObjectIsRecordedWithItsIdentity, so that it can be read again.
func TestAProjectedObjectIsRecordedWithItsIdentity(t *testing.T) {
	fields := readOfServices(t, `data.cluster.Service["n"]["a"].spec.type == "x"`)
	for raw, want := range map[string]string{
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n","labels":{"l":"m"}},"spec":{"type":"x","ports":[1]}}`: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"type":"x"}}`,
		`{"apiVersion":"g.io/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"type":"x"}}`:                                             `{"apiVersion":"g.io/unknown","kind":"Thing","metadata":{"name":"a"},"spec":{"type":"x"}}`,
	} {
		object, err := NewProjectedObject(json.RawMessage(raw), fields)
		require.NoError(t, err)
		text, err := object.Recorded()
		require.NoError(t, err)
		require.JSONEq(t, want, string(text))
		again, err := NewObject(text)
		require.NoError(t, err)
		require.Equal(t, object.Key(), again.Key())
		require.Equal(t, object.kind, again.kind)
	}
}

func TestFieldsAreStored(t *testing.T) {
	for body, paths := range map[string]map[string]bool{
		`data.cluster.Service["n"]["a"].spec.type == "x"`:                                 {"spec": true, "spec/type": true, "spec/other": false, "data": false, "*/type": true, "*/other": false},
		`some o in data.cluster.Service["n"]; some p in o.spec.ports; p.port > 3`:         {"spec/ports/*/port": true, "spec/ports/0/port": true, "spec/ports/*/name": false},
		`count(data.cluster.Service) > 1`:                                                 {"data": true, "*/x": true},
		`o := data.cluster.Service["n"][_]; o.a.b == "x"; o.a[_] == "y"; o.c["x/y"] == 1`: {"a": true, "a/q": true, "c": true, "d": false},
	} {
		fields := readOfServices(t, body)
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		var again Fields
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, textOfFields(fields), textOfFields(&again))
		require.True(t, again.Covers(fields))
		for path, included := range paths {
			require.Equal(t, included, again.Include(strings.Split(path, "/")), "%s: %s", body, path)
		}
	}
}
