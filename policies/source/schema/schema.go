// Package schema describes the fields of objects of a kind, from Go types,
// CustomResourceDefinitions or the OpenAPI documents of a cluster.
//
// Invariant: a field of uncertain type is Any. A check for missing fields therefore never
// reports a field that exists.
package schema

import (
	"maps"
)

// Schema describes a value. It is immutable after its creation, and shared: a schema may be part
// of many others.
type Schema struct {
	// Type is one of those below.
	Type Type
	// Fields are all that an Object can have.
	Fields map[string]*Schema
	// Items are the elements of a List.
	Items *Schema
}

// Type is the form of a value.
type Type int

const (
	// Any may be any value: a map, an open object, or a value of unknown type.
	Any Type = iota
	// Object has no fields but those that are listed.
	Object
	// List has elements of one schema.
	List
	// Text is a string.
	Text
	// Number is an integer or a floating-point number.
	Number
	// Boolean is true or false.
	Boolean
)

var anySchema = &Schema{Type: Any}

// Anything is the schema that says nothing.
func Anything() *Schema { return anySchema }

// Of makes an Object.
func Of(fields map[string]*Schema) *Schema { return &Schema{Type: Object, Fields: fields} }

// Union is the schema of values that fit one of several: it has each field that one of
// them has. Of none, it is Any.
func Union(schemas ...*Schema) *Schema {
	if len(schemas) == 0 {
		return anySchema
	}
	m := merger{}
	out := schemas[0]
	for _, other := range schemas[1:] {
		out = m.union(out, other)
	}
	return out
}

// merger caches the unions of pairs, so that shared schemas are merged once.
type merger map[[2]*Schema]*Schema

func (m merger) union(a, b *Schema) *Schema {
	switch {
	case a == b:
		return a
	case a.Type != b.Type || a.Type == Any:
		return anySchema
	case a.Type != Object && a.Type != List:
		return a
	}
	pair := [2]*Schema{a, b}
	if known, ok := m[pair]; ok {
		return known
	}
	merged := &Schema{Type: a.Type}
	m[pair] = merged
	if a.Type == List {
		merged.Items = m.union(a.Items, b.Items)
		return merged
	}
	merged.Fields = maps.Clone(a.Fields)
	if merged.Fields == nil {
		merged.Fields = map[string]*Schema{}
	}
	for name, field := range b.Fields {
		if mine, ok := merged.Fields[name]; ok {
			field = m.union(mine, field)
		}
		merged.Fields[name] = field
	}
	return merged
}

// with is the object with fields in place of its own of these names.
func (s *Schema) with(fields map[string]*Schema) *Schema {
	if s.Type != Object {
		return s
	}
	changed := maps.Clone(s.Fields)
	maps.Copy(changed, fields)
	return Of(changed)
}
