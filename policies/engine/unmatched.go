package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// explainSkipped explains why the policy is not evaluated for a question.
func (p *policy) explainSkipped(resources *admission.Resources, e *evaluation, q Question) Explanation {
	one := Explanation{Policy: p.info(), Question: q, Answer: AnswerNotMatched}
	r, kind := e.review, p.kindOf(resources, e.review)
	verb := p.Matcher.MatchesVerb(r)
	if q == QuestionMutate {
		verb = p.Matcher.Mutates(r)
		kind = r.Kind
	}
	if r.OnlyRemovesFinalizers() {
		one.Condition, one.Reason = "operation", "the update only removes finalizers of an object that is being deleted"
		return one
	}
	if q == QuestionMutate && p.Matcher.NamesKind(kind) && p.excludesRights(kind) {
		one.Condition, one.Reason = "kinds", fmt.Sprintf("%s carries rights, and a wildcard of a scope below the enterprise covers it only where every scope above grants it (spec.scope.grants.mutates of their PolicySources)", kind)
		return one
	}
	unmet := p.unmetCriterion(r, kind, verb)
	if e.isExempt(p.source) && verb && p.source.inScope(r) {
		one.Condition, one.Reason = "scope", fmt.Sprintf("%s of %s is a request by which Kubernetes itself deletes objects, or Lintel writes objects that it controls: policies below the enterprise are not evaluated for it", r.Operation, cmp.Or(r.Username, "this user"))
		return one
	}
	if !p.Matcher.NamesKind(kind) { // the most helpful reason
		unmet = criterionKind
	}
	if one.Condition, one.Reason = p.dialect.explainMismatch(unmet); one.Condition != "" {
		return one
	}
	if p.Check != nil && p.Check.OnlyStored {
		one.Condition, one.Reason = "evaluation.admission.enabled", "the policy is for stored objects alone"
		return one
	}
	if p.Check != nil && (unmet == criterionNone || unmet == criterionKind || unmet == criterionOperation) {
		if _, one.Condition, one.Reason = p.Check.Selector.Select(e.checkRequest()); one.Condition != "" {
			return one
		}
	}
	if unmet == criterionNone {
		unmet = criterionNamespaceSelector
	}
	one.Condition, one.Reason = p.explainCriterion(unmet, e, kind, q)
	return one
}

// explainCriterion names a criterion that a review does not meet, and its value in the review.
func (p *policy) explainCriterion(unmet criterion, e *evaluation, kind admission.GroupVersionKind, q Question) (name, reason string) {
	match, r := p.Matcher.Match, e.review
	switch unmet {
	case criterionOperation:
		return p.explainOperation(r, q)
	case criterionScope:
		return "scope", fmt.Sprintf("%s is outside %s of its source (%s)", whereOf(r), p.source.Scope.Key(), orNone(p.source.Scope.Namespaces))
	case criterionKind:
		if kind.Group == definition.PolicyGroup {
			return "kinds", fmt.Sprintf("it does not name the group %s, and is about every other (%s)", definition.PolicyGroup, kindNames(match.Kinds))
		}
		reason := fmt.Sprintf("%s is not one of %s", kind, kindNames(match.Kinds))
		if _, workload := admission.PodTemplatePath(kind); workload && q == QuestionValidate && p.Matcher.MatchesKind(admission.PodKind) && match.Expand == definition.ExpandNone {
			reason += "; " + p.dialect.expandSetting() + " would make it review the Pod template"
		}
		return "kinds", reason
	case criterionNamespaces:
		return "namespaces", fmt.Sprintf("%s is not one of %s", whereOf(r), strings.Join(match.Namespaces, ", "))
	case criterionExcludedNamespaces:
		i := slices.IndexFunc(match.ExcludedNamespaces, func(glob string) bool { return r.InNamespaces([]string{glob}) })
		return "excludedNamespaces", fmt.Sprintf("%s is excluded by %s", whereOf(r), match.ExcludedNamespaces[i])
	case criterionObjectSelector:
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

// explainOperation names the operation or subresource that the policy does not match.
func (p *policy) explainOperation(r *admission.Review, q Question) (name, reason string) {
	match := p.Matcher.Match
	operations := match.Operations
	switch {
	case q == QuestionMutate && r.SubResource != "":
		return "subresources", fmt.Sprintf("subresource %s: patch and defaults are never asked about subresources", r.SubResource)
	case q == QuestionMutate && len(operations) == 0:
		operations = []string{"CREATE"}
	case q == QuestionMutate:
		operations = slices.DeleteFunc(slices.Clone(operations), func(name string) bool { return name != "CREATE" && name != "UPDATE" })
	case r.SubResource != "" && !match.TakesSubresource(r):
		return "subresources", fmt.Sprintf("subresource %s is not one of %s", r.SubResource, orNone(match.SubresourceNames()))
	case len(operations) == 0:
		operations = []string{"CREATE", "UPDATE"}
	}
	return "operations", fmt.Sprintf("%s is not one of %s", r.Operation, orNone(operations))
}

// whereOf describes the namespace that globs are compared with.
func whereOf(r *admission.Review) string {
	switch {
	case r.IsNamespace():
		return fmt.Sprintf("namespace %q", r.DisplayName())
	case r.Namespace == "":
		return "an object without a namespace"
	default:
		return fmt.Sprintf("namespace %q", r.Namespace)
	}
}

// kindNames lists kinds.
func kindNames(kinds []admission.GroupVersionKind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.String()
	}
	return orNone(slices.Compact(names))
}

// labelText lists labels.
func labelText(have labels.Set) string { return cmp.Or(have.String(), "none") }

// orNone lists names.
func orNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
