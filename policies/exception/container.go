package exception

import (
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/terms"
)

// containerLists are the lists of containers in the spec of a Pod.
var containerLists = map[string]bool{"containers": true, "initContainers": true, "ephemeralContainers": true}

// CoversField reports whether the exception covers findings about a field of an object. An
// exception that selects containers covers only fields in those: a field that is empty or in no
// container of the object is not covered.
func (e *Exception) CoversField(object *admission.Object, field string) bool {
	if !e.LimitsContainers() {
		return true
	}
	container := containerAt(object, field)
	if container == nil {
		return false
	}
	return (len(e.Containers) == 0 || matchesAny(e.Containers, terms.Text(container, "name"))) &&
		(len(e.Images) == 0 || matchesAny(e.Images, terms.Text(container, "image")))
}

// containerAt returns the container of an object that contains a field: nil if there is none.
// The field must be the only reading of its text, so an index must be a number in range.
func containerAt(object *admission.Object, field string) ast.Object {
	path, ok := fieldPath(field)
	if !ok || object == nil {
		return nil
	}
	current := ast.Value(object.Value())
	for i, segment := range path {
		switch value := current.(type) {
		case ast.Object:
			current = terms.Lookup(value, segment)
		case *ast.Array:
			index, err := strconv.Atoi(segment)
			if err != nil || index < 0 || index >= value.Len() || strconv.Itoa(index) != segment {
				return nil
			}
			current = value.Elem(index).Value
			if i >= 2 && containerLists[path[i-1]] && path[i-2] == "spec" {
				container, _ := current.(ast.Object)
				return container
			}
		default:
			return nil
		}
	}
	return nil
}

// fieldPath splits a field such as spec.containers[2].image or /spec/containers/2/image. ok is
// false for a text that is neither.
func fieldPath(field string) (path []string, ok bool) {
	if pointer, isPointer := strings.CutPrefix(field, "/"); isPointer {
		path = strings.Split(pointer, "/")
		for i := range path {
			path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
		}
		return path, true
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(field, "$"), ".")
	for rest != "" {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			return append(path, rest), true
		}
		if end > 0 {
			path = append(path, rest[:end])
		}
		if rest[end] == '.' {
			if rest = rest[end+1:]; rest == "" || end == 0 {
				return nil, false
			}
			continue
		}
		segment, after, closed := strings.Cut(rest[end+1:], "]")
		if !closed || segment == "" {
			return nil, false
		}
		path = append(path, strings.Trim(segment, `"'`))
		if rest = after; rest != "" && rest[0] != '.' && rest[0] != '[' {
			return nil, false
		}
		rest = strings.TrimPrefix(rest, ".")
	}
	return path, len(path) > 0
}
