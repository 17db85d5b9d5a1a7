package engine

import (
	"context"
	"fmt"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// Validate decides by the entry points deny and warn.
func (s *Snapshot) Validate(ctx context.Context, review *admission.Review, options Options) *Decision {
	decision := s.Evaluate(ctx, review, options)
	decision.sort()
	return decision
}

// Evaluate is Validate with all findings in the order of the policies, duplicates included.
func (s *Snapshot) Evaluate(ctx context.Context, review *admission.Review, options Options) *Decision {
	decision := &Decision{}
	if !s.Concerns(review) || review.OnlyRemovesFinalizers() {
		return decision
	}
	e := s.start(review, options)
	for _, one := range validateAll(ctx, s.selectPolicies(ctx, e, false)) {
		decision.add(one)
	}
	s.addFixpoint(ctx, e, decision)
	decision.Steps = e.usage.total
	return decision
}

// Concerns reports whether a policy may match a review. If none does, the fields of Options are
// not read, and a caller need not prepare them.
func (s *Snapshot) Concerns(review *admission.Review) bool {
	return s.expandsKind(review.Kind) || len(s.candidatesOfKind(review.Kind)) > 0 || len(s.candidatesFor(review)) > 0
}

// selectPolicies returns the policies that Validate evaluates for a review, and with unmatched
// also those that do not match it.
func (s *Snapshot) selectPolicies(ctx context.Context, e *evaluation, unmatched bool) []invocation {
	var policies []*policy
	if unmatched {
		policies = s.candidatesFor(e.review)
	} else {
		policies = s.cachedCandidates(e)
	}
	out := make([]invocation, 0, len(policies))
	for _, p := range policies {
		if p.Validate == nil || !p.isSelected(e.options) {
			continue
		}
		if matches, reason := p.dialect.matches(p, s.resources, e, p.Matcher.MatchesVerb(e.review)); matches || reason != "" || unmatched {
			out = append(out, invocation{policy: p, evaluation: e, matches: matches, reason: reason, lacks: p.lackOf(s.resources, e, reason), exceptions: s.exceptionsFor(p, e)})
		}
	}
	return append(out, s.selectForTemplate(ctx, e, unmatched)...)
}

// validateAll evaluates invocations and returns the decisions in their order.
func validateAll(ctx context.Context, invocations []invocation) []*Decision {
	scratch, silent := &Decision{}, &Decision{Policies: 1}
	return runInOrder(invocations, func(i invocation) *Decision {
		i.policy.validateOne(ctx, i, scratch)
		if scratch.isSilent() { // most, and they need no decision of their own
			scratch.Policies = 0
			return silent
		}
		decision := scratch
		scratch = &Decision{}
		return i.exempt(i.attributed(decision))
	}, func(i invocation, err evalError) *Decision {
		decision := &Decision{}
		i.policy.reportError(i.evaluation, decision, definition.EntryDeny, err)
		return i.attributed(decision)
	})
}

// isSilent reports whether a policy was evaluated and has nothing to report.
func (d *Decision) isSilent() bool {
	return d.Policies == 1 && len(d.Denials)+len(d.Warnings)+len(d.Audits)+len(d.Exempted)+len(d.Undecided) == 0
}

// validateOne evaluates one policy and adds its findings to the decision.
func (p *policy) validateOne(ctx context.Context, i invocation, decision *Decision) {
	e := i.evaluation
	switch {
	case i.reason != "":
		p.reportUnevaluable(e, decision, i.reason, i.lacks)
		return
	case !i.matches:
		return
	}
	decision.Policies++
	if p.Evaluator != nil {
		p.evaluateCheck(ctx, e, decision)
		return
	}
	input, data := p.dialect.documents(p, e)
	results, errs := e.evaluate(ctx, p, p.Validate, definition.EntryDeny, input, data)
	for _, err := range errs {
		p.reportError(e, decision, definition.EntryDeny, err)
	}
	if results == nil {
		return
	}
	p.readValues(e, p.valuesOf(definition.EntryDeny, results[0]), func(finding Finding) { p.report(e, decision, finding) }, decision)
	p.readValues(e, p.valuesOf(definition.EntryWarn, results[1]), func(finding Finding) { p.warn(e, decision, finding) }, decision)
}

// readValues adds the findings of an entry point, up to MaxFindings.
func (p *policy) readValues(e *evaluation, all []entryValue, add func(Finding), decision *Decision) {
	for i, one := range all {
		findings, err := p.dialect.findings(p, one.value.Value, one.rule)
		if i == MaxFindings {
			more := p.finding(definition.EntryDeny, p.Location)
			if len(findings) > 0 {
				more = findings[0]
			}
			more.Words, more.Field, more.Details = fmt.Sprintf("and %d more", len(all)-i), "", nil
			add(more)
			return
		}
		for _, finding := range findings[:min(len(findings), MaxFindings)] {
			add(finding)
		}
		if err != nil {
			p.report(e, decision, p.unreadable(one.rule, err))
		}
	}
}
