package engine

import (
	"encoding/json"
	"slices"
)

// claims keeps the paths that the members of one round change, so that no two of
// them touch the same place: the result never depends on an order.
type claims struct {
	root  func() any
	taken []claim
}

type claim struct {
	path   []string
	member *member
}

func newClaims(root func() any) *claims { return &claims{root: root} }

// claim takes the paths of a member, or tells which member has one of them. later
// says that the member must wait: another does the very same, or appends to the same
// list for another policy, and the next round shows whether it is still wanted.
func (c *claims) claim(m member) (other *member, path string, later bool) {
	var mine []claim
	for _, op := range m.ops {
		for _, path := range c.paths(op) {
			for _, theirs := range c.taken {
				if isPrefix(theirs.path, path) || isPrefix(path, theirs.path) {
					appends := path[len(path)-1] == "-" && slices.Equal(path, theirs.path)
					if sameOps(theirs.member.ops, m.ops) || appends && theirs.member.policy != m.policy {
						return nil, "", true
					}
					return theirs.member, pointer(path), false
				}
			}
			mine = append(mine, claim{path, &m})
		}
	}
	c.taken = append(c.taken, mine...)
	return nil, "", false
}

// paths are the places an operation changes. What moves the elements of a list
// changes the whole list.
func (c *claims) paths(op patchOp) [][]string {
	switch op.op {
	case "test":
		return nil
	case "replace":
		return [][]string{op.path}
	case "move":
		return [][]string{c.listOf(op.from), c.listOf(op.path)}
	default:
		return [][]string{c.listOf(op.path)}
	}
}

// listOf is the list that a path is an element of, else the path itself.
func (c *claims) listOf(path []string) []string {
	parent := path[:len(path)-1]
	if path[len(path)-1] == "-" {
		return path // moves no element that another member could mean
	}
	if node, err := get(c.root(), parent); err == nil {
		if _, isList := node.([]any); isList {
			return parent
		}
	}
	return path
}

// sameOps compares two members.
func sameOps(a, b []patchOp) bool {
	return slices.EqualFunc(a, b, func(x, y patchOp) bool {
		return x.op == y.op && slices.Equal(x.path, y.path) && slices.Equal(x.from, y.from) && equal(x.value, y.value)
	})
}

// equal compares JSON values; numbers by their text.
func equal(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && string(left) == string(right)
}
