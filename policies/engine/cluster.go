package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"unique"

	"github.com/benbjohnson/immutable"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/terms"
)

// ClusterData is one version of the cluster objects that policies with `requires`
// read, at data.cluster["Kind.group"][namespace][name]. It is immutable: With
// derives the next version, which shares all that did not change, so that a version
// costs what changed and not what there is.
//
// Objects are kept decoded, so that no request waits for that. That takes about ten
// bytes of heap for each byte of an object's JSON without managedFields, and next to
// nothing more once policies iterate over them: see BenchmarkClusterDataMemory.
type ClusterData struct {
	kinds map[admission.GroupVersionKind]*clusterKind // without version; a handful
	// complete says that a kind which is not listed has no objects, as in the files
	// of a command line. Where informers bring the objects, it is not known yet.
	complete bool
	// inventories are wholeValues by the kinds in them: see inventoryView.
	inventories sync.Map
}

// clusterKind holds the objects of one kind by namespace.
type clusterKind struct {
	namespaces     *immutable.SortedMap[string, *clusterNamespace]
	objects, bytes int
	held           *heldFields
	whole          wholeValue
	version        uint64 // of no other state of any kind
}

// kindVersions counts the states of kinds.
var kindVersions atomic.Uint64

// heldFields are those that the objects of a kind are held with.
type heldFields struct {
	fields  *Fields
	covered sync.Map // *Fields to bool: reviews ask for the same again and again
}

func (h *heldFields) covers(fields *Fields) bool {
	if h.fields.isWhole() {
		return true
	}
	known, ok := h.covered.Load(fields)
	if !ok {
		known, _ = h.covered.LoadOrStore(fields, h.fields.Covers(fields))
	}
	return known.(bool)
}

// clusterNamespace holds the objects of one kind and namespace by name.
type clusterNamespace struct {
	objects *immutable.SortedMap[string, *ClusterObject]
	whole   wholeValue
	// versions is the same for templates, by apiVersion and kind.
	versions wholeValue
}

// ClusterObjectKey is where an object of a kind stands.
type ClusterObjectKey struct {
	Namespace string // empty for a cluster-scoped object
	Name      string
}

// ClusterChange is what became of the objects of one kind.
type ClusterChange struct {
	// Kind is without version.
	Kind admission.GroupVersionKind
	// Drop forgets the kind: policies that require it cannot be asked any more.
	Drop bool
	// Reset forgets the objects there were, as after a new list.
	Reset bool
	// Fields are those that the objects have, of a Reset or of a kind that is new: nil
	// is all.
	Fields *Fields
	// Objects are the new states; nil is a deletion.
	Objects map[ClusterObjectKey]*ClusterObject
}

// ClusterKindSize is how much one kind holds.
type ClusterKindSize struct {
	Kind    admission.GroupVersionKind
	Objects int
	// Bytes are those of the objects' JSON, as far as it is held.
	Bytes int
}

// EmptyClusterData is a version that no kind has been put into.
func EmptyClusterData() *ClusterData { return &ClusterData{} }

// NewClusterData arranges objects, given in JSON. All other kinds have none.
func NewClusterData(objects []json.RawMessage) (*ClusterData, error) {
	changes := map[admission.GroupVersionKind]ClusterChange{}
	for i, raw := range objects {
		object, err := NewClusterObject(raw)
		if err != nil {
			return nil, fmt.Errorf("cluster object %d: %w", i, err)
		}
		if changes[object.kind].Objects == nil {
			changes[object.kind] = ClusterChange{Kind: object.kind, Objects: map[ClusterObjectKey]*ClusterObject{}}
		}
		changes[object.kind].Objects[object.key] = object
	}
	data := EmptyClusterData()
	for _, change := range changes {
		data = data.With(change)
	}
	data.complete = true
	return data, nil
}

// With is the version after changes. A change without objects makes its kind known.
func (c *ClusterData) With(changes ...ClusterChange) *ClusterData {
	next := &ClusterData{kinds: maps.Clone(c.kinds), complete: c.complete}
	if next.kinds == nil {
		next.kinds = map[admission.GroupVersionKind]*clusterKind{}
	}
	for _, change := range changes {
		kind := admission.GroupVersionKind{Group: change.Kind.Group, Kind: change.Kind.Kind}
		if change.Drop {
			delete(next.kinds, kind)
			continue
		}
		before := next.kinds[kind]
		if before == nil || change.Reset {
			before = &clusterKind{namespaces: immutable.NewSortedMap[string, *clusterNamespace](nil), held: &heldFields{fields: change.Fields}}
		}
		next.kinds[kind] = before.with(change.Objects)
	}
	return next
}

// with replaces only the namespaces that objects are in.
func (k *clusterKind) with(objects map[ClusterObjectKey]*ClusterObject) *clusterKind {
	next := &clusterKind{namespaces: k.namespaces, objects: k.objects, bytes: k.bytes, held: k.held, version: kindVersions.Add(1)}
	changed := map[string]*immutable.SortedMap[string, *ClusterObject]{}
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
		next.namespaces = next.namespaces.Set(namespace, &clusterNamespace{objects: names})
	}
	return next
}

// in are the objects of a namespace.
func (k *clusterKind) in(namespace string) *immutable.SortedMap[string, *ClusterObject] {
	if held, ok := k.namespaces.Get(namespace); ok {
		return held.objects
	}
	return immutable.NewSortedMap[string, *ClusterObject](nil)
}

// Holds says whether the objects of a kind are known, if only that there are none.
func (c *ClusterData) Holds(kind admission.GroupVersionKind) bool {
	if c == nil {
		return false
	}
	_, ok := c.kinds[admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}]
	return ok || c.complete
}

// HoldsFields says whether the objects of a kind are known, with the fields.
func (c *ClusterData) HoldsFields(kind admission.GroupVersionKind, fields *Fields) bool {
	if !c.Holds(kind) {
		return false
	}
	held, ok := c.kinds[withoutVersion(kind)]
	return !ok || held.held.covers(fields)
}

func withoutVersion(kind admission.GroupVersionKind) admission.GroupVersionKind {
	return admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}
}

// Sizes are those of the kinds that are held, in no order.
func (c *ClusterData) Sizes() []ClusterKindSize {
	sizes := make([]ClusterKindSize, 0, len(c.kinds))
	for kind, held := range c.kinds {
		sizes = append(sizes, ClusterKindSize{Kind: kind, Objects: held.objects, Bytes: held.bytes})
	}
	return sizes
}

// ClusterObject is one cluster object, ready for policies to read. It is immutable.
type ClusterObject struct {
	kind  admission.GroupVersionKind // without version
	key   ClusterObjectKey
	value *ast.Term
	bytes int
}

// NewClusterObject reads an object in JSON. Its managedFields are left out: they are
// often half of it, and say nothing that a policy should decide on.
func NewClusterObject(raw json.RawMessage) (*ClusterObject, error) {
	term, err := terms.Decode(raw)
	if err != nil {
		return nil, err
	}
	object, ok := term.Value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("not an object")
	}
	metadata, _ := terms.Lookup(object, "metadata").(ast.Object)
	o := &ClusterObject{
		kind:  admission.GroupVersionKind{Group: admission.GroupOf(terms.Text(object, "apiVersion")), Kind: terms.Text(object, "kind")},
		key:   ClusterObjectKey{Namespace: terms.Text(metadata, "namespace"), Name: terms.Text(metadata, "name")},
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

// NewProjectedObject is NewClusterObject with no more than some fields of the object.
func NewProjectedObject(raw json.RawMessage, fields *Fields) (*ClusterObject, error) {
	o, err := NewClusterObject(raw)
	if err != nil || fields.isWhole() {
		return o, err
	}
	o.value = fields.projectTerm(o.value)
	o.bytes = len(o.value.String())
	o.kind = admission.GroupVersionKind{Group: unique.Make(o.kind.Group).Value(), Kind: unique.Make(o.kind.Kind).Value()}
	o.key.Namespace = unique.Make(o.key.Namespace).Value()
	return o, nil
}

// Key is where the object stands within its kind.
func (o *ClusterObject) Key() ClusterObjectKey { return o.key }
