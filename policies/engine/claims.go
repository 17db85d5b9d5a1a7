package engine

import (
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// reservations are the paths that the members of one round change or read. No member touches a
// path that another changes, so that the result never depends on an order.
type reservations struct {
	root   func() any
	claims []claim
	byPath claimTree
}

// claim is one path. Several members may read a path.
type claim struct {
	path    []string
	change  bool
	appends bool // the change is at the end of the list
	// adds is the map that is added at a missing path: below it, only its own members change.
	adds   map[string]any
	member *member
}

// sharesBelow reports whether another member may change a path below the claim, in the map that
// the claim adds.
func (c claim) sharesBelow(path []string) bool {
	return c.adds != nil && len(path) > len(c.path) && jsonpatch.IsPrefix(c.path, path) && !jsonpatch.Sets(c.adds, path[len(c.path):])
}

// conflict is a path that a member must not touch, because another does.
type conflict struct {
	path  string
	other *member
	// mine and theirs are the verbs of the two members.
	mine, theirs string
}

// reason describes the conflict for the author of the policy.
func (c *conflict) reason() string {
	if c.other == nil {
		return fmt.Sprintf("it %s being %s; set absent fields only", c.mine, c.path)
	}
	other, too := c.other, ""
	if c.mine == c.theirs {
		too = ", too"
	}
	return fmt.Sprintf("it %s %s, which policy %s of source %s (%s at %s) %s%s; leave the change to one of them, or make both in one member",
		c.mine, c.path, other.policy.Name, other.policy.source.Name, other.rule.Entry, other.rule.Location, c.theirs, too)
}

// newReservations returns no reservations of an object.
func newReservations(root func() any) *reservations { return &reservations{root: root} }

// reserve reserves the paths of a member, or returns the conflict with the member that has one of
// them. later reports that the member must wait for the next round: another member makes the
// same change, appends to the same list for another policy, or adds the map that this member
// changes.
func (c *reservations) reserve(m member) (found *conflict, later bool) {
	var mine []claim
	for _, op := range m.ops {
		mine = append(mine, c.effects(op, &m)...)
	}
	same := map[*member]bool{} // the members that were compared
	isSame := func(other *member) bool {
		if _, compared := same[other]; !compared {
			same[other] = jsonpatch.Same(other.ops, m.ops)
		}
		return same[other]
	}
	for _, own := range mine {
		for _, index := range c.byPath.related(own.path) {
			theirs := c.claims[index]
			switch {
			case !own.change && !theirs.change:
			case isSame(theirs.member):
				return nil, true
			case theirs.sharesBelow(own.path) || own.sharesBelow(theirs.path):
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
		for _, own := range mine {
			c.byPath.add(own.path, len(c.claims))
			c.claims = append(c.claims, own)
		}
	}
	return nil, later
}

// verb describes the claim in messages.
func (c claim) verb() string {
	if c.change {
		return "changes"
	}
	return "reads"
}

// effects are the claims of an operation. An operation that moves the elements of a list changes
// the whole list.
func (c *reservations) effects(op jsonpatch.Step, m *member) []claim {
	changes := func(path []string) claim { return claim{path: c.listOf(path), change: true, member: m} }
	reads := func(path []string) claim { return claim{path: c.resolve(path), member: m} }
	switch op.Op {
	case "test":
		return []claim{reads(op.Path)}
	case "replace":
		return []claim{{path: c.resolve(op.Path), change: true, member: m}}
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
func (c *reservations) addition(path []string, m *member) claim {
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
func (c *reservations) listOf(path []string) []string {
	parent := path[:len(path)-1]
	if node, err := jsonpatch.Get(c.root(), parent); err == nil {
		if _, isList := node.([]any); isList {
			return parent
		}
	}
	return c.resolve(path)
}

// resolve returns the path, with "-" for the elements that a list does not have yet: another
// member that appends would make them.
func (c *reservations) resolve(path []string) []string {
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
