package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// This file keeps the patches of narrower scopes from what broader ones set. Within one
// round, claims do that; here it is about what broader scopes have set in rounds
// before, or would set if the narrower one had not.

// maxOverwritten is how many places that hold something already a policy of a scope
// below the enterprise may change: for each, the policies above are asked again.
const maxOverwritten = 32

// protectedPlace is a place that a policy has set, and policies of narrower scopes must leave.
type protectedPlace struct {
	path []string
	// from is the first index of a list at path that is protected, for elements that were
	// appended; -1 is the place as a whole.
	from   int
	adds   map[string]any // as of a claim
	member *member
}

// protect notes what the members of a round set, of policies that have scopes below them.
func (m *mutator) protect(root any, members []member) {
	claims := newClaims(func() any { return root })
	for i := range members {
		by := &members[i]
		if !by.policy.set.place.Parent || m.left[by.policy] {
			continue
		}
		for _, op := range by.ops {
			for _, claim := range claims.places(op, by) {
				if claim.change {
					m.protected = append(m.protected, protectedBy(claim, root))
				}
			}
		}
	}
}

func protectedBy(c claim, root any) protectedPlace {
	last := len(c.path) - 1
	if !c.appends || c.path[last] != "-" {
		return protectedPlace{c.path, -1, c.adds, c.member}
	}
	list, _ := jsonpatch.Get(root, c.path[:last])
	elements, _ := list.([]any)
	return protectedPlace{c.path[:last], len(elements), nil, c.member}
}

// touches reports whether a change affects a protected path.
func (p protectedPlace) touches(c claim) bool {
	switch {
	case p.from < 0 && (claim{path: p.path, adds: p.adds}).leaves(c.path):
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

// overrides is what a member of a narrower scope would change of a broader one. The time
// that finding out takes is its own source's.
func (m *mutator) overrides(by member, above *parents) *conflict {
	if !by.policy.set.place.Below {
		return nil
	}
	defer above.e.measure(by.policy.set.source.Name)()
	rank := by.policy.rank()
	claims := newClaims(above.root)
	for _, op := range by.ops {
		for _, own := range claims.places(op, &by) {
			if !own.change {
				continue
			}
			for _, theirs := range m.protected {
				if theirs.member.policy.rank() < rank && theirs.touches(own) {
					return &conflict{jsonpatch.Pointer(own.path), theirs.member, "changes", "sets"}
				}
			}
			if found := m.tooMuch(own, above); found != nil {
				return found
			}
			if found := above.wouldSet(own); found != nil {
				return found
			}
		}
	}
	return nil
}

// tooMuch bounds how often the policies above are asked again.
func (m *mutator) tooMuch(own claim, above *parents) *conflict {
	if above.e.used[own.member.policy.set.source.Name] >= sourceTime {
		return &conflict{path: jsonpatch.Pointer(own.path), mine: fmt.Sprintf("changes what takes longer than the %s that its source has to compare with the policies of broader scopes, such as", sourceTime)}
	}
	if have, err := jsonpatch.Get(above.root(), own.path); err != nil || have == nil {
		return nil
	}
	if m.overwritten[own.member.policy]++; m.overwritten[own.member.policy] > maxOverwritten {
		return &conflict{path: jsonpatch.Pointer(own.path), mine: fmt.Sprintf("changes more than %d places that hold something already, the last of them", maxOverwritten)}
	}
	return nil
}

// parents are the policies of broader scopes in one round, of all entries: the API server
// calls each entry on its own.
type parents struct {
	mutator *mutator
	e       *evaluation
	root    func() any
	// asked are the members that they have for the object without the value at a path,
	// and with all values at "".
	asked map[string][]proposal
}

// proposal is what a policy would do to an object.
type proposal struct {
	member *member
	root   func() any // the object
}

func (m *mutator) parentsOf(e *evaluation, root func() any) *parents {
	return &parents{m, e, root, map[string][]proposal{}}
}

// wouldSet returns the conflict if broader scopes set the path of a change, or have set it when
// the object was created, in an earlier call, or by a value around it.
func (p *parents) wouldSet(own claim) *conflict {
	for _, now := range p.proposals(nil) {
		if now.above(own) && now.sets(own) {
			return &conflict{jsonpatch.Pointer(own.path), now.member, "changes", "sets"}
		}
	}
	for n := len(own.path); n > 0; n-- {
		at := own.path[:n]
		if have, err := jsonpatch.Get(p.root(), at); err != nil || have == nil {
			continue
		}
		for _, without := range p.proposals(at) {
			if !without.above(own) || p.wanted(without) {
				continue
			}
			if n == len(own.path) && without.sets(own) || without.made(own, at, p.root()) {
				return &conflict{jsonpatch.Pointer(own.path), without.member, "changes", "sets where it is absent"}
			}
		}
	}
	return nil
}

// wanted says whether a policy proposes the same for the object as it is.
func (p *parents) wanted(one proposal) bool {
	return slices.ContainsFunc(p.proposals(nil), func(now proposal) bool {
		return now.member.policy == one.member.policy && jsonpatch.Same(now.member.ops, one.member.ops)
	})
}

// proposals evaluates the broader scopes for the object without the value at a path.
func (p *parents) proposals(at []string) []proposal {
	key := jsonpatch.Pointer(at)
	if known, ok := p.asked[key]; ok {
		return known
	}
	p.asked[key] = nil
	e, root := p.without(at)
	if e == nil {
		return nil
	}
	times := []*evaluation{e}
	if e.review.Operation == "UPDATE" {
		times = append(times, e.with(e.review.AsCreated()))
	}
	for _, e := range times {
		for _, answer := range p.mutator.ask(p.mutator.broader(len(hierarchy.Levels), e), e, root) {
			for i := range answer.members {
				p.asked[key] = append(p.asked[key], proposal{&answer.members[i], root})
			}
		}
	}
	return p.asked[key]
}

// without is the object without the value at a path. An element of a list is replaced by an
// empty one, so that the indexes of the others stay the same.
func (p *parents) without(at []string) (*evaluation, func() any) {
	if len(at) == 0 {
		return p.e, p.root
	}
	doc := &jsonpatch.Document{Root: toJSON(p.e.review.New.Value())}
	op := jsonpatch.Step{Op: "remove", Path: at}
	if jsonpatch.IsElement(doc.Root, at) {
		op.Op, op.Value = "replace", map[string]any{}
	}
	if err := doc.Apply(op); err != nil {
		return nil, nil
	}
	object, ok := fromJSON(doc.Root)
	if !ok {
		return nil, nil
	}
	return p.e.with(p.e.review.WithObject(object)), func() any { return doc.Root }
}

func (p proposal) above(own claim) bool { return p.member.policy.rank() < own.member.policy.rank() }

// sets reports whether the proposal changes the path of a claim. The same change is not a
// conflict, and several proposals may append to a list.
func (p proposal) sets(own claim) bool {
	if jsonpatch.Same(p.member.ops, own.member.ops) {
		return false
	}
	claims := newClaims(p.root)
	for _, op := range p.member.ops {
		for _, theirs := range claims.places(op, p.member) {
			both := theirs.appends && own.appends
			if theirs.change && !both && (protectedPlace{theirs.path, -1, theirs.adds, nil}).touches(own) {
				return true
			}
		}
	}
	return false
}

// made reports whether the value at a path around the claim is the value that the proposal would
// put there.
func (p proposal) made(own claim, at []string, present any) bool {
	doc := &jsonpatch.Document{Root: runtime.DeepCopyJSONValue(p.root())}
	for _, op := range p.member.ops {
		if doc.Apply(op) != nil {
			return false
		}
	}
	return slices.ContainsFunc(p.member.ops, func(op jsonpatch.Step) bool {
		last := len(op.Path) - 1
		switch {
		case op.Op == "remove", op.Op == "test":
			return false
		case op.Path[last] == "-":
			return jsonpatch.IsElement(present, at) && slices.Equal(at[:len(at)-1], op.Path[:last]) && jsonpatch.Holds(jsonpatch.ValueAt(present, at), doc.At(op.Path))
		case slices.ContainsFunc(newClaims(p.root).places(op, p.member), func(c claim) bool { return c.leaves(own.path) }):
			return false // it is next to the added value
		default:
			return jsonpatch.IsPrefix(op.Path, own.path) && jsonpatch.Holds(jsonpatch.ValueAt(present, op.Path), doc.At(op.Path))
		}
	})
}

// broader are the policies of scopes above that mutate, and are not left out.
func (m *mutator) broader(rank int, e *evaluation) []*compiledPolicy {
	return slices.DeleteFunc(slices.Clone(m.snapshot.candidates(e.review.Kind)), func(p *compiledPolicy) bool {
		return p.mutate == nil || m.left[p] || p.rank() >= rank || !p.set.place.Parent
	})
}

func (p *compiledPolicy) rank() int { return p.set.source.Scope.Level.Rank() }

// notConverged are denials where a policy that has scopes below it would still change the
// object: something has undone its patch since, or was meant to get around it.
func (s *Snapshot) notConverged(ctx context.Context, e *evaluation) *Decision {
	found := &Mutation{}
	if e.review.New == nil || e.review.SubResource != "" || !s.below(e.review) {
		return &found.Decision
	}
	m := newMutator(ctx, s, e, found)
	policies := slices.DeleteFunc(m.broader(len(hierarchy.Levels), e), func(p *compiledPolicy) bool { return !p.asked(e.options) })
	if len(policies) == 0 {
		return &found.Decision
	}
	root := sync.OnceValue(func() any { return toJSON(e.review.New.Value()) })
	for _, answer := range m.ask(policies, e, root) {
		found.add(&answer.found)
		for _, one := range answer.members {
			after, applied := m.round(e.review, []member{one})
			if after == nil || after.Compare(e.review.New.Value()) == 0 {
				continue
			}
			p := one.policy
			finding := p.finding(one.rule.Entry, one.rule.Location)
			finding.Words = fmt.Sprintf("policy %s sets %s, and the object that is to be stored differs: it was changed again after the policy had set it; leave it as it was set", p.name, describe(applied))
			p.report(e, &found.Decision, finding)
		}
	}
	return &found.Decision
}

// below says whether a scope below the enterprise has the object.
func (s *Snapshot) below(review *admission.Review) bool {
	return slices.ContainsFunc(s.scoped, func(set *PolicySet) bool { return set.inScope(review) })
}
