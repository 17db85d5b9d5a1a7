package engine

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/sandbox"
	"github.com/lintel-policy/lintel/policies/terms"
)

// report files a denial, or an error, where the policy's enforcement and the
// source's failure policy put it.
func (p *policy) report(e *evaluation, decision *Decision, finding Finding) {
	p.noteOverrun(e, finding)
	switch enforcement := p.dialect.enforcement(p, e); {
	case enforcement == definition.EnforceAudit:
		decision.Audits = append(decision.Audits, finding)
	case enforcement == definition.EnforceWarn, finding.Error && p.source.FailurePolicy == definition.Ignore:
		decision.Warnings = append(decision.Warnings, finding)
	default:
		decision.Denials = append(decision.Denials, finding)
	}
}

// noteOverrun records that the policy reached a limit.
func (p *policy) noteOverrun(e *evaluation, finding Finding) {
	if finding.Limit != "" && finding.Limit != eval.LimitTimeout { // the review was slow, not this policy
		p.LastOverrun.Store(&policyset.Overrun{Limit: finding.Limit, At: e.now})
	}
}

func (p *policy) warn(e *evaluation, decision *Decision, finding Finding) {
	if p.dialect.enforcement(p, e) == definition.EnforceAudit {
		decision.Audits = append(decision.Audits, finding)
		return
	}
	decision.Warnings = append(decision.Warnings, finding)
}

// reportUnevaluable is undecided offline, and an error where the cluster is at hand.
func (p *policy) reportUnevaluable(e *evaluation, decision *Decision, reason string, lacks Lack) {
	if e.options.Offline {
		decision.Undecided = append(decision.Undecided, Undecided{Policy: p.Name, Reason: reason, Lacks: lacks})
		return
	}
	p.report(e, decision, p.errorFinding(definition.EntryDeny, evalError{message: reason}))
}

// reportError reports the error of an evaluation. If the input lacks what the policy reads, the
// policy is undecided.
func (p *policy) reportError(e *evaluation, decision *Decision, entry string, err evalError) {
	if err.unknown {
		p.reportUnevaluable(e, decision, err.message, "")
		return
	}
	p.report(e, decision, p.errorFinding(entry, err))
}

// finding is one without words.
func (p *policy) finding(rule string, location definition.Location) Finding {
	return Finding{
		Policy:   p.Name,
		Rule:     rule,
		Location: location,
		Source:   p.source.Name,
		Revision: p.source.Revision,
		Scope:    p.source.Scope.Level,
	}
}

// errorFinding names the rule in which the error occurred or, if the rule is unknown, the entry
// point and the package.
func (p *policy) errorFinding(entry string, err evalError) Finding {
	finding := p.finding(entry, p.Location)
	if err.location.File != "" {
		finding.Location = err.location
		if name := p.RuleAt(err.location); name != "" {
			finding.Rule = name
		}
	}
	finding.Error, finding.Limit = true, err.limit
	finding.Words = fmt.Sprintf("policy %s cannot be evaluated: %s", p.Name, definition.Readable(err.message))
	return finding
}

// unreadable is the finding for an invalid value.
func (p *policy) unreadable(rule definition.Rule, err error) Finding {
	finding := p.finding(rule.Entry, rule.Location)
	finding.Error = true
	finding.Words = fmt.Sprintf("policy %s cannot be used: %v", p.Name, err)
	if unreadable, ok := errors.AsType[*unreadableError](err); ok {
		finding.Limit = unreadable.limit
	}
	return finding
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
