package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// mutator is one run of Mutate.
type mutator struct {
	snapshot *Snapshot
	ctx      context.Context
	// evaluation is that of the original object.
	evaluation *evaluation
	result     *Mutation
	excluded   map[*policy]bool // after an error
	// onlyMutators leaves out all policies but Gatekeeper's mutators.
	onlyMutators bool
	// protected are the paths that broader scopes have set in earlier rounds. overwritten is the
	// number of existing values that each policy of a narrower scope has changed.
	protected   []protectedPath
	overwritten map[*policy]int
}

// newMutator returns a run that has applied no patch yet.
func newMutator(ctx context.Context, s *Snapshot, e *evaluation, result *Mutation) *mutator {
	return &mutator{snapshot: s, ctx: ctx, evaluation: e, result: result, excluded: map[*policy]bool{}, overwritten: map[*policy]int{}}
}

// mutationResult is the result of one policy.
type mutationResult struct {
	policy   *policy
	decision Decision
	members  []member
	failed   bool // the policy is excluded from now on
}

// policies are those that may mutate the object, without the excluded ones.
func (m *mutator) policies(e *evaluation) []*policy {
	var policies []*policy
	for _, p := range m.snapshot.candidatesOfKind(e.review.Kind) {
		if p.Changes() && p.isSelected(e.options) && !m.excluded[p] && (p.Mutators != nil || !m.onlyMutators) {
			policies = append(policies, p)
		}
	}
	return policies
}

// evaluate evaluates policies and returns the members of their patches.
func (m *mutator) evaluate(policies []*policy, e *evaluation, root func() any) []mutationResult {
	invocations := make([]invocation, len(policies))
	for n, p := range policies {
		invocations[n] = invocation{policy: p, evaluation: e}
	}
	return runInOrder(invocations, func(i invocation) mutationResult {
		result := mutationResult{policy: i.policy}
		result.members, result.failed = i.policy.mutateOne(m.ctx, m.snapshot.resources, e, root, &result.decision)
		return result
	}, func(i invocation, err evalError) mutationResult {
		result := mutationResult{policy: i.policy, failed: true}
		i.policy.reportError(e, &result.decision, definition.EntryPatch, err)
		return result
	})
}

// broader are the policies of scopes above that mutate, without the excluded ones.
func (m *mutator) broader(rank int, e *evaluation) []*policy {
	return slices.DeleteFunc(slices.Clone(m.snapshot.candidatesOfKind(e.review.Kind)), func(p *policy) bool {
		return !p.Changes() || m.excluded[p] || p.rank() >= rank || !p.source.place.Parent
	})
}

// round applies the members, sorted by path, to the object. A member that does not
// apply excludes its policy, and the round starts again without it.
func (m *mutator) round(review *admission.Review, members []member) (ast.Object, []jsonpatch.Operation) {
	slices.SortStableFunc(members, func(a, b member) int {
		return strings.Compare(jsonpatch.Pointer(a.ops[0].Path), jsonpatch.Pointer(b.ops[0].Path))
	})
	for {
		value := review.New.Value()
		doc := &jsonpatch.Document{Root: toPartialJSON(value)}
		failed := m.applyAll(doc, members, !value.IsGround())
		if failed == nil {
			object, ok := fromPartialJSON(doc.Root, !value.IsGround())
			if !ok {
				return nil, nil
			}
			return object, doc.Applied
		}
		members = slices.DeleteFunc(slices.Clone(members), func(member member) bool { return member.policy == failed })
	}
}

// applyAll returns nil, or the policy whose member does not apply.
func (m *mutator) applyAll(doc *jsonpatch.Document, members []member, hasMarks bool) *policy {
	defer func() {
		if hasMarks {
			if unknown := unknownApplied(doc.Applied); unknown != nil {
				panic(unknown)
			}
		}
	}()
	for _, member := range members {
		for _, op := range member.ops {
			if hasMarks {
				if unknown := unknownRead(doc.Root, op); unknown != nil {
					panic(unknown)
				}
			}
			if err := doc.Apply(op); err != nil {
				m.fail(member.policy, member.rule, "its patch does not apply: "+err.Error())
				return member.policy
			}
		}
	}
	return nil
}

// fail excludes a policy and reports the reason.
func (m *mutator) fail(p *policy, rule definition.Rule, reason string) {
	m.excluded[p] = true
	p.report(m.evaluation, &m.result.Decision, p.mutationFailure(rule, reason))
}
