package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/sandbox"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Validate decides by the entry points deny and warn.
func (s *Snapshot) Validate(ctx context.Context, review *admission.Review, options Options) *Decision {
	decision := s.Ask(ctx, review, options)
	decision.sort()
	return decision
}

// Ask is Validate with all findings in the order of the policies, duplicates included.
func (s *Snapshot) Ask(ctx context.Context, review *admission.Review, options Options) *Decision {
	decision := &Decision{}
	if !s.Concerns(review) || review.OnlyRemovesFinalizers() {
		return decision
	}
	e := newEvaluation(review, options)
	for _, found := range validate(ctx, s.questions(e, false)) {
		decision.add(found)
	}
	decision.add(s.notConverged(ctx, e))
	return decision
}

// Concerns says, before anything is prepared, whether a policy may be about a review: where
// none is, nothing is read of Options.
func (s *Snapshot) Concerns(review *admission.Review) bool {
	_, isWorkload := admission.PodTemplatePath(review.Kind)
	return isWorkload || len(s.candidates(review.Kind)) > 0 || len(s.candidatesFor(review)) > 0
}

// questions are all that Validate asks about a review, and with unmatched also those to
// policies that are not about it.
func (s *Snapshot) questions(e *evaluation, unmatched bool) []question {
	list := s.remembered.of
	if unmatched {
		list = func(s *Snapshot, e *evaluation) []*compiledPolicy { return s.candidatesFor(e.review) }
	}
	var out []question
	for _, p := range list(s, e) {
		if p.validate == nil || !p.asked(e.options) {
			continue
		}
		if matches, reason := p.form.matches(p, s, e, p.matcher.MatchesVerb(e.review)); matches || reason != "" || unmatched {
			out = append(out, question{policy: p, evaluation: e, matches: matches, reason: reason, exceptions: s.exceptionsFor(p, e)})
		}
	}
	return append(out, s.templateQuestions(e, unmatched)...)
}

// validate evaluates questions and returns the decisions in their order.
func validate(ctx context.Context, questions []question) []*Decision {
	return askEach(questions, func(q question) *Decision {
		found := &Decision{}
		q.policy.validateOne(ctx, q, found)
		return q.exempt(q.implied(found))
	}, func(q question, err evalError) *Decision {
		found := &Decision{}
		q.policy.report(q.evaluation, found, q.policy.errorFinding(definition.EntryDeny, err))
		return q.implied(found)
	})
}

// asked reports whether the caller evaluates policies of this scope with this failure policy.
func (p *compiledPolicy) asked(options Options) bool {
	if options.Scopes != nil && !options.Scopes(p.set.source.Scope.Key()) {
		return false
	}
	return options.FailurePolicy == "" || options.FailurePolicy == p.set.source.FailurePolicy || p.set.anyEntry
}

// validateOne evaluates one policy and adds its findings to the decision.
func (p *compiledPolicy) validateOne(ctx context.Context, q question, decision *Decision) {
	e := q.evaluation
	switch {
	case q.reason != "":
		p.cannotAsk(e, decision, q.reason)
		return
	case !q.matches:
		return
	}
	decision.Policies++
	input, data := p.form.documents(p, e)
	given, errs := e.evaluate(ctx, p, p.validate, definition.EntryDeny, input, data)
	for _, err := range errs {
		p.report(e, decision, p.errorFinding(definition.EntryDeny, err))
	}
	if given == nil {
		return
	}
	p.readValues(e, p.givenValues(definition.EntryDeny, given[0]), func(finding Finding) { p.report(e, decision, finding) }, decision)
	p.readValues(e, p.givenValues(definition.EntryWarn, given[1]), func(finding Finding) { p.warn(decision, finding) }, decision)
}

// readValues adds what the values of an entry point say, up to MaxFindings.
func (p *compiledPolicy) readValues(e *evaluation, all []givenValue, add func(Finding), decision *Decision) {
	for i, one := range all {
		findings, err := p.form.read(p, one.value.Value, one.rule)
		if i == MaxFindings {
			more := p.finding(definition.EntryDeny, p.location)
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

// cannotAsk is undecided offline, and an error where the cluster is at hand.
func (p *compiledPolicy) cannotAsk(e *evaluation, decision *Decision, reason string) {
	if e.options.Offline {
		decision.Undecided = append(decision.Undecided, Undecided{Policy: p.name, Reason: reason})
		return
	}
	p.report(e, decision, p.errorFinding(definition.EntryDeny, evalError{message: reason}))
}

// report files a denial, or an error, where the policy's enforcement and the
// source's failure policy put it.
func (p *compiledPolicy) report(e *evaluation, decision *Decision, finding Finding) {
	if finding.Limit != "" {
		p.limit.Store(&limitAt{finding.Limit, e.now})
	}
	switch {
	case p.meta.Enforcement == definition.EnforceAudit:
		decision.Audits = append(decision.Audits, finding)
	case p.meta.Enforcement == definition.EnforceWarn, finding.Error && p.set.source.FailurePolicy == definition.Ignore:
		decision.Warnings = append(decision.Warnings, finding)
	default:
		decision.Denials = append(decision.Denials, finding)
	}
}

func (p *compiledPolicy) warn(decision *Decision, finding Finding) {
	if p.meta.Enforcement == definition.EnforceAudit {
		decision.Audits = append(decision.Audits, finding)
		return
	}
	decision.Warnings = append(decision.Warnings, finding)
}

// unreadableError explains why a value of a rule is not a valid finding.
type unreadableError struct{ message, limit string }

func (e *unreadableError) Error() string { return e.message }

// readObject adds {msg, field, details, code} to a finding.
func readObject(value ast.Object, rule definition.Rule, finding Finding) ([]Finding, error) {
	message, ok := terms.Lookup(value, "msg").(ast.String)
	if !ok {
		return nil, wrongType(rule, value)
	}
	finding.Words = string(message)
	finding.Field = terms.Text(value, "field")
	if code, ok := terms.Lookup(value, "code").(ast.Number); ok {
		finding.Code, _ = code.Int()
	}
	if details := terms.Lookup(value, "details"); details != nil {
		var err error
		if finding.Details, err = sandbox.JSON(ast.NewTerm(details)); err != nil {
			return nil, &unreadableError{fmt.Sprintf("details of %s: %v", rule.Entry, err), "result"}
		}
	}
	return []Finding{finding}, nil
}

func wrongType(rule definition.Rule, value ast.Value) error {
	what := ast.ValueName(value)
	if _, isObject := value.(ast.Object); isObject {
		what = "an object without a string msg"
	}
	return &unreadableError{message: fmt.Sprintf("%s gave %s, not a message or an object with msg", rule.Entry, what)}
}

// unreadable is the finding for an invalid value.
func (p *compiledPolicy) unreadable(rule definition.Rule, err error) Finding {
	finding := p.finding(rule.Entry, rule.Location)
	finding.Error = true
	finding.Words = fmt.Sprintf("policy %s cannot be used: %v", p.name, err)
	if unreadable, ok := errors.AsType[*unreadableError](err); ok {
		finding.Limit = unreadable.limit
	}
	return finding
}

// finding is one without words.
func (p *compiledPolicy) finding(rule string, location definition.Location) Finding {
	return Finding{
		Policy:   p.name,
		Rule:     rule,
		Location: location,
		Source:   p.set.source.Name,
		Revision: p.set.source.Revision,
		Scope:    p.set.source.Scope.Level,
	}
}

// errorFinding names the rule in which the error occurred or, if the rule is unknown, the entry
// point and the package.
func (p *compiledPolicy) errorFinding(entry string, err evalError) Finding {
	finding := p.finding(entry, p.location)
	if err.location.File != "" {
		finding.Location = err.location
		if name := p.ruleAt(err.location); name != "" {
			finding.Rule = name
		}
	}
	finding.Error, finding.Limit = true, err.limit
	finding.Words = fmt.Sprintf("policy %s cannot be evaluated: %s", p.name, definition.Readable(err.message))
	return finding
}

// title is how a denial without words names its policy.
func (p *compiledPolicy) title() string {
	if p.meta.Title != "" {
		return fmt.Sprintf("%q", p.meta.Title)
	}
	return p.name
}
