package engine

import (
	"strconv"

	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// protectedPath is a path that a policy has set, and that policies of narrower scopes must not
// change. Within one round, reservations prevent such changes.
type protectedPath struct {
	path []string
	// from is the first protected index of the list at path, for appended elements; -1 protects
	// the whole path.
	from   int
	adds   map[string]any // as of a claim
	member *member
}

// protectedBy returns the path that a claim protects.
func protectedBy(c claim, root any) protectedPath {
	last := len(c.path) - 1
	if !c.appends || c.path[last] != "-" {
		return protectedPath{c.path, -1, c.adds, c.member}
	}
	list, _ := jsonpatch.Get(root, c.path[:last])
	elements, _ := list.([]any)
	return protectedPath{c.path[:last], len(elements), nil, c.member}
}

// touches reports whether a change affects a protected path.
func (p protectedPath) touches(c claim) bool {
	switch {
	case p.from < 0 && (claim{path: p.path, adds: p.adds}).sharesBelow(c.path):
		return false
	case p.from < 0:
		return jsonpatch.IsPrefix(p.path, c.path) || jsonpatch.IsPrefix(c.path, p.path)
	case len(c.path) <= len(p.path):
		return jsonpatch.IsPrefix(c.path, p.path)
	case !jsonpatch.IsPrefix(p.path, c.path):
		return false
	}
	i, err := strconv.Atoi(c.path[len(p.path)])
	return err == nil && i >= p.from
}
