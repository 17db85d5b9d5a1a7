package engine

import (
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// claims keeps the paths that the members of one round change or read, so that no
// member touches what another changes: the result never depends on an order.
type claims struct {
	root  func() any
	taken []claim
}

// claim is one place. A place that is only read may be read by others.
type claim struct {
	path    []string
	change  bool
	appends bool // the change is at the end of the list
	// adds is the map that is added at a missing path: below it, only its own members change.
	adds   map[string]any
	member *member
}

// leaves says whether a claim leaves a place alone that is below it, in the map it adds.
func (c claim) leaves(path []string) bool {
	return c.adds != nil && len(path) > len(c.path) && jsonpatch.IsPrefix(c.path, path) && !jsonpatch.Sets(c.adds, path[len(c.path):])
}

// conflict is what a member must not touch, because another does.
type conflict struct {
	path  string
	other *member
	// mine and theirs are what the two do to it.
	mine, theirs string
}

func (c *conflict) reason() string {
	if c.other == nil {
		return fmt.Sprintf("it %s being %s; set absent fields only", c.mine, c.path)
	}
	other, too := c.other, ""
	if c.mine == c.theirs {
		too = ", too"
	}
	return fmt.Sprintf("it %s %s, which policy %s of source %s (%s at %s) %s%s; leave the change to one of them, or make both in one member",
		c.mine, c.path, other.policy.name, other.policy.set.source.Name, other.rule.Entry, other.rule.Location, c.theirs, too)
}

func newClaims(root func() any) *claims { return &claims{root: root} }

// claim reserves the paths of a member, or returns the conflict with the member that has one of
// them. later reports that the member must wait for the next round: another member makes the
// same change, appends to the same list for another policy, or adds the map that this member
// changes.
func (c *claims) claim(m member) (found *conflict, later bool) {
	var mine []claim
	for _, op := range m.ops {
		mine = append(mine, c.places(op, &m)...)
	}
	for _, own := range mine {
		for _, theirs := range c.taken {
			switch {
			case !own.change && !theirs.change, !jsonpatch.IsPrefix(theirs.path, own.path) && !jsonpatch.IsPrefix(own.path, theirs.path):
			case jsonpatch.Same(theirs.member.ops, m.ops):
				return nil, true
			case theirs.leaves(own.path) || own.leaves(theirs.path):
				later = true
			case theirs.adds != nil && own.adds != nil && len(own.adds) == 0 && slices.Equal(theirs.path, own.path):
				later = true // it only makes sure that there is a map
			case own.appends && theirs.appends && slices.Equal(own.path, theirs.path) && theirs.member.policy != m.policy:
				later = true
			default:
				return &conflict{jsonpatch.Pointer(own.path), theirs.member, own.verb(), theirs.verb()}, false
			}
		}
	}
	if !later {
		c.taken = append(c.taken, mine...)
	}
	return nil, later
}

func (c claim) verb() string {
	if c.change {
		return "changes"
	}
	return "reads"
}

// places are what an operation changes and reads. What moves the elements of a list
// changes the whole list.
func (c *claims) places(op jsonpatch.Step, m *member) []claim {
	changes := func(path []string) claim { return claim{path: c.listOf(path), change: true, member: m} }
	reads := func(path []string) claim { return claim{path: c.place(path), member: m} }
	switch op.Op {
	case "test":
		return []claim{reads(op.Path)}
	case "replace":
		return []claim{{path: c.place(op.Path), change: true, member: m}}
	case "move":
		return []claim{changes(op.From), c.addition(op.Path, m)}
	case "copy":
		return []claim{reads(op.From), c.addition(op.Path, m)}
	case "add":
		added := c.addition(op.Path, m)
		if fields, isMap := op.Value.(map[string]any); isMap && !added.appends && slices.Equal(added.path, op.Path) {
			if have, err := jsonpatch.Get(c.root(), op.Path); err != nil || have == nil {
				added.adds = fields
			}
		}
		return []claim{added}
	default:
		return []claim{changes(op.Path)}
	}
}

// addition is the change of an add operation. An append moves no element that another member
// could mean. If the list must be created first, no other member may create it.
func (c *claims) addition(path []string, m *member) claim {
	if path[len(path)-1] != "-" {
		return claim{path: c.listOf(path), change: true, member: m}
	}
	list := path[:len(path)-1]
	if have, err := jsonpatch.Get(c.root(), list); err != nil || have == nil {
		return claim{path: list, change: true, appends: true, member: m}
	}
	return claim{path: path, change: true, appends: true, member: m}
}

// listOf is the list that a path is an element of, else the path itself.
func (c *claims) listOf(path []string) []string {
	parent := path[:len(path)-1]
	if node, err := jsonpatch.Get(c.root(), parent); err == nil {
		if _, isList := node.([]any); isList {
			return parent
		}
	}
	return c.place(path)
}

// place is the path, with "-" for the elements that a list does not have yet: another
// member that appends would make them.
func (c *claims) place(path []string) []string {
	for i, key := range path {
		node, err := jsonpatch.Get(c.root(), path[:i])
		if err != nil {
			break
		}
		list, isList := node.([]any)
		if !isList {
			continue
		}
		if _, err := jsonpatch.Index(key, len(list)); err != nil {
			return append(slices.Clone(path[:i]), "-")
		}
	}
	return path
}
