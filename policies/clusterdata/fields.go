package clusterdata

import (
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Fields are the parts of a kind's objects that policies can read. It is immutable; nil means
// whole objects.
type Fields struct {
	whole  bool
	fields map[string]*Fields
	each   *Fields // of every element of a list, or every field; nil where none is read
}

func (f *Fields) isWhole() bool { return f == nil || f.whole }

// Union returns the fields in either set.
func (f *Fields) Union(other *Fields) *Fields {
	if f.isWhole() || other.isWhole() {
		return &Fields{whole: true}
	}
	out := &Fields{fields: maps.Clone(f.fields), each: f.each}
	for name, field := range other.fields {
		if mine, ok := out.fields[name]; ok {
			field = mine.Union(field)
		}
		if out.fields == nil {
			out.fields = map[string]*Fields{}
		}
		out.fields[name] = field
	}
	switch {
	case out.each == nil:
		out.each = other.each
	case other.each != nil:
		out.each = out.each.Union(other.each)
	}
	return out
}

// at returns the fields read of a field's value; ok is false if the field is not read.
func (f *Fields) at(name string) (field *Fields, ok bool) {
	field, ok = f.fields[name]
	switch {
	case f.each == nil:
		return field, ok
	case ok:
		return field.Union(f.each), true
	default:
		return f.each, true
	}
}

// Covers reports whether f includes all fields of other.
func (f *Fields) Covers(other *Fields) bool {
	switch {
	case f.isWhole():
		return true
	case other.isWhole():
		return false
	case other.each != nil && (f.each == nil || !f.each.Covers(other.each)):
		return false
	}
	for name, field := range other.fields {
		if mine, ok := f.at(name); !ok || !mine.Covers(field) {
			return false
		}
	}
	return true
}

// project removes the fields that are not read from a value. Other fields are unchanged; missing
// fields stay missing.
func (f *Fields) project(value ast.Value) ast.Value {
	if f.isWhole() {
		return value
	}
	switch value := value.(type) {
	case ast.Object:
		var items [][2]*ast.Term
		value.Foreach(func(key, term *ast.Term) {
			name, isText := key.Value.(ast.String)
			if !isText {
				return
			}
			if field, ok := f.at(string(name)); ok {
				items = append(items, ast.Item(key, field.projectTerm(term)))
			}
		})
		return ast.NewObject(items...)
	case *ast.Array:
		if f.each == nil {
			return ast.NewArray()
		}
		terms := make([]*ast.Term, 0, value.Len())
		value.Foreach(func(term *ast.Term) { terms = append(terms, f.each.projectTerm(term)) })
		return ast.NewArray(terms...)
	default:
		return value
	}
}

func (f *Fields) projectTerm(term *ast.Term) *ast.Term {
	switch value := term.Value.(type) {
	case ast.Object, *ast.Array:
		if f.isWhole() {
			return common.share(term)
		}
		return common.share(ast.NewTerm(f.project(value)))
	default:
		return common.share(term)
	}
}

// add returns the fields with a path added, either with the whole value or only its presence. An
// empty step is any element.
func (f *Fields) add(path []string, whole bool) *Fields {
	if f.isWhole() {
		return f
	}
	if len(path) == 0 {
		if whole {
			return &Fields{whole: true}
		}
		return f
	}
	step := &Fields{}
	step = step.add(path[1:], whole)
	if path[0] == "" {
		return f.Union(&Fields{each: step})
	}
	return f.Union(&Fields{fields: map[string]*Fields{path[0]: step}})
}
