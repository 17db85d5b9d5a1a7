package clusterdata

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"unique"

	"github.com/benbjohnson/immutable"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Objects is one snapshot of the cluster objects that policies with `requires` read, at
// data.cluster["Kind.group"][namespace][name]. It is immutable: With derives the next snapshot,
// which shares all unchanged parts, so that the cost of a snapshot depends on the changes and
// not on the number of objects.
//
// Objects are stored decoded, so that no request waits for the decoding. That takes about ten
// bytes of heap for each byte of an object's JSON without managedFields, and hardly more once
// policies iterate over them: see BenchmarkClusterDataMemory.
type Objects struct {
	kinds map[admission.GroupVersionKind]*kindObjects // without version; a handful
	// complete reports that a kind which is not listed has no objects, as in the files of a
	// command line. With informers, such a kind is unknown.
	complete bool
	// inventories are lazyObjects by the kinds in them: see inventoryView.
	inventories sync.Map
	// reads collects the objects that are read, and original has the inventories: see Observed.
	reads    *Reads
	original *Objects
}

// kindObjects holds the objects of one kind by namespace.
type kindObjects struct {
	namespaces     *immutable.SortedMap[string, *namespaceObjects]
	objects, bytes int
	fields         *Fields // that are stored of each object
	// absent are the objects that are known not to exist, if only some objects are known; nil if
	// all are.
	absent map[Key]bool
	// known are the namespaces of which all objects are known, if only some objects are.
	known []string
	all   lazyObject
}

// namespaceObjects holds the objects of one kind and namespace by name.
type namespaceObjects struct {
	objects *immutable.SortedMap[string, *DecodedObject]
	all     lazyObject
	// versions is the same for templates, by apiVersion and kind.
	versions lazyObject
}

// Key is the location of an object within its kind.
type Key struct {
	Namespace string // empty for a cluster-scoped object
	Name      string
}

// Change is a change of the objects of one kind.
type Change struct {
	// Kind is without version.
	Kind admission.GroupVersionKind
	// Drop removes the kind: policies that require it can no longer be evaluated.
	Drop bool
	// Reset forgets the objects there were, as after a new list.
	Reset bool
	// Fields are those that the objects have, of a Reset or of a kind that is new: nil
	// is all.
	Fields *Fields
	// Objects are the new states; nil is a deletion.
	Objects map[Key]*DecodedObject
}

// KindSize is how much there is of one kind.
type KindSize struct {
	Kind    admission.GroupVersionKind
	Objects int
	// Bytes are those of the objects' JSON, as far as it is stored.
	Bytes int
}

// Empty is a version that no kind has been put into.
func Empty() *Objects { return &Objects{} }

// New arranges objects, given in JSON. All other kinds have none.
func New(objects []json.RawMessage) (*Objects, error) {
	changes := map[admission.GroupVersionKind]Change{}
	for i, raw := range objects {
		object, err := NewObject(raw)
		if err != nil {
			return nil, fmt.Errorf("cluster object %d: %w", i, err)
		}
		if changes[object.kind].Objects == nil {
			changes[object.kind] = Change{Kind: object.kind, Objects: map[Key]*DecodedObject{}}
		}
		changes[object.kind].Objects[object.key] = object
	}
	data := Empty()
	for _, change := range changes {
		data = data.With(change)
	}
	data.complete = true
	return data, nil
}

// With returns the snapshot after changes. A change without objects marks its kind as known.
func (c *Objects) With(changes ...Change) *Objects {
	next := &Objects{kinds: maps.Clone(c.kinds), complete: c.complete}
	if next.kinds == nil {
		next.kinds = map[admission.GroupVersionKind]*kindObjects{}
	}
	for _, change := range changes {
		kind := change.Kind.WithoutVersion()
		if change.Drop {
			delete(next.kinds, kind)
			continue
		}
		before := next.kinds[kind]
		if before == nil || change.Reset {
			before = &kindObjects{namespaces: immutable.NewSortedMap[string, *namespaceObjects](nil), fields: change.Fields}
		}
		next.kinds[kind] = before.with(change.Objects)
	}
	return next
}

// with replaces only the namespaces of the changed objects.
func (k *kindObjects) with(objects map[Key]*DecodedObject) *kindObjects {
	next := &kindObjects{namespaces: k.namespaces, objects: k.objects, bytes: k.bytes, fields: k.fields}
	changed := map[string]*immutable.SortedMap[string, *DecodedObject]{}
	for key, object := range objects {
		names := changed[key.Namespace]
		if names == nil {
			names = k.in(key.Namespace)
		}
		if before, ok := names.Get(key.Name); ok {
			next.objects, next.bytes = next.objects-1, next.bytes-before.bytes
		}
		if object == nil {
			names = names.Delete(key.Name)
		} else {
			next.objects, next.bytes = next.objects+1, next.bytes+object.bytes
			names = names.Set(key.Name, object)
		}
		changed[key.Namespace] = names
	}
	for namespace, names := range changed {
		if names.Len() == 0 {
			next.namespaces = next.namespaces.Delete(namespace)
			continue
		}
		next.namespaces = next.namespaces.Set(namespace, &namespaceObjects{objects: names})
	}
	return next
}

// in are the objects of a namespace.
func (k *kindObjects) in(namespace string) *immutable.SortedMap[string, *DecodedObject] {
	if all, ok := k.namespaces.Get(namespace); ok {
		return all.objects
	}
	return immutable.NewSortedMap[string, *DecodedObject](nil)
}

// Has reports whether the objects of a kind are known, even if there are none.
func (c *Objects) Has(kind admission.GroupVersionKind) bool {
	if c == nil {
		return false
	}
	_, ok := c.kinds[kind.WithoutVersion()]
	return ok || c.complete
}

// HasFields reports whether the objects of a kind are known with the fields.
func (c *Objects) HasFields(kind admission.GroupVersionKind, fields *Fields) bool {
	if !c.Has(kind) {
		return false
	}
	objects, ok := c.kinds[kind.WithoutVersion()]
	return !ok || objects.fields.Covers(fields)
}

// Sizes are those of the kinds that are known, in no order.
func (c *Objects) Sizes() []KindSize {
	sizes := make([]KindSize, 0, len(c.kinds))
	for kind, all := range c.kinds {
		sizes = append(sizes, KindSize{Kind: kind, Objects: all.objects, Bytes: all.bytes})
	}
	return sizes
}

// DecodedObject is one cluster object, ready for policies to read. It is immutable.
type DecodedObject struct {
	kind  admission.GroupVersionKind // without version
	key   Key
	value *ast.Term
	bytes int
}

// NewObject reads an object in JSON. Its managedFields are left out: they are
// often half of it, and say nothing that a policy should decide on.
func NewObject(raw json.RawMessage) (*DecodedObject, error) {
	term, err := terms.Decode(raw)
	if err != nil {
		return nil, err
	}
	object, ok := term.Value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("not an object")
	}
	metadata, _ := terms.Lookup(object, "metadata").(ast.Object)
	o := &DecodedObject{
		kind:  admission.GroupVersionKind{Group: admission.GroupOf(terms.Text(object, "apiVersion")), Kind: terms.Text(object, "kind")},
		key:   Key{Namespace: terms.Text(metadata, "namespace"), Name: terms.Text(metadata, "name")},
		value: term,
		bytes: len(raw),
	}
	if o.kind.Kind == "" || o.key.Name == "" {
		return nil, fmt.Errorf("kind or metadata.name is missing")
	}
	if terms.Lookup(metadata, "managedFields") != nil {
		o.value = ast.NewTerm(terms.With(object, "metadata", ast.NewTerm(terms.Without(metadata, "managedFields"))))
	}
	return o, nil
}

// NewProjectedObject is NewObject with no more than some fields of the object.
func NewProjectedObject(raw json.RawMessage, fields *Fields) (*DecodedObject, error) {
	o, err := NewObject(raw)
	if err != nil || fields.isWhole() {
		return o, err
	}
	o.value = fields.projectTerm(o.value)
	o.bytes = len(o.value.String())
	o.kind = admission.GroupVersionKind{Group: unique.Make(o.kind.Group).Value(), Kind: unique.Make(o.kind.Kind).Value()}
	o.key.Namespace = unique.Make(o.key.Namespace).Value()
	return o, nil
}

// Key returns the location of the object within its kind.
func (o *DecodedObject) Key() Key { return o.key }

// lazyObject is the value of a part of Objects as a whole. It is built when a policy first
// iterates over that part, and stored with the part in all snapshots that share it.
type lazyObject struct {
	once sync.Once
	term *ast.Term
}

func (l *lazyObject) get(items func() [][2]*ast.Term) *ast.Term {
	l.once.Do(func() { l.term = ast.ObjectTerm(items()...) })
	return l.term
}

// value is all objects of a kind, by namespace and name.
func (k *kindObjects) value() *ast.Term {
	return k.all.get(func() [][2]*ast.Term { return k.items(func(string) bool { return true }) })
}

// items are the objects of the namespaces that are visible.
func (k *kindObjects) items(visible func(namespace string) bool) (items [][2]*ast.Term) {
	for i := k.namespaces.Iterator(); !i.Done(); {
		if namespace, objects, _ := i.Next(); visible(namespace) {
			items = append(items, ast.Item(ast.StringTerm(namespace), objects.value()))
		}
	}
	return items
}

// value is all objects of a namespace, by name.
func (n *namespaceObjects) value() *ast.Term {
	return n.all.get(func() [][2]*ast.Term {
		items := make([][2]*ast.Term, 0, n.objects.Len())
		for i := n.objects.Iterator(); !i.Done(); {
			name, object, _ := i.Next()
			items = append(items, ast.Item(ast.StringTerm(name), object.value))
		}
		return items
	})
}
