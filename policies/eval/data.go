package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// Document is an object of which a policy may read a part without creating the rest. It does
// not change during an evaluation.
type Document interface {
	// Get is the part at a key: a value, a Document, or neither where there is none.
	Get(key string) (ast.Value, Document, error)
	// Value is the whole.
	Value() (ast.Value, error)
}

// ObjectDocument is an object as a Document. As with OPA, a number finds the key that is
// written like it, which keys of JSON cannot otherwise be found by.
func ObjectDocument(object ast.Object) Document { return objectValue{object} }

type objectValue struct{ object ast.Object }

func (d objectValue) Get(key string) (ast.Value, Document, error) {
	found := d.object.Get(ast.StringTerm(key))
	if found == nil {
		return nil, nil, nil
	}
	if inner, ok := found.Value.(ast.Object); ok {
		return nil, objectValue{inner}, nil
	}
	return found.Value, nil, nil
}

func (d objectValue) Value() (ast.Value, error) { return d.object, nil }

// documentValue is a Document in a register. It leaves the machine as its whole value only.
type documentValue struct {
	Document
	parts map[string]*ast.Term // that were read; nil = there is none
	whole *ast.Term
}

// The methods of ast.Value are never called: a document is not a part of any value.

// Compare implements ast.Value.
func (*documentValue) Compare(ast.Value) int { panic("a document is compared by its value") }

// Find implements ast.Value.
func (*documentValue) Find(ast.Ref) (ast.Value, error) { panic("a document is read by its value") }

// Hash implements ast.Value.
func (*documentValue) Hash() int { panic("a document is hashed by its value") }

// IsGround implements ast.Value.
func (*documentValue) IsGround() bool { return true }

// String implements ast.Value.
func (*documentValue) String() string { return "a document" }

// StringLength implements ast.Value.
func (*documentValue) StringLength() int { return len("a document") }

func documentTerm(d Document) *ast.Term { return ast.NewTerm(&documentValue{Document: d}) }

// part is nil where there is none.
func (d *documentValue) part(m *machine, key *ast.Term) *ast.Term {
	var name string
	switch key := key.Value.(type) {
	case ast.String:
		name = string(key)
	case ast.Number:
		name = string(key)
	default:
		return nil
	}
	if part, known := d.parts[name]; known {
		return part
	}
	value, inner, err := d.Get(name)
	if err != nil {
		m.stop(err)
		return nil
	}
	var part *ast.Term
	switch {
	case inner != nil:
		part = documentTerm(inner)
	case value != nil:
		part = ast.NewTerm(value)
	}
	if d.parts == nil {
		d.parts = map[string]*ast.Term{}
	}
	d.parts[name] = part
	return part
}

// made is the whole value of a document; nil where it cannot be had.
func (m *machine) made(d *documentValue) *ast.Term {
	if d.whole == nil {
		value, err := d.Value()
		if err != nil {
			m.stop(err)
			return nil
		}
		m.steps += int64(keysOf(value))
		d.whole = ast.NewTerm(value)
	}
	return d.whole
}

// overlaid is a Document with another value at one key. As with OPA, an object there takes
// the place of the one that was when it is asked for itself; within the whole it lies over it.
type overlaid struct {
	machine  *machine
	base     Document
	key      string
	value    ast.Value
	document Document // in place of a value
}

func (o *overlaid) Get(key string) (ast.Value, Document, error) {
	if key == o.key {
		return o.value, o.document, nil
	}
	return o.base.Get(key)
}

func (o *overlaid) Value() (ast.Value, error) {
	base, err := o.base.Value()
	if err != nil {
		return nil, err
	}
	value := o.value
	if o.document != nil {
		if value, err = o.document.Value(); err != nil {
			return nil, err
		}
	}
	if object, ok := base.(ast.Object); ok && o.document == nil {
		if was := object.Get(ast.StringTerm(o.key)); was != nil {
			value = over(ast.NewTerm(value), was).Value
		}
	}
	return o.machine.withKey(base, ast.StringTerm(o.key), ast.NewTerm(value)), nil
}

// withKey is an object, or in place of anything else an empty one, with another value at
// a key.
func (m *machine) withKey(base ast.Value, key, value *ast.Term) ast.Object {
	object, ok := base.(ast.Object)
	if !ok {
		return ast.NewObject([2]*ast.Term{key, value})
	}
	m.copied(object.Len())
	out := ast.NewObjectWithCapacity(object.Len() + 1)
	object.Foreach(func(k, v *ast.Term) {
		if !k.Equal(key) {
			out.Insert(k, v)
		}
	})
	out.Insert(key, value)
	return out
}

// replaced is input or data under a `with`: the value at the path is replaced, and everything
// else is unchanged. base may be nil.
func (m *machine) replaced(base *ast.Term, path []*ast.Term, value *ast.Term) *ast.Term {
	if len(path) == 0 {
		return value
	}
	if base == nil {
		return ast.NewTerm(m.withKey(nil, path[0], m.replaced(nil, path[1:], value)))
	}
	inner := m.replaced(m.part(base, path[0]), path[1:], value)
	d, ok := base.Value.(*documentValue)
	if !ok {
		return ast.NewTerm(m.withKey(base.Value, path[0], inner))
	}
	o := &overlaid{machine: m, base: d.Document, key: string(path[0].Value.(ast.String))}
	if below, ok := inner.Value.(*documentValue); ok {
		o.document = below.Document
	} else {
		o.value = inner.Value
	}
	return documentTerm(o)
}

// get is the element of a collection at a key, of a set the element itself: nil where
// there is none.
func get(collection, key *ast.Term) *ast.Term {
	switch value := collection.Value.(type) {
	case ast.Object:
		return value.Get(key)
	case *ast.Array:
		return value.Get(key)
	case ast.Set:
		if value.Contains(key) {
			return key
		}
	}
	return nil
}
