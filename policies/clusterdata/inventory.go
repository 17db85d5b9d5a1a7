package clusterdata

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Inventory is all that templates find in data: their inventory of the objects of
// some kinds. sees says which namespaces of a kind the source may read; nil is all.
func Inventory(data *Objects, kinds []admission.GroupVersionKind, sees func(kind admission.GroupVersionKind, namespace string) bool) eval.Document {
	return (&inventoryView{data, kinds, sees}).document()
}

// inventoryView is data.inventory of templates: the same objects that policies read
// at data.cluster, by apiVersion and kind. An object stands under the apiVersion that
// the cluster gave it in.
type inventoryView struct {
	data  *Objects
	kinds []admission.GroupVersionKind
	// sees says which namespaces the source may read; nil is all.
	sees func(kind admission.GroupVersionKind, namespace string) bool
}

const (
	inventoryCluster   = "cluster"
	inventoryNamespace = "namespace"
)

// whole is all of it. It is made when a policy first asks for that, and kept with the
// version of the data.
func (v *inventoryView) whole() ast.Value {
	items := func() [][2]*ast.Term {
		return [][2]*ast.Term{
			ast.Item(ast.StringTerm(inventoryCluster), ast.NewTerm(v.in(""))),
			ast.Item(ast.StringTerm(inventoryNamespace), ast.NewTerm(v.namespaces())),
		}
	}
	if v.data == nil || v.sees != nil {
		return ast.NewObject(items()...)
	}
	var key strings.Builder
	for _, kind := range v.kinds {
		key.WriteString(kind.String() + " ")
	}
	kept, _ := v.data.inventories.LoadOrStore(key.String(), &wholeValue{})
	return kept.(*wholeValue).get(items).Value
}

// held gives the objects of each kind in a namespace that the source may read.
func (v *inventoryView) held(namespace string) []*namespaceObjects {
	var held []*namespaceObjects
	for _, kind := range v.kinds {
		all := v.of(kind)
		if all == nil || v.sees != nil && !v.sees(kind, namespace) {
			continue
		}
		if objects, ok := all.namespaces.Get(namespace); ok {
			held = append(held, objects)
		}
	}
	return held
}

// of is nil where there are no objects of a kind.
func (v *inventoryView) of(kind admission.GroupVersionKind) *kindObjects {
	if v.data == nil {
		return nil
	}
	return v.data.kinds[admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}]
}

// namespaces is what is in namespaces, by their names.
func (v *inventoryView) namespaces() ast.Object {
	names := map[string]bool{}
	for _, kind := range v.kinds {
		all := v.of(kind)
		if all == nil {
			continue
		}
		for i := all.namespaces.Iterator(); !i.Done(); {
			if name, _, _ := i.Next(); name != "" && (v.sees == nil || v.sees(kind, name)) {
				names[name] = true
			}
		}
	}
	items := make([][2]*ast.Term, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		items = append(items, ast.Item(ast.StringTerm(name), ast.NewTerm(v.in(name))))
	}
	return ast.NewObject(items...)
}

// in is what is in a namespace, or in none, by apiVersion, kind and name.
func (v *inventoryView) in(namespace string) ast.Object {
	all := ast.NewObject()
	for _, held := range v.held(namespace) {
		held.byVersion().Foreach(func(version, kinds *ast.Term) {
			if others := all.Get(version); others != nil {
				kinds = ast.NewTerm(union(others.Value.(ast.Object), kinds.Value.(ast.Object)))
			}
			all.Insert(version, kinds)
		})
	}
	return all
}

func union(a, b ast.Object) ast.Object {
	var items [][2]*ast.Term
	for _, object := range []ast.Object{a, b} {
		object.Foreach(func(key, value *ast.Term) { items = append(items, [2]*ast.Term{key, value}) })
	}
	return ast.NewObject(items...)
}

// byVersion are the objects by apiVersion, kind and name. It is made once, and shared
// by all versions of the data in which the namespace does not change.
func (n *namespaceObjects) byVersion() ast.Object {
	return n.versions.get(func() [][2]*ast.Term {
		type place struct{ version, kind string }
		places := map[place]ast.Object{}
		all := map[string]map[string]bool{}
		for i := n.objects.Iterator(); !i.Done(); {
			name, object, _ := i.Next()
			fields := object.value.Value.(ast.Object)
			at := place{terms.Text(fields, "apiVersion"), terms.Text(fields, "kind")}
			if places[at] == nil {
				places[at] = ast.NewObject()
			}
			if all[at.version] == nil {
				all[at.version] = map[string]bool{}
			}
			places[at].Insert(ast.StringTerm(name), object.value)
			all[at.version][at.kind] = true
		}
		var items [][2]*ast.Term
		for _, version := range slices.Sorted(maps.Keys(all)) {
			kinds := ast.NewObject()
			for _, kind := range slices.Sorted(maps.Keys(all[version])) {
				kinds.Insert(ast.StringTerm(kind), ast.NewTerm(places[place{version, kind}]))
			}
			items = append(items, ast.Item(ast.StringTerm(version), ast.NewTerm(kinds)))
		}
		return items
	}).Value.(ast.Object)
}
