package clusterdata

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
)

// wholeValue is the value of a part of ClusterData as a whole. It is made when a
// policy iterates over that part for the first time, and kept with it, through all
// versions that share the part.
type wholeValue struct {
	once sync.Once
	term *ast.Term
}

func (w *wholeValue) get(items func() [][2]*ast.Term) *ast.Term {
	w.once.Do(func() { w.term = ast.ObjectTerm(items()...) })
	return w.term
}

// Document is data as the policies of one source see it: its own, and beside that the
// objects of the kinds that it requires. sees says which namespaces of a kind it may read;
// nil is all.
func Document(own ast.Object, data *Objects, kinds map[string]admission.GroupVersionKind, sees func(kind admission.GroupVersionKind, namespace string) bool) eval.Document {
	if len(kinds) == 0 {
		return eval.ObjectDocument(own)
	}
	return (&clusterView{data, kinds, sees}).beside(own)
}

// clusterView is data.cluster as one source sees it: the kinds that it requires,
// present even where there are no objects.
type clusterView struct {
	data  *Objects                              // nil where the caller has none
	kinds map[string]admission.GroupVersionKind // by their key in data.cluster
	// sees says which namespaces the source may read; nil is all.
	sees func(kind admission.GroupVersionKind, namespace string) bool
}

// read is the value at a path below data.cluster, of a kind at least: nil where there is
// none. A part of a kind is read without the rest of it.
func (v clusterView) read(path []string) (ast.Value, error) {
	kind, required := v.kinds[path[0]]
	if !required {
		return nil, nil
	}
	held, err := v.held(kind)
	switch {
	case err != nil:
		return nil, err
	case held == nil && len(path) == 1:
		return ast.NewObject(), nil
	case held == nil:
		return nil, nil
	case len(path) == 1:
		return v.value(kind, held).Value, nil
	case v.sees != nil && !v.sees(kind, path[1]):
		return nil, nil
	}
	namespace, ok := held.namespaces.Get(path[1])
	switch {
	case !ok:
		return nil, nil
	case len(path) == 2:
		return namespace.value().Value, nil
	}
	object, ok := namespace.objects.Get(path[2])
	if !ok {
		return nil, nil
	}
	return object.value.Value, nil
}

// held is nil where a kind has no objects, and an error where that is not known: a
// policy must not take what is not loaded for absent.
func (v clusterView) held(kind admission.GroupVersionKind) (*kindObjects, error) {
	if !v.data.Has(kind) {
		return nil, fmt.Errorf("the cluster's objects of kind %s are not at hand", kind)
	}
	return v.data.kinds[kind], nil
}

func (v clusterView) all() (ast.Value, error) {
	var items [][2]*ast.Term
	for _, key := range slices.Sorted(maps.Keys(v.kinds)) {
		held, err := v.held(v.kinds[key])
		if err != nil {
			return nil, err
		}
		value := ast.ObjectTerm()
		if held != nil {
			value = v.value(v.kinds[key], held)
		}
		items = append(items, ast.Item(ast.StringTerm(key), value))
	}
	return ast.NewObject(items...), nil
}

// value is what the source may read of a kind.
func (v clusterView) value(kind admission.GroupVersionKind, held *kindObjects) *ast.Term {
	if v.sees == nil {
		return held.value()
	}
	var items [][2]*ast.Term
	for i := held.namespaces.Iterator(); !i.Done(); {
		if namespace, objects, _ := i.Next(); v.sees(kind, namespace) {
			items = append(items, ast.Item(ast.StringTerm(namespace), objects.value()))
		}
	}
	return ast.ObjectTerm(items...)
}

func (k *kindObjects) value() *ast.Term {
	return k.whole.get(func() [][2]*ast.Term {
		items := make([][2]*ast.Term, 0, k.namespaces.Len())
		for i := k.namespaces.Iterator(); !i.Done(); {
			namespace, held, _ := i.Next()
			items = append(items, ast.Item(ast.StringTerm(namespace), held.value()))
		}
		return items
	})
}

func (n *namespaceObjects) value() *ast.Term {
	return n.whole.get(func() [][2]*ast.Term {
		items := make([][2]*ast.Term, 0, n.objects.Len())
		for i := n.objects.Iterator(); !i.Done(); {
			name, object, _ := i.Next()
			items = append(items, ast.Item(ast.StringTerm(name), object.value))
		}
		return items
	})
}
