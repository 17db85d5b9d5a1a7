package engine

import (
	"context"
	"fmt"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// checkDialect is the dialect of policies that are not written in Rego and select requests
// themselves.
type checkDialect struct{ nativeDialect }

func (checkDialect) isForeign() bool { return true }

func (checkDialect) matches(p *policy, _ *admission.Resources, e *evaluation, verb bool) (matches bool, reason string) {
	if p.unmetCriterion(e.review, e.review.Kind, verb) != criterionNone || e.isExempt(p.source) || p.Check.OnlyStored && !e.options.Stored {
		return false, ""
	}
	selected, criterion, reason := p.selects(e)
	if criterion != "" {
		return false, ""
	}
	if selected && p.missesNamespace(e) {
		return false, fmt.Sprintf("it reads namespaceObject, and namespace %q is not at hand", e.review.Namespace)
	}
	return selected, reason
}

// selects calls the selector. A request with a value that is not known, and that it reads, is not
// selected, with the reason.
func (p *policy) selects(e *evaluation) (selected bool, criterion, reason string) {
	defer func() {
		cause := recover()
		if unknown, ok := cause.(*eval.UnknownError); ok {
			selected, criterion, reason = false, "", unknownError(unknown).message
		} else if cause != nil {
			panic(cause)
		}
	}()
	return p.Check.Selector.Select(e.checkRequest())
}

func (checkDialect) mayMatch(p *policy, e *evaluation, kind admission.GroupVersionKind, verb bool) bool {
	return p.unmetByPlace(e.review, e.review.Kind, verb) == criterionNone
}

func (checkDialect) podTemplates(admission.GroupVersionKind) []admission.PodTemplate { return nil }

// checkRequest is the review for policies that are not written in Rego.
func (e *evaluation) checkRequest() *definition.CheckRequest {
	if e.check == nil {
		e.check = &definition.CheckRequest{Review: e.review, Offline: e.options.Offline, Explain: e.covered != nil, Schemas: e.options.Schemas}
		if e.namespace != nil {
			e.check.Namespace = e.namespace.Value()
		}
	}
	return e.check
}

// evaluateCheck evaluates a policy that is not written in Rego.
func (p *policy) evaluateCheck(ctx context.Context, e *evaluation, decision *Decision) {
	var result definition.CheckResult
	ctx, end := p.startSpan(ctx, definition.EntryDeny)
	defer end(nil)
	if e.isPaced(p) {
		e.options.Pacer.Wait(ctx, 0)
		defer func() { e.options.Pacer.Done(result.Steps) }()
	}
	request := e.checkRequest()
	request.MaxSteps = 0
	if p.source.place.Below {
		limits, _ := e.limitsFor(p)
		request.MaxSteps = limits.Steps
	}
	result = p.Evaluator.Evaluate(ctx, request)
	e.usage.charge(p, result.Steps)
	p.Cost.Add(result.Steps)
	if e.covered != nil {
		if e.outcomes == nil {
			e.outcomes = map[*policyset.Policy][]definition.CheckOutcome{}
		}
		e.outcomes[p.Policy] = result.Outcomes
	}
	if result.Undecided != "" {
		p.reportUnevaluable(e, decision, result.Undecided, "")
	}
	for _, one := range result.Findings {
		p.reportCheck(e, decision, one)
	}
}

// reportCheck reports a finding of a policy that is not written in Rego.
func (p *policy) reportCheck(e *evaluation, decision *Decision, one definition.CheckFinding) {
	finding := p.finding(definition.EntryDeny, one.Location)
	finding.Words, finding.Code, finding.Details = one.Words, one.Code, one.Details
	finding.Error, finding.Limit = one.Error, one.Limit
	if len(one.Effects) == 0 {
		p.report(e, decision, finding)
		return
	}
	p.noteOverrun(e, finding)
	for _, effect := range one.Effects {
		switch {
		case effect == definition.EnforceAudit:
			decision.Audits = append(decision.Audits, finding)
		case effect == definition.EnforceWarn:
			finding.Rule = definition.EntryWarn
			decision.Warnings = append(decision.Warnings, finding)
		case finding.Error && p.source.FailurePolicy == definition.Ignore:
			decision.Warnings = append(decision.Warnings, finding)
		default:
			decision.Denials = append(decision.Denials, finding)
		}
	}
}

// checkOutcomes returns the outcomes of the expressions of a policy that is not written in Rego.
func (e *evaluation) checkOutcomes(p *policy) (out []RuleOutcome) {
	for _, one := range e.outcomes[p.Policy] {
		rule := RuleOutcome{Rule: one.Entry, Location: one.Location, Gave: one.Violated}
		for _, c := range one.Conditions {
			condition := Condition{Text: c.Text, Location: c.Location, Outcome: ConditionDidNotHold, Values: c.Values}
			if c.Holds {
				condition.Outcome = ConditionHeld
			}
			rule.Conditions = append(rule.Conditions, condition)
		}
		out = append(out, rule)
	}
	return out
}
