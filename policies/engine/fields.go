package engine

import (
	"maps"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Fields are the parts of the objects of a kind that policies can be shown to read. It
// is immutable; nil stands for whole objects.
type Fields struct {
	whole  bool
	fields map[string]*Fields
	each   *Fields // of every element of a list, or every field; nil where none is read
}

// Reads are, for each kind of cluster objects, what is read of them.
type Reads map[GroupVersionKind]*Fields

// WholeObjects are Reads of everything of some kinds.
func WholeObjects(kinds ...GroupVersionKind) Reads {
	reads := Reads{}
	for _, kind := range kinds {
		reads[kind] = nil
	}
	return reads
}

// Union is what either reads.
func (r Reads) Union(other Reads) Reads {
	out := maps.Clone(r)
	if out == nil {
		out = Reads{}
	}
	for kind, fields := range other {
		if mine, ok := out[kind]; ok {
			fields = mine.Union(fields)
		}
		out[kind] = fields
	}
	return out
}

func (f *Fields) isWhole() bool { return f == nil || f.whole }

// Union is what either has.
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

// at is what is read of a field; ok is false where it is not read.
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

// Covers says whether all that other reads is in what f reads.
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

// project leaves out of a value what is not read. What is read is there as it was, and
// what is not there is not.
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
	if !f.isWhole() {
		return ast.NewTerm(f.project(term.Value))
	}
	switch value := term.Value.(type) {
	case ast.String:
		return common.share(term, string(value))
	case ast.Object:
		items := make([][2]*ast.Term, 0, value.Len())
		value.Foreach(func(key, field *ast.Term) { items = append(items, ast.Item(f.projectTerm(key), f.projectTerm(field))) })
		return ast.NewTerm(ast.NewObject(items...))
	case *ast.Array:
		terms := make([]*ast.Term, 0, value.Len())
		value.Foreach(func(one *ast.Term) { terms = append(terms, f.projectTerm(one)) })
		return ast.NewTerm(ast.NewArray(terms...))
	default:
		return term
	}
}

// common are the texts that many objects have: labels, images, names of owners.
var common = sharedTexts{terms: map[string]*ast.Term{}}

// maxSharedTexts and maxSharedBytes bound what is kept for sharing.
const (
	maxSharedTexts = 8192
	maxSharedBytes = 128
)

// sharedTexts keeps one term for each text. Terms never change.
type sharedTexts struct {
	mu    sync.Mutex // over terms
	terms map[string]*ast.Term
}

func (s *sharedTexts) share(term *ast.Term, text string) *ast.Term {
	if len(text) > maxSharedBytes {
		return term
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.terms[text]; ok {
		return known
	}
	if len(s.terms) >= maxSharedTexts {
		clear(s.terms)
	}
	s.terms[text] = term
	return term
}

// add is the fields with what a path leads to, whole or only that it is there. A step
// that is empty is any element.
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
