package engine

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Validate decides by the entry points deny and warn.
func (s *Snapshot) Validate(ctx context.Context, review *Review, options Options) *Decision {
	decision := s.Ask(ctx, review, options)
	decision.Denials = sortFindings(decision.Denials)
	decision.Warnings = sortFindings(decision.Warnings)
	decision.Audits = sortFindings(decision.Audits)
	return decision
}

// Ask is Validate with all that was found, in the order of the policies: what is said
// twice is there twice.
func (s *Snapshot) Ask(ctx context.Context, review *Review, options Options) *Decision {
	decision := &Decision{}
	if s.concernsNobody(review) || review.onlyRemovesFinalizers() {
		return decision
	}
	e, err := newEvaluation(review, options)
	if err != nil {
		decision.Denials = []Finding{{Words: err.Error(), Error: true}}
		return decision
	}
	answers := ask(s.questions(e, false), func(q question, found *Decision) { q.policy.validateOne(ctx, q, found) })
	for _, found := range answers {
		decision.add(found)
	}
	decision.add(s.unsettled(ctx, e))
	return decision
}

// concernsNobody says, before anything is prepared, that no policy is about the kind.
func (s *Snapshot) concernsNobody(review *Review) bool {
	_, isWorkload := podTemplates[GroupVersionKind{Group: review.Kind.Group, Kind: review.Kind.Kind}]
	return !isWorkload && len(s.candidates(review.Kind)) == 0 && len(s.candidates(s.resources.KindOf(review))) == 0
}

// question is a policy to ask about a review.
type question struct {
	policy     *policy
	evaluation *evaluation
	entry      string // for errors: what is asked
	// matches and reason are those of policy.matches.
	matches bool
	reason  string
	// template marks a review of a workload's Pod template.
	template bool
	workload GroupVersionKind // whose template
}

// questions are all that Validate asks about a review, and with unmatched also those to
// policies that are not about it.
func (s *Snapshot) questions(e *evaluation, unmatched bool) []question {
	kind := s.resources.KindOf(e.review)
	candidates := s.candidates(kind)
	if !unmatched {
		candidates = s.placed.of(s, e, kind)
	}
	var out []question
	for _, p := range candidates {
		if p.validate == nil || !p.asked(e.options) {
			continue
		}
		if matches, reason := p.matches(s, e, p.matcher.matchesVerb(e.review)); matches || reason != "" || unmatched {
			out = append(out, question{policy: p, evaluation: e, entry: entryDeny, matches: matches, reason: reason})
		}
	}
	return append(out, s.templateQuestions(e, unmatched)...)
}

// ask asks, and gives what was found in the order of the questions.
func ask(questions []question, one func(question, *Decision)) []*Decision {
	policies := make([]*policy, len(questions))
	for i, q := range questions {
		policies[i] = q.policy
	}
	failed := func(i int, err evalError) *Decision {
		found := &Decision{}
		q := questions[i]
		q.policy.report(found, q.policy.errorFinding(q.entry, err))
		q.settle(found)
		return found
	}
	return inOrder(policies, func(i int) *Decision {
		return timed(questions[i].evaluation, policies[i], func() *Decision {
			found := &Decision{}
			one(questions[i], found)
			questions[i].settle(found)
			return found
		}, func(err evalError) *Decision { return failed(i, err) })
	}, failed)
}

// asked says whether the caller asks policies with this failure policy.
func (p *policy) asked(options Options) bool {
	return options.FailurePolicy == "" || options.FailurePolicy == p.set.source.FailurePolicy || p.set.place != nil && p.set.place.both
}

// validateOne asks one policy and adds what it says to the decision.
func (p *policy) validateOne(ctx context.Context, q question, decision *Decision) {
	e := q.evaluation
	switch {
	case q.reason != "":
		p.cannotAsk(e, decision, q.reason)
		return
	case !q.matches:
		return
	}
	decision.Policies++
	options := e.options
	options.Coverage = e.coverageOf(p)
	given, errs := p.validate.run(ctx, e.inputOf(p), e.dataOf(p), p.meta.timeout, options)
	for _, err := range errs {
		p.report(decision, p.errorFinding(entryDeny, err))
	}
	if given == nil {
		return
	}
	entry := entryDeny
	if p.constraint != nil {
		entry = entryViolation
	}
	p.readSaid(p.sayings(entry, given[0]), func(finding Finding) { p.report(decision, finding) }, decision)
	p.readSaid(p.sayings(entryWarn, given[1]), func(finding Finding) { p.warn(decision, finding) }, decision)
}

// readSaid adds what the values of an entry point say, up to MaxFindings.
func (p *policy) readSaid(all []saying, add func(Finding), decision *Decision) {
	for i, one := range all {
		findings, err := p.read(one.value.Value, one.rule)
		if i == MaxFindings {
			more := p.finding(entryDeny, p.location)
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
			p.report(decision, *err)
		}
	}
}

// matches says whether the policy is to be asked; reason is set where that, or the
// answer, depends on objects the caller does not have.
func (p *policy) matches(s *Snapshot, e *evaluation, verb bool) (matches bool, reason string) {
	if p.constraint != nil {
		return p.constraintMatches(s, e)
	}
	m := p.matcher
	kind := s.resources.KindOf(e.review)
	if p.unmet(e.review, kind, verb) != nothing {
		return false, ""
	}
	labelled, known := m.matchesNamespaceLabels(e)
	if known && !labelled {
		return false, ""
	}
	if !m.matchesKind(kind) {
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

// cannotAsk is undecided offline, and an error where the cluster is at hand.
func (p *policy) cannotAsk(e *evaluation, decision *Decision, reason string) {
	if e.options.Offline {
		decision.Undecided = append(decision.Undecided, Undecided{Policy: p.name, Reason: reason})
		return
	}
	p.report(decision, p.errorFinding(entryDeny, evalError{message: reason}))
}

// report files a denial, or an error, where the policy's enforcement and the
// source's failure policy put it.
func (p *policy) report(decision *Decision, finding Finding) {
	if finding.Limit != "" {
		p.limit.reach(finding.Limit)
	}
	switch {
	case p.meta.enforcement == EnforceAudit:
		decision.Audits = append(decision.Audits, finding)
	case p.meta.enforcement == EnforceWarn, finding.Error && p.set.source.FailurePolicy == Ignore:
		decision.Warnings = append(decision.Warnings, finding)
	default:
		decision.Denials = append(decision.Denials, finding)
	}
}

func (p *policy) warn(decision *Decision, finding Finding) {
	if p.meta.enforcement == EnforceAudit {
		decision.Audits = append(decision.Audits, finding)
		return
	}
	decision.Warnings = append(decision.Warnings, finding)
}

// read reads a value of a rule: a message, an object with msg, true, or a list of those.
// Anything else is an error finding. A list is read only where it is the whole value.
func (p *policy) read(value ast.Value, rule ruleInfo) ([]Finding, *Finding) {
	if p.constraint != nil {
		return p.readViolation(value, rule)
	}
	finding := p.finding(rule.entry, rule.location)
	finding.Words = map[string]string{entryDeny: "denied by ", entryWarn: "warned by "}[rule.entry] + p.title()
	switch value := value.(type) {
	case ast.Boolean:
		if value {
			return []Finding{finding}, nil
		}
		return nil, nil
	case ast.String:
		if value != "" {
			finding.Words = string(value)
		} else if !rule.member {
			return nil, nil
		}
		return []Finding{finding}, nil
	case ast.Object:
		if value.Len() == 0 {
			return nil, nil
		}
		return p.readObject(value, finding)
	case ast.Set:
		if !rule.member {
			return p.readAll(value.Slice(), rule)
		}
	case *ast.Array:
		if !rule.member {
			var terms []*ast.Term
			value.Foreach(func(term *ast.Term) { terms = append(terms, term) })
			return p.readAll(terms, rule)
		}
	}
	return nil, p.wrongType(finding, value)
}

// readAll reads the members of a list that is the value of one rule.
func (p *policy) readAll(terms []*ast.Term, rule ruleInfo) ([]Finding, *Finding) {
	rule.member = true
	var all []Finding
	for _, term := range terms {
		findings, err := p.read(term.Value, rule)
		if err != nil {
			return all, err
		}
		all = append(all, findings...)
	}
	return all, nil
}

// readObject reads {msg, field, details, code}.
func (p *policy) readObject(value ast.Object, finding Finding) ([]Finding, *Finding) {
	message, ok := lookup(value, "msg").(ast.String)
	if !ok {
		return nil, p.wrongType(finding, value)
	}
	finding.Words = string(message)
	finding.Field = text(value, "field")
	if code, ok := lookup(value, "code").(ast.Number); ok {
		finding.Code, _ = code.Int()
	}
	if details := lookup(value, "details"); details != nil {
		var err error
		if finding.Details, err = resultJSON(ast.NewTerm(details)); err != nil {
			finding.Error, finding.Limit = true, "result"
			finding.Words = fmt.Sprintf("policy %s cannot be used: details of %s: %v", p.name, finding.Rule, err)
			return nil, &finding
		}
	}
	return []Finding{finding}, nil
}

func (p *policy) wrongType(finding Finding, value ast.Value) *Finding {
	finding.Error = true
	what := ast.ValueName(value)
	if _, isObject := value.(ast.Object); isObject {
		what = "an object without a string msg"
	}
	finding.Words = fmt.Sprintf("policy %s cannot be used: %s gave %s, not a message or an object with msg", p.name, finding.Rule, what)
	return &finding
}

// finding is one without words.
func (p *policy) finding(rule string, location Location) Finding {
	return Finding{
		Policy:   p.name,
		Rule:     rule,
		Location: location,
		Source:   p.set.source.Name,
		Revision: p.set.source.Revision,
		Scope:    p.set.source.Scope.Level,
	}
}

// errorFinding names the rule that stands where the error arose; where that is
// unknown, the entry point that was asked and the package.
func (p *policy) errorFinding(entry string, err evalError) Finding {
	finding := p.finding(entry, p.location)
	if err.location.File != "" {
		finding.Location = err.location
		if name := p.ruleAt(err.location); name != "" {
			finding.Rule = name
		}
	}
	finding.Error, finding.Limit = true, err.limit
	if p.constraint != nil {
		err.message = readable(err.message)
	}
	finding.Words = fmt.Sprintf("policy %s cannot be evaluated: %s", p.name, err.message)
	return finding
}

// title is how a denial without words names its policy.
func (p *policy) title() string {
	if p.meta.title != "" {
		return fmt.Sprintf("%q", p.meta.title)
	}
	return p.name
}
