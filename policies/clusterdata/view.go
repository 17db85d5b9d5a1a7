package clusterdata

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Visible reports whether a source may read the objects of a kind in a namespace, which is
// empty for cluster-scoped objects. A nil one means that it may read all.
type Visible func(kind admission.GroupVersionKind, namespace string) bool

func (v Visible) has(kind admission.GroupVersionKind, namespace string) bool {
	return v == nil || v(kind, namespace)
}

// Document is data as the policies of one source read it: the source's own, and at
// data.cluster the objects of the kinds that it requires, by their key there.
func Document(own ast.Object, objects *Objects, kinds map[string]admission.GroupVersionKind, visible Visible) eval.Document {
	if len(kinds) == 0 {
		return eval.ObjectDocument(own)
	}
	return root{own, clusterView{objects, kinds, visible}}
}

// root is the data of a source together with the objects of the cluster. Both are read key by
// key: a cluster has many objects, and most policies name one kind, namespace or object.
type root struct {
	own     ast.Object
	cluster clusterView
}

// Get implements eval.Document.
func (r root) Get(key string) (ast.Value, eval.Document, error) {
	if key == definition.ClusterKey {
		return nil, r.cluster, nil
	}
	return eval.ObjectDocument(r.own).Get(key)
}

// Value implements eval.Document.
func (r root) Value() (ast.Value, error) {
	cluster, err := r.cluster.Value()
	if err != nil {
		return nil, err
	}
	return terms.With(r.own, definition.ClusterKey, ast.NewTerm(cluster)), nil
}

// clusterView is data.cluster for one source: the kinds that it requires, present even if there
// are no objects.
type clusterView struct {
	objects *Objects                              // nil where the caller has none
	kinds   map[string]admission.GroupVersionKind // by their key in data.cluster
	visible Visible
}

// Get implements eval.Document. A kind that was not loaded is an error: a policy must not
// take its objects for absent.
func (v clusterView) Get(key string) (ast.Value, eval.Document, error) {
	kind, required := v.kinds[key]
	switch {
	case !required:
		return nil, nil, nil
	case !v.objects.Has(kind):
		return nil, nil, fmt.Errorf("the cluster's objects of kind %s are not at hand", kind)
	}
	return nil, kindView{v.objects.kinds[kind], kind, v.visible, v.objects.reads}, nil
}

// Value implements eval.Document.
func (v clusterView) Value() (ast.Value, error) {
	var items [][2]*ast.Term
	for _, key := range slices.Sorted(maps.Keys(v.kinds)) {
		_, ofKind, err := v.Get(key)
		if err != nil {
			return nil, err
		}
		value, err := ofKind.Value()
		if err != nil {
			return nil, err
		}
		items = append(items, ast.Item(ast.StringTerm(key), ast.NewTerm(value)))
	}
	return ast.NewObject(items...), nil
}

// kindView contains the objects of a kind that a source may read, by namespace and name.
type kindView struct {
	objects *kindObjects // nil where there are none
	kind    admission.GroupVersionKind
	visible Visible
	reads   *Reads // nil if nothing is collected
}

// Get implements eval.Document.
func (v kindView) Get(namespace string) (ast.Value, eval.Document, error) {
	if !v.visible.has(v.kind, namespace) {
		return nil, nil, nil
	}
	if v.objects.isPartialIn(namespace) {
		return nil, partialNamespace{v.kind, v.objects, namespace}, nil
	}
	if v.objects != nil {
		if objects, ok := v.objects.namespaces.Get(namespace); ok {
			if v.reads != nil {
				return nil, observedNamespace{objects, v, namespace}, nil
			}
			return nil, objects, nil
		}
	}
	v.reads.namespace(v.kind, v.objects, namespace) // all of none
	return nil, nil, nil
}

// Value implements eval.Document.
func (v kindView) Value() (ast.Value, error) {
	v.reads.all(v.kind, v.objects)
	switch {
	case v.objects == nil:
		return ast.NewObject(), nil
	case v.objects.isPartial():
		return nil, unknownObjects(v.kind)
	case v.visible == nil:
		return v.objects.value().Value, nil
	default:
		return ast.NewObject(v.objects.items(func(namespace string) bool { return v.visible(v.kind, namespace) })...), nil
	}
}

// Get implements eval.Document: an object by its name.
func (n *namespaceObjects) Get(name string) (ast.Value, eval.Document, error) {
	if object, ok := n.objects.Get(name); ok {
		return object.value.Value, nil, nil
	}
	return nil, nil, nil
}

// Value implements eval.Document: all objects by name.
func (n *namespaceObjects) Value() (ast.Value, error) { return n.value().Value, nil }
