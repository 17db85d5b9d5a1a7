package engine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/external"
)

// nativeDialect is the dialect of Lintel's own policies.
type nativeDialect struct{}

func (nativeDialect) isForeign() bool { return false }

func (nativeDialect) matches(p *policy, resources *admission.Resources, e *evaluation, verb bool) (matches bool, reason string) {
	m := p.Matcher
	kind := resources.KindOf(e.review)
	if p.unmetCriterion(e.review, kind, verb) != criterionNone || e.isExempt(p.source) {
		return false, ""
	}
	labelled, known := m.MatchesNamespaceLabels(e.review, e.namespace)
	if known && !labelled {
		return false, ""
	}
	if !m.MatchesKind(kind) {
		// The API server converts to the version of the policy, unless a rule of another
		// policy takes every version. To pass it over would open a way around it.
		return false, fmt.Sprintf("it is written for another version of %s than %s; name the versions in all policies, or none", kind, kind.Version)
	}
	switch {
	case !known:
		return false, fmt.Sprintf("its namespaceSelector needs the labels of namespace %q", e.review.Namespace)
	case p.evaluationForbidden(resources) != nil:
		return false, "it " + p.evaluationForbidden(resources).Error()
	}
	if missing, lacks := e.missingKind(p); lacks {
		return false, fmt.Sprintf("it requires cluster objects (%s)", missing)
	}
	if reason := p.missesExternal(e); reason != "" {
		return false, reason
	}
	if p.missesNamespace(e) {
		return false, fmt.Sprintf("it reads input.namespace, and namespace %q is not at hand", e.review.Namespace)
	}
	return true, ""
}

// missesExternal returns why the policy cannot read external data: "" if it can.
func (p *policy) missesExternal(e *evaluation) string {
	name, lacks := e.external.Missing(p.Meta.External)
	switch {
	case !lacks:
		return ""
	case e.options.Offline:
		return fmt.Sprintf("it reads data.external[%q], which is not at hand: give it with --external %s=FILE", name, name)
	}
	return external.MissingError(name).Error()
}

func (nativeDialect) mayMatch(p *policy, e *evaluation, kind admission.GroupVersionKind, verb bool) bool {
	if p.unmetByPlace(e.review, kind, verb) != criterionNone {
		return false
	}
	matches, known := p.Matcher.MatchesNamespaceLabels(e.review, e.namespace)
	return matches || !known
}

func (nativeDialect) enforcement(p *policy, _ *evaluation) definition.Enforcement {
	return p.Meta.Enforcement
}

func (nativeDialect) explainMismatch(criterion) (name, reason string) { return "", "" }

func (nativeDialect) documents(p *policy, e *evaluation) (input *ast.Term, data eval.Document) {
	return e.input(p.source), e.data(p.source)
}

// findings reads a value of a rule: a message, an object with msg, true, or a list of those.
// Anything else is an error finding. A list is read only where it is the whole value.
func (n nativeDialect) findings(p *policy, value ast.Value, rule definition.Rule) ([]Finding, error) {
	finding := p.finding(rule.Entry, rule.Location)
	finding.Words = map[string]string{definition.EntryDeny: "denied by ", definition.EntryWarn: "warned by "}[rule.Entry] + p.title()
	switch value := value.(type) {
	case ast.Boolean:
		if value {
			return []Finding{finding}, nil
		}
		return nil, nil
	case ast.String:
		if value != "" {
			finding.Words = string(value)
		} else if !rule.FromSet {
			return nil, nil
		}
		return []Finding{finding}, nil
	case ast.Object:
		if value.Len() == 0 {
			return nil, nil
		}
		return readObject(value, rule, finding)
	case ast.Set:
		if !rule.FromSet {
			return n.findingsOfList(p, value.Slice(), rule)
		}
	case *ast.Array:
		if !rule.FromSet {
			var terms []*ast.Term
			value.Foreach(func(term *ast.Term) { terms = append(terms, term) })
			return n.findingsOfList(p, terms, rule)
		}
	}
	return nil, wrongType(rule, value)
}

// findingsOfList reads the members of a list that is the value of one rule.
func (n nativeDialect) findingsOfList(p *policy, terms []*ast.Term, rule definition.Rule) ([]Finding, error) {
	rule.FromSet = true
	var all []Finding
	for _, term := range terms {
		findings, err := n.findings(p, term.Value, rule)
		if err != nil {
			return all, err
		}
		all = append(all, findings...)
	}
	return all, nil
}

func (nativeDialect) podTemplates(workload admission.GroupVersionKind) []admission.PodTemplate {
	if template, known := admission.PodTemplateOf(workload); known {
		return []admission.PodTemplate{template}
	}
	return nil
}

func (nativeDialect) attribute(i invocation, decision *Decision) {
	prefix := func(findings []Finding, with string) {
		for i := range findings {
			findings[i].Words = with + findings[i].Words
		}
	}
	prefix(decision.Warnings, "Pod template: ")
	prefix(decision.Audits, "Pod template: ")
	if i.policy.Matcher.Expand == definition.ExpandDeny {
		prefix(decision.Denials, "Pod template: ")
		return
	}
	prefix(decision.Denials, "its Pods will be denied: ")
	decision.Warnings = append(decision.Warnings, decision.Denials...)
	decision.Denials = nil
}

func (nativeDialect) expandSetting() string { return "match.expand" }
