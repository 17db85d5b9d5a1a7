package terms

import "github.com/open-policy-agent/opa/v1/ast"

// Lookup is the value of a field: nil where object is nil or has none.
func Lookup(object ast.Object, field string) ast.Value {
	if object == nil {
		return nil
	}
	name, ok := fieldTerms[field]
	if !ok {
		name = ast.StringTerm(field)
	}
	if term := object.Get(name); term != nil {
		return term.Value
	}
	return nil
}

// Text is the string in a field: empty where there is none.
func Text(object ast.Object, field string) string {
	value, _ := Lookup(object, field).(ast.String)
	return string(value)
}

// StringList are the strings of a list.
func StringList(value ast.Value) []string {
	array, ok := value.(*ast.Array)
	if !ok {
		return nil
	}
	var out []string
	for i := range array.Len() {
		if s, ok := array.Elem(i).Value.(ast.String); ok {
			out = append(out, string(s))
		}
	}
	return out
}

// With is the object with a field set, which comes last.
func With(object ast.Object, field string, value *ast.Term) ast.Object {
	pairs := make([][2]*ast.Term, 0, object.Len()+1)
	object.Foreach(func(key, old *ast.Term) {
		if name, ok := key.Value.(ast.String); !ok || string(name) != field {
			pairs = append(pairs, [2]*ast.Term{key, old})
		}
	})
	return ast.NewObject(append(pairs, [2]*ast.Term{ast.InternedTerm(field), value})...)
}

// Without is the object without a field.
func Without(object ast.Object, field string) ast.Object {
	pairs := make([][2]*ast.Term, 0, object.Len())
	object.Foreach(func(key, value *ast.Term) {
		if name, ok := key.Value.(ast.String); !ok || string(name) != field {
			pairs = append(pairs, [2]*ast.Term{key, value})
		}
	})
	return ast.NewObject(pairs...)
}

// Count counts the values of a term as DecodeUpTo does, up to one more than most.
func Count(term *ast.Term, most int) int {
	count := 1
	add := func(part *ast.Term) {
		if count <= most {
			count += Count(part, most-count)
		}
	}
	switch value := term.Value.(type) {
	case *ast.Array:
		value.Foreach(add)
	case ast.Object:
		value.Foreach(func(_, part *ast.Term) { add(part) })
	}
	return count
}
