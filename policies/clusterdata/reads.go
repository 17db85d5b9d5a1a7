package clusterdata

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
)

// Reads collects which objects the policies read during one review. Zero is ready for use.
type Reads struct {
	mutex sync.Mutex
	kinds map[admission.GroupVersionKind]*KindReads
}

// KindReads are the objects of one kind that were read.
type KindReads struct {
	// All states that all objects of the kind were read, and Namespaces lists the namespaces in
	// which all were; "" for cluster-scoped objects.
	All        bool
	Namespaces map[string]bool
	// Objects are the objects that were looked up; nil for one that did not exist.
	Objects map[Key]*DecodedObject
	objects *kindObjects // nil if there are none
}

// Observed is the same objects for one review. What its documents return is added to reads.
func (c *Objects) Observed(reads *Reads) *Objects {
	if c == nil {
		return nil
	}
	return &Objects{kinds: c.kinds, complete: c.complete, reads: reads, original: c}
}

// Kinds calls visit for each kind of which anything was read. It must not be called during an
// evaluation.
func (r *Reads) Kinds(visit func(kind admission.GroupVersionKind, read *KindReads)) {
	for kind, read := range r.kinds {
		visit(kind, read)
	}
}

// Fields are the fields that the objects have; nil means whole objects.
func (k *KindReads) Fields() *Fields {
	if k.objects == nil {
		return nil
	}
	return k.objects.fields
}

// Each calls visit for every object that was read, until visit returns false. The result reports
// whether it was called for all.
func (k *KindReads) Each(visit func(*DecodedObject) bool) bool {
	in := func(namespace *namespaceObjects) bool {
		for i := namespace.objects.Iterator(); !i.Done(); {
			if _, object, _ := i.Next(); !visit(object) {
				return false
			}
		}
		return true
	}
	if k.objects != nil {
		for i := k.objects.namespaces.Iterator(); !i.Done(); {
			name, objects, _ := i.Next()
			if (k.All || k.Namespaces[name]) && !in(objects) {
				return false
			}
		}
	}
	for key, object := range k.Objects {
		if object != nil && !k.All && !k.Namespaces[key.Namespace] && !visit(object) {
			return false
		}
	}
	return true
}

// Bytes is about the size of the object as JSON.
func (o *DecodedObject) Bytes() int { return o.bytes }

// of returns nil if nothing is collected.
func (r *Reads) of(kind admission.GroupVersionKind, objects *kindObjects) *KindReads {
	kind = kind.WithoutVersion()
	if r.kinds == nil {
		r.kinds = map[admission.GroupVersionKind]*KindReads{}
	}
	read := r.kinds[kind]
	if read == nil {
		read = &KindReads{objects: objects, Namespaces: map[string]bool{}, Objects: map[Key]*DecodedObject{}}
		r.kinds[kind] = read
	}
	return read
}

func (r *Reads) all(kind admission.GroupVersionKind, objects *kindObjects) {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.of(kind, objects).All = true
}

func (r *Reads) namespace(kind admission.GroupVersionKind, objects *kindObjects, namespace string) {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.of(kind, objects).Namespaces[namespace] = true
}

func (r *Reads) object(kind admission.GroupVersionKind, objects *kindObjects, key Key, object *DecodedObject) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.of(kind, objects).Objects[key] = object
}

// observedNamespace is the objects of one namespace, by name.
type observedNamespace struct {
	*namespaceObjects
	kindView
	name string
}

// Get implements eval.Document.
func (o observedNamespace) Get(name string) (ast.Value, eval.Document, error) {
	object, _ := o.namespaceObjects.objects.Get(name)
	o.reads.object(o.kind, o.kindView.objects, Key{o.name, name}, object)
	return o.namespaceObjects.Get(name)
}

// Value implements eval.Document.
func (o observedNamespace) Value() (ast.Value, error) {
	o.reads.namespace(o.kind, o.kindView.objects, o.name)
	return o.namespaceObjects.Value()
}

// Recorded returns the object as JSON, with the fields that identify it even if they are not
// stored.
func (o *DecodedObject) Recorded() ([]byte, error) {
	value, err := ast.JSON(o.value.Value)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a stored object is not a JSON object")
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	metadata["name"] = o.key.Name
	if o.key.Namespace != "" {
		metadata["namespace"] = o.key.Namespace
	}
	object["kind"] = o.kind.Kind
	if _, ok := object["apiVersion"]; !ok && o.kind.Group != "" {
		object["apiVersion"] = o.kind.Group + "/" + unknownVersion
	} else if !ok {
		object["apiVersion"] = "v1"
	}
	return json.Marshal(object)
}

// unknownVersion is the version of an object of which policies read none.
const unknownVersion = "unknown"
