package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// verifyFixpoint denies an object that a policy with scopes below it would still change: its patch
// was undone or evaded.
func (s *Snapshot) verifyFixpoint(ctx context.Context, e *evaluation) *Decision {
	mutation := &Mutation{}
	if e.review.New == nil || e.review.SubResource != "" || !s.inLowerScope(e.review) {
		return &mutation.Decision
	}
	m := newMutator(ctx, s, e, mutation)
	policies := slices.DeleteFunc(m.broader(len(hierarchy.AllLevels), e), func(p *policy) bool { return !p.isSelected(e.options) })
	if len(policies) == 0 {
		return &mutation.Decision
	}
	root := sync.OnceValue(func() any { return toJSON(e.review.New.Value()) })
	for _, result := range m.evaluate(policies, e, root) {
		mutation.add(&result.decision)
		for _, one := range result.members {
			after, applied := m.round(e.review, []member{one})
			if after == nil || after.Compare(e.review.New.Value()) == 0 {
				continue
			}
			p := one.policy
			finding := p.finding(one.rule.Entry, one.rule.Location)
			finding.Words = fmt.Sprintf("policy %s sets %s, and the object that is to be stored differs: it was changed again after the policy had set it; leave it as it was set", p.Name, changedPaths(applied))
			p.report(e, &mutation.Decision, finding)
		}
	}
	return &mutation.Decision
}
