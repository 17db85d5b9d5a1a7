package engine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// policy is a compiled policy in a snapshot.
type policy struct {
	*policyset.Policy
	source  *source
	dialect dialect
}

// dialect is the part of an evaluation that depends on the language for which a policy was
// written: nativeDialect for Lintel's own policies, constraintDialect for constraints of Gatekeeper
// templates. The caller selects policies, evaluates them and reports findings in the same way for
// both; the dialect decides which reviews a policy matches, which documents it reads, and how its
// results are read.
type dialect interface {
	// isForeign reports that the policy was written for another host: it reviews objects in the
	// version in which they arrive, and reads them whole.
	isForeign() bool
	// mayMatch reports whether the policy may match an object at the place of a review: its
	// kind, operation and namespace. The result is cached for that place.
	mayMatch(p *policy, e *evaluation, kind admission.GroupVersionKind, verb bool) bool
	// matches reports whether the policy is evaluated for a review. reason is set if it cannot
	// be, because the caller lacks objects or a scope lacks a grant.
	matches(p *policy, resources *admission.Resources, e *evaluation, verb bool) (matches bool, reason string)
	// enforcement is the effect of findings about a review.
	enforcement(p *policy, e *evaluation) definition.Enforcement
	// documents returns input and data for deny and warn.
	documents(p *policy, e *evaluation) (input *ast.Term, data eval.Document)
	// findings converts a value of deny or warn. The error is an unreadableError.
	findings(p *policy, value ast.Value, rule definition.Rule) ([]Finding, error)
	// podTemplates are where objects of a kind have the Pod templates that the policy reviews, if
	// it reviews Pod templates.
	podTemplates(workload admission.GroupVersionKind) []admission.PodTemplate
	// attribute turns the findings about a Pod template into findings about the workload.
	attribute(i invocation, decision *Decision)
	// expandSetting describes the setting by which a policy reviews Pod templates.
	expandSetting() string
	// explainMismatch names the part of the policy that excludes a review, if that part is not
	// a criterion of Match: "" otherwise.
	explainMismatch(unmet criterion) (name, reason string)
}

// title names the policy in a denial without a message of its own.
func (p *policy) title() string {
	if p.Meta.Title != "" {
		return fmt.Sprintf("%q", p.Meta.Title)
	}
	return p.Name
}

// rank is lower for broader scopes.
func (p *policy) rank() int { return p.source.Scope.Level.Rank() }

// kindOf is the kind of a review that the policy names.
func (p *policy) kindOf(resources *admission.Resources, r *admission.Review) admission.GroupVersionKind {
	if p.dialect.isForeign() {
		return r.Kind
	}
	return resources.KindOf(r)
}

// isSelected reports whether the caller evaluates policies of this scope with this failure policy.
func (p *policy) isSelected(options Options) bool {
	if options.Scopes != nil && !options.Scopes(p.source.Scope.Key()) {
		return false
	}
	return options.FailurePolicy == "" || options.FailurePolicy == p.source.FailurePolicy || p.source.anyEntry
}
