package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// Question is what a policy can be asked about a review.
type Question string

// The questions of a review.
const (
	QuestionMutate   Question = "mutate"   // patch and defaults
	QuestionValidate Question = "validate" // deny and warn
	QuestionTemplate Question = "template" // deny and warn about a workload's Pod template
)

// Answer is what became of a question.
type Answer string

// The answers.
const (
	AnswerAsked         Answer = "asked"       // the policy was evaluated
	AnswerNotMatched    Answer = "not matched" // the review is not one that it is about
	AnswerCannotBeAsked Answer = "cannot be asked"
)

// Explanation is what one policy made of one question about a review.
type Explanation struct {
	Policy   PolicyInfo
	Question Question
	Answer   Answer
	// Condition is the part of match that is not met, or "scope", with the Reason in
	// words; where the policy cannot be asked, there is only the reason.
	Condition, Reason string
	// Decision is what the policy says, as in Validate and Mutate.
	Decision Decision
	// Changes are what its patch and defaults want to do, each by itself.
	Changes []jsonpatch.Operation
	// Rules are what became of the rules of the entry points, in the order of their files,
	// of a policy that was asked and of which the source was compiled by CompileForTest.
	Rules []RuleOutcome
}

// Explain asks the policies one by one what Validate asks them together, and says of
// the others why they are not asked. It is in the order of Policies.
func (s *Snapshot) Explain(ctx context.Context, review *admission.Review, options Options) []Explanation {
	e := newEvaluation(review, options)
	e.covered = map[*compiledPolicy]*eval.Coverage{}
	var questions []question
	if !review.OnlyRemovesFinalizers() {
		questions = s.questions(e, true)
	}
	answers := validate(ctx, questions)
	var out []Explanation
	for _, p := range s.policies {
		if p.validate == nil || !p.asked(options) {
			continue
		}
		before := len(out)
		for i, q := range questions {
			if q.policy != p {
				continue
			}
			asked := QuestionValidate
			if q.evaluation.generated {
				asked = QuestionTemplate
			}
			out = append(out, p.explain(s, q.evaluation, asked, answers[i]))
		}
		if len(out) == before {
			out = append(out, p.unasked(s, e, QuestionValidate))
		}
	}
	return out
}

// ExplainMutation is Explain for Mutate: it asks about the object as it is, before any
// policy has changed it.
func (s *Snapshot) ExplainMutation(ctx context.Context, review *admission.Review, options Options) []Explanation {
	e := newEvaluation(review, options)
	e.covered = map[*compiledPolicy]*eval.Coverage{}
	asked := map[*compiledPolicy]mutationAnswer{}
	if review.New != nil && !review.OnlyRemovesFinalizers() {
		m := newMutator(ctx, s, e, &Mutation{Review: review})
		root := func() any { return toJSON(review.New.Value()) }
		for _, answer := range m.ask(m.policies(e), e, root) {
			asked[answer.policy] = answer
		}
	}
	var out []Explanation
	for _, p := range s.policies {
		if p.mutate == nil || !p.asked(options) {
			continue
		}
		answer, ok := asked[p]
		if !ok {
			out = append(out, p.unasked(s, e, QuestionMutate))
			continue
		}
		one := p.explain(s, e, QuestionMutate, &answer.found)
		for _, member := range answer.members {
			for _, op := range member.ops {
				one.Changes = append(one.Changes, op.Operation())
			}
		}
		out = append(out, one)
	}
	return out
}

// explain reads what became of a question that was put to the policy.
func (p *compiledPolicy) explain(s *Snapshot, e *evaluation, q Question, found *Decision) Explanation {
	one := Explanation{Policy: p.info(), Question: q, Answer: AnswerAsked, Decision: *found}
	findings := slices.Concat(found.Denials, found.Warnings, found.Audits)
	switch {
	case found.Policies > 0:
		entries := []string{definition.EntryDeny, definition.EntryWarn}
		if q == QuestionMutate {
			entries = []string{definition.EntryPatch, definition.EntryDefaults}
		}
		one.Rules = p.outcomesOf(e.covered[p], entries...)
	case len(found.Undecided) > 0:
		one.Answer, one.Reason = AnswerCannotBeAsked, found.Undecided[0].Reason
	case len(findings) > 0:
		one.Answer, one.Reason = AnswerCannotBeAsked, findings[0].Words
	default:
		return p.unasked(s, e, q)
	}
	return one
}

// unasked says why the policy is not asked a question that it has an answer to.
func (p *compiledPolicy) unasked(s *Snapshot, e *evaluation, q Question) Explanation {
	one := Explanation{Policy: p.info(), Question: q, Answer: AnswerNotMatched}
	r, kind := e.review, s.resources.KindOf(e.review)
	verb := p.matcher.MatchesVerb(r)
	if q == QuestionMutate {
		verb = p.matcher.Mutates(r)
		kind = r.Kind
	}
	if r.OnlyRemovesFinalizers() {
		one.Condition, one.Reason = "operation", "the update only removes finalizers of an object that is being deleted"
		return one
	}
	unmet := p.unmet(r, kind, verb)
	if !p.matcher.NamesKind(kind) { // it says most, and hides all else
		unmet = conditionKind
	}
	if one.Condition, one.Reason = p.form.leavesOut(unmet); one.Condition != "" {
		return one
	}
	if unmet == nothing {
		unmet = conditionNamespaceSelector
	}
	one.Condition, one.Reason = p.describe(unmet, e, kind, q)
	return one
}

// describe names a condition that is not met, with the value that does not meet it.
func (p *compiledPolicy) describe(unmet condition, e *evaluation, kind admission.GroupVersionKind, q Question) (name, reason string) {
	match, r := p.matcher.Match, e.review
	switch unmet {
	case conditionVerb:
		return p.describeVerb(r, q)
	case conditionScope:
		return "scope", fmt.Sprintf("%s is outside %s of its source (%s)", whereOf(r), p.set.source.Scope.Key(), orNone(p.set.source.Scope.Namespaces))
	case conditionKind:
		if kind.Group == definition.PolicyGroup {
			return "kinds", fmt.Sprintf("it does not name the group %s, and is about every other (%s)", definition.PolicyGroup, kindNames(match.Kinds))
		}
		reason := fmt.Sprintf("%s is not one of %s", kind, kindNames(match.Kinds))
		if _, workload := admission.PodTemplatePath(kind); workload && q == QuestionValidate && p.matcher.MatchesKind(admission.PodKind) && match.Expand == definition.ExpandNone {
			reason += "; " + p.form.howToExpand() + " would have it judge the Pod template"
		}
		return "kinds", reason
	case conditionNamespaces:
		return "namespaces", fmt.Sprintf("%s is none of %s", whereOf(r), strings.Join(match.Namespaces, ", "))
	case conditionExcludedNamespaces:
		i := slices.IndexFunc(match.ExcludedNamespaces, func(glob string) bool { return r.InNamespaces([]string{glob}) })
		return "excludedNamespaces", fmt.Sprintf("%s is excluded by %s", whereOf(r), match.ExcludedNamespaces[i])
	case conditionObjectSelector:
		var have []string
		for _, object := range []*admission.Object{r.New, r.Old} {
			if object != nil {
				have = append(have, labelText(object.Labels()))
			}
		}
		return "objectSelector", fmt.Sprintf("the labels of the object (%s) do not meet %s", strings.Join(slices.Compact(have), "; before: "), metav1.FormatLabelSelector(match.ObjectSelector))
	default:
		have := e.namespace
		if r.IsNamespace() {
			for _, object := range []*admission.Object{r.Old, r.New} {
				if object != nil {
					have = object
				}
			}
		}
		return "namespaceSelector", fmt.Sprintf("the labels of %s (%s) do not meet %s", whereOf(r), labelText(have.Labels()), metav1.FormatLabelSelector(match.NamespaceSelector))
	}
}

func (p *compiledPolicy) describeVerb(r *admission.Review, q Question) (name, reason string) {
	match := p.matcher.Match
	operations := match.Operations
	switch {
	case q == QuestionMutate && r.SubResource != "":
		return "subresources", fmt.Sprintf("subresource %s: patch and defaults are never asked about subresources", r.SubResource)
	case q == QuestionMutate && len(operations) == 0:
		operations = []string{"CREATE"}
	case q == QuestionMutate:
		operations = slices.DeleteFunc(slices.Clone(operations), func(name string) bool { return name != "CREATE" && name != "UPDATE" })
	case r.SubResource != "" && !slices.Contains(match.Subresources, r.SubResource) && !slices.Contains(match.Subresources, "*"):
		return "subresources", fmt.Sprintf("subresource %s is not one of %s", r.SubResource, orNone(match.Subresources))
	case len(operations) == 0:
		operations = []string{"CREATE", "UPDATE"}
	}
	return "operations", fmt.Sprintf("%s is not one of %s", r.Operation, orNone(operations))
}

// whereOf is the namespace that globs are compared with.
func whereOf(r *admission.Review) string {
	switch {
	case r.IsNamespace():
		return fmt.Sprintf("namespace %q", r.DisplayName())
	case r.Namespace == "":
		return "what is in no namespace"
	default:
		return fmt.Sprintf("namespace %q", r.Namespace)
	}
}

func kindNames(kinds []admission.GroupVersionKind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.String()
	}
	return orNone(slices.Compact(names))
}

func labelText(have labels.Set) string { return cmp.Or(have.String(), "none") }

func orNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
