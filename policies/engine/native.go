package engine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
)

// form is what differs between Lintel's own policies and constraints of templates.
type form interface {
	// foreign reports that the policy was written for another host: it reviews objects in the
	// version in which they arrive, and reads them whole.
	foreign() bool
	// matches says whether the policy is to be asked; reason is set where that, or the
	// answer, depends on objects the caller does not have.
	matches(p *compiledPolicy, s *Snapshot, e *evaluation, verb bool) (matches bool, reason string)
	// mayMatchAt says whether it can be about any object at the place of a review.
	mayMatchAt(p *compiledPolicy, e *evaluation, kind admission.GroupVersionKind, verb bool) bool
	// leavesOut names what keeps a review out where that is not a condition of Match:
	// empty where it is.
	leavesOut(unmet condition) (name, reason string)
	// documents are what the policy reads as input and data when it validates.
	documents(p *compiledPolicy, e *evaluation) (input *ast.Term, data eval.Document)
	// read reads a value of deny or warn. The error is an unreadableError.
	read(p *compiledPolicy, value ast.Value, rule definition.Rule) ([]Finding, error)
	// expandsFrom reports whether a policy that reviews Pod templates reviews those of a kind.
	expandsFrom(workload admission.GroupVersionKind) bool
	// imply turns the findings about a Pod template into findings about the workload.
	imply(p *compiledPolicy, workload admission.GroupVersionKind, found *Decision)
	// howToExpand describes the setting by which such a policy reviews Pod templates.
	howToExpand() string
}

// native is the form of Lintel's own policies.
type native struct{}

func (native) foreign() bool { return false }

func (native) matches(p *compiledPolicy, s *Snapshot, e *evaluation, verb bool) (matches bool, reason string) {
	m := p.matcher
	kind := s.resources.KindOf(e.review)
	if p.unmet(e.review, kind, verb) != nothing || e.isExempt(p.set) {
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
	case p.forbids(s.resources) != nil:
		return false, "it " + p.forbids(s.resources).Error()
	}
	if missing, lacks := e.lacks(p); lacks {
		return false, fmt.Sprintf("it requires cluster objects (%s)", missing)
	}
	if p.lacksNamespace(e) {
		return false, fmt.Sprintf("it reads input.namespace, and namespace %q is not at hand", e.review.Namespace)
	}
	return true, ""
}

func (native) mayMatchAt(p *compiledPolicy, e *evaluation, kind admission.GroupVersionKind, verb bool) bool {
	if p.unmetAt(e.review, kind, verb) != nothing {
		return false
	}
	matches, known := p.matcher.MatchesNamespaceLabels(e.review, e.namespace)
	return matches || !known
}

func (native) leavesOut(condition) (name, reason string) { return "", "" }

func (native) documents(p *compiledPolicy, e *evaluation) (input *ast.Term, data eval.Document) {
	return e.input(p.set), e.data(p.set)
}

// read reads a value of a rule: a message, an object with msg, true, or a list of those.
// Anything else is an error finding. A list is read only where it is the whole value.
func (n native) read(p *compiledPolicy, value ast.Value, rule definition.Rule) ([]Finding, error) {
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
			return n.readAll(p, value.Slice(), rule)
		}
	case *ast.Array:
		if !rule.FromSet {
			var terms []*ast.Term
			value.Foreach(func(term *ast.Term) { terms = append(terms, term) })
			return n.readAll(p, terms, rule)
		}
	}
	return nil, wrongType(rule, value)
}

// readAll reads the members of a list that is the value of one rule.
func (n native) readAll(p *compiledPolicy, terms []*ast.Term, rule definition.Rule) ([]Finding, error) {
	rule.FromSet = true
	var all []Finding
	for _, term := range terms {
		findings, err := n.read(p, term.Value, rule)
		if err != nil {
			return all, err
		}
		all = append(all, findings...)
	}
	return all, nil
}

func (native) expandsFrom(admission.GroupVersionKind) bool { return true }

func (native) imply(p *compiledPolicy, _ admission.GroupVersionKind, found *Decision) {
	prefix := func(findings []Finding, with string) {
		for i := range findings {
			findings[i].Words = with + findings[i].Words
		}
	}
	prefix(found.Warnings, "Pod template: ")
	prefix(found.Audits, "Pod template: ")
	if p.matcher.Expand == definition.ExpandDeny {
		prefix(found.Denials, "Pod template: ")
		return
	}
	prefix(found.Denials, "its Pods will be denied: ")
	found.Warnings = append(found.Warnings, found.Denials...)
	found.Denials = nil
}

func (native) howToExpand() string { return "match.expand" }
