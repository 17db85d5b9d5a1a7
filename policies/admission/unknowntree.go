package admission

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// unknownTree has the unknown values of a document by their paths, so that each object and list is
// copied once.
type unknownTree struct {
	unknown *ast.Term // in place of the whole value; nil if only parts are unknown
	parts   map[string]*unknownTree
}

func (u *unknownTree) add(path []string, unknown *ast.Term) {
	for _, step := range path {
		if u.unknown != nil {
			return // unknown as a whole
		}
		if u.parts == nil {
			u.parts = map[string]*unknownTree{}
		}
		if u.parts[step] == nil {
			u.parts[step] = &unknownTree{}
		}
		u = u.parts[step]
	}
	u.unknown = unknown
}

// replace returns a value with its unknown parts, whose paths must exist.
func (u *unknownTree) replace(t *ast.Term) (*ast.Term, error) {
	if u.unknown != nil {
		return u.unknown, nil
	}
	if len(u.parts) == 0 {
		return t, nil
	}
	switch value := t.Value.(type) {
	case ast.Object:
		return u.replaceFields(value)
	case *ast.Array:
		return u.replaceElements(value)
	}
	return nil, fmt.Errorf("%q is below a value without parts", u.first())
}

func (u *unknownTree) replaceFields(object ast.Object) (*ast.Term, error) {
	fields := make([][2]*ast.Term, 0, object.Len()+1)
	found := 0
	err := object.Iter(func(key, value *ast.Term) error {
		if name, ok := key.Value.(ast.String); ok && u.parts[string(name)] != nil {
			found++
			var err error
			if value, err = u.parts[string(name)].replace(value); err != nil {
				return err
			}
		}
		fields = append(fields, [2]*ast.Term{key, value})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found < len(u.parts) {
		for _, name := range slices.Sorted(maps.Keys(u.parts)) {
			switch {
			case object.Get(ast.StringTerm(name)) != nil:
			case u.parts[name].unknown == nil:
				return nil, fmt.Errorf("there is no field %q", name)
			default: // left out, as managedFields
				fields = append(fields, ast.Item(ast.StringTerm(name), u.parts[name].unknown))
			}
		}
	}
	return ast.ObjectTerm(fields...), nil
}

func (u *unknownTree) replaceElements(list *ast.Array) (*ast.Term, error) {
	elements := make([]*ast.Term, list.Len())
	for i := range elements {
		elements[i] = list.Elem(i)
	}
	for step, part := range u.parts {
		i, err := strconv.ParseUint(step, 10, 31)
		if err != nil || int(i) >= len(elements) {
			return nil, fmt.Errorf("there is no element %q", step)
		}
		if elements[i], err = part.replace(elements[i]); err != nil {
			return nil, err
		}
	}
	return ast.ArrayTerm(elements...), nil
}

// first is one of the steps below, for messages.
func (u *unknownTree) first() string { return slices.Min(slices.Collect(maps.Keys(u.parts))) }
