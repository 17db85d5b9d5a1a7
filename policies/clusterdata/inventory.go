package clusterdata

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// The keys of the inventory.
const (
	inventoryCluster   = "cluster"
	inventoryNamespace = "namespace"
)

// Inventory is the data that templates read: at data.inventory the objects of some kinds, the
// same that policies read at data.cluster, by apiVersion and kind. An object is listed under the
// apiVersion in which the cluster returned it.
func Inventory(objects *Objects, kinds []admission.GroupVersionKind, visible Visible) eval.Document {
	return under{definition.TemplateKey, under{definition.InventoryKey, &inventoryView{objects, kinds, visible}}}
}

// under is an object with one key.
type under struct {
	key      string
	document eval.Document
}

// Get implements eval.Document.
func (u under) Get(key string) (ast.Value, eval.Document, error) {
	if key != u.key {
		return nil, nil, nil
	}
	return nil, u.document, nil
}

// Value implements eval.Document.
func (u under) Value() (ast.Value, error) {
	value, err := u.document.Value()
	if err != nil {
		return nil, err
	}
	return ast.NewObject(ast.Item(ast.StringTerm(u.key), ast.NewTerm(value))), nil
}

// inventoryView is data.inventory as the source of a template reads it.
type inventoryView struct {
	objects *Objects // nil where the caller has none
	kinds   []admission.GroupVersionKind
	visible Visible
}

// Get implements eval.Document.
func (v *inventoryView) Get(key string) (ast.Value, eval.Document, error) {
	if err := v.partial(); err != nil {
		return nil, nil, err
	}
	switch key {
	case inventoryCluster:
		return v.in(""), nil, nil
	case inventoryNamespace:
		return nil, (*namespacesView)(v), nil
	}
	return nil, nil, nil
}

// Value implements eval.Document. The value of all objects is built on first use and stored with
// the snapshot of the objects.
func (v *inventoryView) Value() (ast.Value, error) {
	if err := v.partial(); err != nil {
		return nil, err
	}
	if v.objects != nil && v.objects.reads != nil {
		for _, kind := range v.kinds {
			v.objects.reads.all(kind, v.ofKind(kind))
		}
	}
	items := func() [][2]*ast.Term {
		return [][2]*ast.Term{
			ast.Item(ast.StringTerm(inventoryCluster), ast.NewTerm(v.in(""))),
			ast.Item(ast.StringTerm(inventoryNamespace), ast.NewTerm(v.namespaces())),
		}
	}
	if v.objects == nil || v.visible != nil {
		return ast.NewObject(items()...), nil
	}
	var key strings.Builder
	for _, kind := range v.kinds {
		key.WriteString(kind.String() + " ")
	}
	stored := v.objects
	if stored.original != nil {
		stored = stored.original
	}
	kept, _ := stored.inventories.LoadOrStore(key.String(), &lazyObject{})
	return kept.(*lazyObject).get(items).Value, nil
}

// partial is the error for a kind of which not all objects are known.
func (v *inventoryView) partial() error {
	for _, kind := range v.kinds {
		if v.ofKind(kind).isPartial() {
			return unknownObjects(kind)
		}
	}
	return nil
}

// namespacesView is data.inventory.namespace; each namespace is built separately.
type namespacesView inventoryView

// Get implements eval.Document.
func (n *namespacesView) Get(namespace string) (ast.Value, eval.Document, error) {
	v := (*inventoryView)(n)
	if namespace == "" || len(v.objectsIn(namespace)) == 0 {
		return nil, nil, nil
	}
	return v.in(namespace), nil, nil
}

// Value implements eval.Document.
func (n *namespacesView) Value() (ast.Value, error) {
	whole, err := (*inventoryView)(n).Value()
	if err != nil {
		return nil, err
	}
	return terms.Lookup(whole.(ast.Object), inventoryNamespace), nil
}

// ofKind is nil if there are no objects of a kind.
func (v *inventoryView) ofKind(kind admission.GroupVersionKind) *kindObjects {
	if v.objects == nil {
		return nil
	}
	return v.objects.kinds[kind.WithoutVersion()]
}

// objectsIn are those in a namespace that the source may read, for each kind that has any.
func (v *inventoryView) objectsIn(namespace string) (found []*namespaceObjects) {
	for _, kind := range v.kinds {
		if !v.visible.has(kind, namespace) {
			continue
		}
		all := v.ofKind(kind)
		if v.objects != nil {
			v.objects.reads.namespace(kind, all, namespace)
		}
		if all == nil {
			continue
		}
		if objects, ok := all.namespaces.Get(namespace); ok {
			found = append(found, objects)
		}
	}
	return found
}

// namespaces returns the objects of all namespaces, by namespace.
func (v *inventoryView) namespaces() ast.Object {
	found := ast.NewObject()
	for _, kind := range v.kinds {
		all := v.ofKind(kind)
		if all == nil {
			continue
		}
		for i := all.namespaces.Iterator(); !i.Done(); {
			name, _, _ := i.Next()
			if key := ast.StringTerm(name); name != "" && v.visible.has(kind, name) && found.Get(key) == nil {
				found.Insert(key, ast.NewTerm(v.in(name)))
			}
		}
	}
	return found
}

// in returns the objects of a namespace, or the cluster-scoped ones, by apiVersion, kind and
// name.
func (v *inventoryView) in(namespace string) ast.Object {
	all := ast.NewObject()
	for _, objects := range v.objectsIn(namespace) {
		if merged, ok := all.Merge(objects.byVersion()); ok { // it is not where a kind is named twice
			all = merged
		}
	}
	return all
}

// byVersion returns the objects by apiVersion, kind and name. It is built once, and shared by
// all snapshots in which the namespace does not change.
func (n *namespaceObjects) byVersion() ast.Object {
	return n.versions.get(func() [][2]*ast.Term {
		found := map[string]map[string][][2]*ast.Term{}
		for i := n.objects.Iterator(); !i.Done(); {
			name, object, _ := i.Next()
			fields := object.value.Value.(ast.Object)
			version, kind := terms.Text(fields, "apiVersion"), terms.Text(fields, "kind")
			if found[version] == nil {
				found[version] = map[string][][2]*ast.Term{}
			}
			found[version][kind] = append(found[version][kind], ast.Item(ast.StringTerm(name), object.value))
		}
		var items [][2]*ast.Term
		for version, kinds := range found {
			ofVersion := ast.NewObject()
			for kind, objects := range kinds {
				ofVersion.Insert(ast.StringTerm(kind), ast.ObjectTerm(objects...))
			}
			items = append(items, ast.Item(ast.StringTerm(version), ast.NewTerm(ofVersion)))
		}
		return items
	}).Value.(ast.Object)
}
