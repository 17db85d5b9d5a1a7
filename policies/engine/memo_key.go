package engine

import (
	"encoding/binary"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// maxKeyBytes is the longest key: what reads more of a request is not remembered.
	maxKeyBytes = 32 << 10
	// maxSaidBytes is up to where all texts are alike to a message.
	maxSaidBytes = 1024
)

// keyWriter writes canonical bytes of the parts of a request: equal if and only if the
// parts are. Each value begins with its type, and each text and collection with its
// length. Numbers keep their text: 1 and 1.0 are not the same.
type keyWriter struct {
	bytes []byte
	start int // of the key that is being written
}

func (w *keyWriter) full() bool { return len(w.bytes)-w.start > maxKeyBytes }

func (w *keyWriter) text(kind byte, text string) {
	w.bytes = append(w.bytes, kind)
	w.bytes = binary.AppendUvarint(w.bytes, uint64(len(text)))
	w.bytes = append(w.bytes, text...)
}

func (w *keyWriter) length(kind byte, length int) {
	w.bytes = append(w.bytes, kind)
	w.bytes = binary.AppendUvarint(w.bytes, uint64(length))
}

// value writes all of a value: nil is none.
func (w *keyWriter) value(value ast.Value) {
	if w.full() {
		return
	}
	switch value := value.(type) {
	case nil:
		w.bytes = append(w.bytes, '-')
	case ast.Null:
		w.bytes = append(w.bytes, 'n')
	case ast.Boolean:
		w.boolean(value)
	case ast.Number:
		w.text('0', string(value))
	case ast.String:
		w.text('"', string(value))
	case *ast.Array:
		w.length('[', value.Len())
		for i := range value.Len() {
			w.value(value.Elem(i).Value)
		}
	case ast.Object:
		w.length('{', value.Len())
		value.Foreach(func(key, member *ast.Term) {
			w.value(key.Value)
			w.value(member.Value)
		})
	default: // JSON has no other
		w.text('?', value.String())
	}
}

func (w *keyWriter) boolean(value ast.Boolean) {
	if value {
		w.bytes = append(w.bytes, 't')
	} else {
		w.bytes = append(w.bytes, 'f')
	}
}

// parts writes what a node asks about a value.
func (w *keyWriter) parts(node *keyNode, value ast.Value) {
	if node.whole || w.full() {
		w.value(value)
		return
	}
	switch value := value.(type) {
	case ast.String:
		if node.said && len(value) > maxSaidBytes {
			w.value(value)
			return
		}
		w.bytes = append(w.bytes, 's')
	case ast.Number:
		if node.said {
			w.value(value)
			return
		}
		w.bytes = append(w.bytes, '#')
	case *ast.Array:
		switch {
		case node.said:
			w.value(value)
		case node.each == nil:
			w.bytes = append(w.bytes, 'a')
		default:
			w.length('(', value.Len())
			for i := range value.Len() {
				w.parts(node.each, value.Elem(i).Value)
			}
		}
	case ast.Object:
		w.object(node, value)
	default:
		w.value(value)
	}
}

func (w *keyWriter) object(node *keyNode, object ast.Object) {
	if node.said {
		w.value(object)
		return
	}
	w.bytes = append(w.bytes, 'o')
	if node.each != nil {
		w.length('<', object.Len())
		object.Foreach(func(key, member *ast.Term) {
			w.value(key.Value)
			w.parts(node.each, member.Value)
		})
	}
	for _, field := range node.fields {
		if member := object.Get(field.name); member != nil {
			w.parts(field.node, member.Value)
		} else {
			w.bytes = append(w.bytes, '-')
		}
	}
}

// review writes the parts of a request, as an evaluation has them.
func (w *keyWriter) review(node *keyNode, e *evaluation) {
	for _, field := range node.fields {
		switch field.name.Value.(ast.String) {
		case "request":
			w.request(field.node, e.review)
		case "name":
			w.parts(field.node, ast.String(e.review.DisplayName()))
		case "namespace":
			if namespace := e.namespace.value(); namespace != nil {
				w.parts(field.node, namespace)
			} else {
				w.bytes = append(w.bytes, '-')
			}
		case "facts":
			if e.facts == nil {
				w.bytes = append(w.bytes, '-')
			} else {
				w.parts(field.node, e.facts.Value)
			}
		}
	}
}

// request does not make the whole request for its objects.
func (w *keyWriter) request(node *keyNode, r *Review) {
	if node.whole || node.said || node.each != nil {
		w.parts(node, r.request())
		return
	}
	for _, field := range node.fields {
		object := (*lazyObject)(nil)
		switch name := field.name.Value.(ast.String); name {
		case "operation":
			w.text('"', r.Operation)
			continue
		case "object":
			object = r.object
		case "oldObject":
			object = r.oldObject
		}
		if object != nil {
			w.parts(field.node, object.value())
			continue
		}
		if member := r.request().Get(field.name); member != nil {
			w.parts(field.node, member.Value)
		} else {
			w.bytes = append(w.bytes, '-')
		}
	}
}

// versions writes which objects of the cluster there are.
func (w *keyWriter) versions(kinds []GroupVersionKind, data *ClusterData) {
	for _, kind := range kinds {
		var version uint64
		if data != nil {
			if held := data.kinds[withoutVersion(kind)]; held != nil {
				version = held.version
			}
		}
		w.bytes = binary.BigEndian.AppendUint64(w.bytes, version)
	}
}
