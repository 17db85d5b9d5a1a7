package clusterdata

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
)

// Part contains the known objects of one kind.
type Part struct {
	// Kind is without version.
	Kind admission.GroupVersionKind
	// Fields are those that the Objects have; nil is all.
	Fields  *Fields
	Objects []json.RawMessage
	// Absent are objects that are known not to exist.
	Absent []Key
	// Complete reports that there are no other objects of the kind.
	Complete bool
	// CompleteNamespaces are namespaces in which there are no other objects of the kind.
	CompleteNamespaces []string
}

// NewPartial arranges objects of which only parts are known. A policy that reads an object that is
// not known, or iterates over objects that are not all known, ends with an *eval.UnknownError.
func NewPartial(parts []Part) (*Objects, error) {
	data := Empty()
	for _, part := range parts {
		change := Change{Kind: part.Kind, Fields: part.Fields, Objects: map[Key]*DecodedObject{}}
		for i, raw := range part.Objects {
			object, err := NewObject(raw)
			if err != nil {
				return nil, fmt.Errorf("cluster object %d of kind %s: %w", i, part.Kind, err)
			}
			if object.kind != part.Kind.WithoutVersion() {
				return nil, fmt.Errorf("cluster object %d of kind %s: its kind is %s", i, part.Kind, object.kind)
			}
			change.Objects[object.key] = object
		}
		data = data.With(change)
		if part.Complete {
			continue
		}
		kind := data.kinds[part.Kind.WithoutVersion()]
		kind.absent = map[Key]bool{}
		for _, key := range part.Absent {
			kind.absent[key] = true
		}
		kind.known = part.CompleteNamespaces
	}
	return data, nil
}

// isPartial reports whether there may be other objects of the kind.
func (k *kindObjects) isPartial() bool { return k != nil && k.absent != nil }

// isPartialIn reports whether there may be other objects of the kind in a namespace.
func (k *kindObjects) isPartialIn(namespace string) bool {
	return k.isPartial() && !slices.Contains(k.known, namespace)
}

// unknownObjects is the error of a policy that iterates over objects that are not all known.
func unknownObjects(kind admission.GroupVersionKind, names ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "data.cluster[%s]", strconv.Quote(kind.String()))
	for _, name := range names {
		b.WriteString("[" + strconv.Quote(name) + "]")
	}
	return &eval.UnknownError{Reference: b.String()}
}

// partialNamespace contains the known objects of a namespace.
type partialNamespace struct {
	kind      admission.GroupVersionKind
	objects   *kindObjects
	namespace string
}

// Get implements eval.Document: an object by its name.
func (n partialNamespace) Get(name string) (ast.Value, eval.Document, error) {
	if object, ok := n.objects.in(n.namespace).Get(name); ok {
		return object.value.Value, nil, nil
	}
	if n.objects.absent[Key{n.namespace, name}] {
		return nil, nil, nil
	}
	return nil, nil, unknownObjects(n.kind, n.namespace, name)
}

// Value implements eval.Document.
func (n partialNamespace) Value() (ast.Value, error) {
	return nil, unknownObjects(n.kind, n.namespace)
}
