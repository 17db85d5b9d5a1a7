package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lintel-policy/lintel/policies/admission"
)

// maxRounds bounds how often patches may follow from each other.
const maxRounds = 10

// Mutate applies patch and defaults until nothing changes. A patch that does not
// apply, conflicts with another policy's or never settles is an error of its policy:
// a denial under Fail; under Ignore a warning, and the policy is excluded.
func (s *Snapshot) Mutate(ctx context.Context, review *admission.Review, options Options) (mutation *Mutation) {
	mutation = &Mutation{Review: review}
	if review.New == nil || !s.Concerns(review) || review.SubResource != "" || review.OnlyRemovesFinalizers() {
		return mutation
	}
	e := s.start(review, options)
	m := newMutator(ctx, s, e, mutation)
	defer mutation.recoverUnknown()
	m.run(e)
	mutation.sort()
	mutation.Steps = e.usage.total
	if !mutation.Allowed() {
		mutation.Patch, mutation.Review = nil, review
	}
	return mutation
}

// run applies the policies to the object of an evaluation.
func (m *mutator) run(e *evaluation) {
	for {
		before := len(m.excluded)
		m.converge(e)
		if len(m.excluded) == before || len(m.result.Patch) == 0 || !m.result.Allowed() {
			return
		}
		// A policy that failed after its first round has already changed the object: start again
		// without it.
		m.result.Patch, m.result.Review, m.protected = nil, e.review, nil
	}
}

// converge repeats rounds until one changes nothing.
func (m *mutator) converge(e *evaluation) {
	for range maxRounds {
		members := m.collectMembers(e)
		if len(members) == 0 || !m.result.Allowed() {
			return
		}
		after, applied := m.round(e.review, members)
		if after == nil || after.Compare(e.review.New.Value()) == 0 {
			return
		}
		m.protect(toPartialJSON(e.review.New.Value()), members)
		m.result.Patch = append(m.result.Patch, applied...)
		m.result.Review = e.review.WithObject(after)
		next := e.with(m.result.Review)
		next.generated = e.generated
		e = next
	}
	members := m.collectMembers(e)
	after, applied := m.round(e.review, members)
	if after == nil || after.Compare(e.review.New.Value()) == 0 {
		return
	}
	narrowest := 0
	for _, member := range members {
		narrowest = max(narrowest, member.policy.rank())
	}
	for _, member := range members {
		if member.policy.rank() < narrowest {
			continue // it may converge without those
		}
		m.fail(member.policy, member.rule, fmt.Sprintf(
			"it never settles: after %d rounds it still changes the object (%s); guard the rule so that it finds nothing to do on an object it has patched",
			maxRounds, changedPaths(applied)))
	}
}

// collectMembers evaluates every policy that mutates, and returns the members that are disjoint from
// those of policies evaluated before (broader scopes first).
func (m *mutator) collectMembers(e *evaluation) []member {
	policies := m.policies(e)
	if len(policies) == 0 {
		m.result.Policies = 0
		return nil // most reviews: no policy needs the converted object
	}
	var members []member
	root := sync.OnceValue(func() any { return toPartialJSON(e.review.New.Value()) }) // most reviews: not called
	claims, above := newReservations(root), m.parentsOf(e, root)
	m.result.Policies = 0
	for _, result := range m.evaluate(policies, e, root) {
		m.result.add(&result.decision)
		if result.failed {
			m.excluded[result.policy] = true
			continue
		}
		for _, member := range result.members {
			conflict, later := claims.reserve(member)
			switch {
			case later:
			case conflict != nil:
				m.fail(member.policy, member.rule, conflict.reason())
			default:
				if conflict := m.overrides(member, above); conflict != nil {
					m.fail(member.policy, member.rule, conflict.reason())
					continue
				}
				members = append(members, member)
			}
		}
	}
	return slices.DeleteFunc(members, func(member member) bool { return m.excluded[member.policy] })
}
