package clusterdata

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// TestASourceSeesOnlyWhatIsVisible, by whichever way it asks, after another source that may
// read everything.
func TestASourceSeesOnlyWhatIsVisible(t *testing.T) {
	data := Empty().With(putObjects(ingressKind, makeIngress(t, "shop", "a", "a.example"), makeIngress(t, "bank", "b", "b.example")))
	kinds := []admission.GroupVersionKind{ingressKind}
	byKey := map[string]admission.GroupVersionKind{ingressKind.String(): ingressKind}
	shopOnly := func(kind admission.GroupVersionKind, namespace string) bool {
		return kind == ingressKind && namespace == "shop"
	}
	cluster := []string{definition.ClusterKey}
	ingresses := []string{definition.ClusterKey, ingressKind.String()}
	inventory := []string{definition.TemplateKey, definition.InventoryKey}
	for name, c := range map[string]struct {
		path []string
		want bool // whether one finds the Ingress there that may see shop only
	}{
		"the cluster":                {cluster, true},
		"a kind":                     {ingresses, true},
		"its namespace":              {append(ingresses, "shop"), true},
		"another namespace":          {append(ingresses, "bank"), false},
		"an object of another":       {append(ingresses, "bank", "b"), false},
		"the inventory":              {inventory, true},
		"its namespaces":             {append(inventory, "namespace"), true},
		"its namespace by name":      {append(inventory, "namespace", "shop"), true},
		"another there by its name":  {append(inventory, "namespace", "bank"), false},
		"what is in none, as a name": {append(inventory, "namespace", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(visible Visible) string {
				if c.path[0] == definition.ClusterKey {
					return textOf(t, Document(ast.NewObject(), data, byKey, visible), c.path...)
				}
				return textOf(t, Inventory(data, kinds, visible), c.path...)
			}
			read(nil)
			text := read(shopOnly)
			require.Equal(t, c.want, strings.Contains(text, "a.example"))
			require.NotContains(t, text, "b.example")
			require.NotContains(t, text, "bank", "nor that there is such a namespace")
		})
	}
}

// TestWhatIsInNoNamespace is not among the namespaces of the inventory.
func TestWhatIsInNoNamespace(t *testing.T) {
	node, err := NewObject(json.RawMessage(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`))
	require.NoError(t, err)
	kind := admission.GroupVersionKind{Kind: "Node"}
	document := Inventory(Empty().With(putObjects(kind, node)), []admission.GroupVersionKind{kind}, nil)
	under := []string{definition.TemplateKey, definition.InventoryKey}
	require.Contains(t, textOf(t, document, append(under, "cluster", "v1", "Node", "n")...), `"name": "n"`)
	require.Equal(t, "{}", textOf(t, document, append(under, "namespace")...))
	require.Empty(t, textOf(t, document, append(under, "namespace", "")...))
}

// TestAKindThatIsNotAtHand is an error: a policy must not take its objects for absent.
func TestAKindThatIsNotAtHand(t *testing.T) {
	known := Empty().With(Change{Kind: ingressKind})
	complete, err := New(nil)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		data *Objects
		has  bool
	}{
		"nothing":          {nil, false},
		"no kind yet":      {Empty(), false},
		"another kind":     {Empty().With(Change{Kind: admission.GroupVersionKind{Kind: "Pod"}}), false},
		"a kind of none":   {known, true},
		"a kind forgotten": {known.With(Change{Kind: ingressKind, Drop: true}), false},
		"all there is":     {complete, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.has, c.data.Has(ingressKind))
			require.Equal(t, c.has, c.data.HasFields(ingressKind, nil))
			document := Document(ast.NewObject(), c.data, map[string]admission.GroupVersionKind{ingressKind.String(): ingressKind}, nil)
			for _, path := range [][]string{{definition.ClusterKey}, {definition.ClusterKey, ingressKind.String(), "shop", "a"}} {
				_, err := readAt(document, path...)
				if c.has {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, "the cluster's objects of kind Ingress.networking.k8s.io are not at hand")
				}
			}
		})
	}
}

// TestObjectsHaveTheFieldsThatAreRead, and nothing else of them is stored.
func TestObjectsHaveTheFieldsThatAreRead(t *testing.T) {
	fields := (&Fields{}).add([]string{"metadata", "name"}, true).add([]string{"data"}, false).add([]string{"list"}, false)
	object, err := NewProjectedObject(json.RawMessage(
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop","managedFields":[{"manager":"m"}]},"data":{"key":"c2VjcmV0"},"list":[1]}`), fields)
	require.NoError(t, err)
	require.Equal(t, Key{"shop", "s"}, object.Key())
	require.Equal(t, `{"data": {}, "list": [], "metadata": {"name": "s"}}`, object.value.String())

	kind := admission.GroupVersionKind{Kind: "Secret"}
	data := Empty().With(Change{Kind: kind, Fields: fields})
	require.True(t, data.HasFields(kind, fields))
	require.False(t, data.HasFields(kind, fields.add([]string{"data"}, true)))
	require.False(t, data.HasFields(kind, nil))

	whole, err := NewProjectedObject(json.RawMessage(
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","managedFields":[{"manager":"m"}]}}`), nil)
	require.NoError(t, err)
	require.Equal(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`, whole.value.String(), "nobody decides by managedFields")
}

// TestSharedTermsAreEqual: different terms with the same hash are not confused, and the table of
// shared terms is bounded.
func TestSharedTermsAreEqual(t *testing.T) {
	kept := sharedTerms{seen: map[int]*ast.Term{}, shared: map[int]*ast.Term{}}
	one, other := ast.MustParseTerm("[1, 2]"), ast.MustParseTerm("[2, 1]")
	require.Equal(t, one.Hash(), other.Hash())
	require.Same(t, one, kept.share(one))
	require.Same(t, other, kept.share(other), "not seen before")
	require.Same(t, other, kept.share(ast.MustParseTerm("[2, 1]")), "seen twice")
	require.Same(t, one, kept.share(one), "not the one that is shared")

	long := func() *ast.Term { return ast.StringTerm(string(make([]byte, maxSharedBytes))) }
	kept.share(long())
	again := long()
	require.Same(t, again, kept.share(again), "too long to be shared")

	for i := range 2 * maxSharedTerms {
		kept.share(ast.InternedTerm(i))
	}
	require.LessOrEqual(t, len(kept.seen), maxSharedTerms)
}
