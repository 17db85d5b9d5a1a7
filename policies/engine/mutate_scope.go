package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// This file keeps the patches of narrower scopes from what broader ones set. Within one
// round, claims do that; here it is about what broader scopes have set in rounds
// before, or would set if the narrower one had not.

// maxOverwritten is how many places that hold something already a policy of a scope
// below the enterprise may change: for each, the policies above are asked again.
const maxOverwritten = 32

// held is a place that a policy has set, and policies of narrower scopes must leave.
type held struct {
	path []string
	// from is the first index of a list at path that is held, for elements that were
	// appended; -1 is the place as a whole.
	from   int
	member *member
}

// hold keeps what the members of a round set, of policies that have scopes below them.
func (m *mutator) hold(root any, members []member) {
	claims := newClaims(func() any { return root })
	for i := range members {
		by := &members[i]
		if place := by.policy.set.place; place == nil || !place.parent || m.left[by.policy] {
			continue
		}
		for _, op := range by.ops {
			for _, claim := range claims.places(op, by) {
				if claim.change {
					m.held = append(m.held, holdOf(claim, root))
				}
			}
		}
	}
}

func holdOf(c claim, root any) held {
	last := len(c.path) - 1
	if !c.appends || c.path[last] != "-" {
		return held{c.path, -1, c.member}
	}
	list, _ := get(root, c.path[:last])
	elements, _ := list.([]any)
	return held{c.path[:last], len(elements), c.member}
}

// touches says whether a change of a place changes what is held.
func (h held) touches(c claim) bool {
	switch {
	case h.from < 0:
		return isPrefix(h.path, c.path) || isPrefix(c.path, h.path)
	case len(c.path) <= len(h.path):
		return isPrefix(c.path, h.path)
	case !isPrefix(h.path, c.path):
		return false
	}
	i, err := strconv.Atoi(c.path[len(h.path)])
	return err == nil && i >= h.from
}

// overrides is what a member of a narrower scope would change of a broader one.
func (m *mutator) overrides(by member, e *evaluation, root func() any) *conflict {
	rank := by.policy.rank()
	if place := by.policy.set.place; place == nil || !place.below {
		return nil
	}
	claims := newClaims(root)
	for _, op := range by.ops {
		for _, own := range claims.places(op, &by) {
			if !own.change {
				continue
			}
			for _, theirs := range m.held {
				if theirs.member.policy.rank() < rank && theirs.touches(own) {
					return &conflict{pointer(own.path), theirs.member, "changes", "sets"}
				}
			}
			if found := m.wouldSet(own, rank, e, root); found != nil {
				return found
			}
		}
	}
	return nil
}

// wouldSet asks the policies of broader scopes about the object without what stands at
// a place that is to be changed: whether they would set it.
func (m *mutator) wouldSet(own claim, rank int, e *evaluation, root func() any) *conflict {
	if have, err := get(root(), own.path); err != nil || have == nil {
		return nil // they were asked about just that in this round
	}
	if m.overwritten[own.member.policy]++; m.overwritten[own.member.policy] > maxOverwritten {
		return &conflict{path: pointer(own.path), mine: fmt.Sprintf("changes more than %d places that hold something already, the last of them", maxOverwritten)}
	}
	doc := &document{root: toJSON(e.review.object.value())}
	if err := doc.apply(patchOp{op: "remove", path: own.path}); err != nil {
		return nil
	}
	object, ok := fromJSON(doc.root)
	if !ok {
		return nil
	}
	without := e.with(e.review.withObject(object))
	whole := sync.OnceValue(func() any { return doc.root })
	for _, answer := range m.ask(m.broader(rank, e), without, whole) {
		claims := newClaims(whole)
		for i := range answer.members {
			for _, op := range answer.members[i].ops {
				for _, theirs := range claims.places(op, &answer.members[i]) {
					if theirs.change && (held{theirs.path, -1, nil}).touches(own) {
						return &conflict{pointer(own.path), &answer.members[i], "changes", "sets where it is absent"}
					}
				}
			}
		}
	}
	return nil
}

// broader are the policies of scopes above that mutate, and are not left out.
func (m *mutator) broader(rank int, e *evaluation) []*policy {
	return slices.DeleteFunc(m.policies(e), func(p *policy) bool {
		return p.rank() >= rank || p.set.place == nil || !p.set.place.parent
	})
}

func (p *policy) rank() int { return p.set.source.Scope.Level.Rank() }

// unsettled are denials where a policy that has scopes below it would still change the
// object: something has undone its patch since, or was meant to get around it.
func (s *Snapshot) unsettled(ctx context.Context, e *evaluation) *Decision {
	found := &Mutation{}
	if e.review.object == nil || e.review.SubResource != "" || !s.below(e.review) {
		return &found.Decision
	}
	m := newMutator(ctx, s, found)
	policies := m.broader(len(ScopeLevels), e)
	if len(policies) == 0 {
		return &found.Decision
	}
	root := sync.OnceValue(func() any { return toJSON(e.review.object.value()) })
	for _, answer := range m.ask(policies, e, root) {
		found.add(&answer.found)
		for _, one := range answer.members {
			after, applied := m.round(e.review, []member{one})
			if after == nil || after.Compare(e.review.object.value()) == 0 {
				continue
			}
			p := one.policy
			finding := p.finding(one.rule.entry, one.rule.location)
			finding.Words = fmt.Sprintf("policy %s sets %s, and the object that is to be stored differs: it was changed again after the policy had set it; leave it as it was set", p.name, describe(applied))
			p.report(&found.Decision, finding)
		}
	}
	return &found.Decision
}

// below says whether a scope below the enterprise has the object.
func (s *Snapshot) below(review *Review) bool {
	return slices.ContainsFunc(s.scoped, func(set *PolicySet) bool { return set.inScope(review) })
}
