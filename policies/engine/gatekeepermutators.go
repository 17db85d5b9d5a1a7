package engine

import (
	"context"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// mutatorDialect is the dialect of Gatekeeper's mutators, which only change objects. They name the
// versions in which they do so.
type mutatorDialect struct{ nativeDialect }

func (mutatorDialect) isForeign() bool { return true }

func (mutatorDialect) matches(p *policy, resources *admission.Resources, e *evaluation, verb bool) (matches bool, reason string) {
	if p.unmetCriterion(e.review, e.review.Kind, verb) != criterionNone || e.isExempt(p.source) {
		return false, ""
	}
	if err := p.evaluationForbidden(resources); err != nil {
		return false, "it " + err.Error()
	}
	if p.missesNamespace(e) {
		return false, "it selects Namespaces by their labels, and those of namespace " + e.review.Namespace + " are not available"
	}
	return true, ""
}

// explainMismatch also covers requests of which no mutator selects the object.
func (mutatorDialect) explainMismatch(unmet criterion) (name, reason string) {
	if unmet == criterionNone {
		return "match", "the match of each mutator selects other objects"
	}
	return "", ""
}

func (mutatorDialect) podTemplates(admission.GroupVersionKind) []admission.PodTemplate { return nil }

// applyMutators applies the mutators of a source to the object. All changes are one member: they
// follow from each other.
func (p *policy) applyMutators(ctx context.Context, e *evaluation, root func() any, decision *Decision) (members []member, failed bool) {
	request := definition.MutationRequest{
		Kind: e.review.Kind, Namespace: e.review.Namespace, Operation: e.review.Operation, Generated: e.generated, Username: e.review.Username,
		External: func(name string) definition.Texts {
			if data := e.external[name]; data != nil {
				return data
			}
			return nil
		},
	}
	if e.namespace != nil {
		request.NamespaceLabels = e.namespace.Labels()
	}
	object, isObject := toPartialJSON(e.review.New.Value()).(map[string]any)
	if !isObject {
		return nil, false
	}
	if !e.review.New.Value().IsGround() {
		unknownPaths(object, nil, func(path []any, unknown *eval.UnknownError) {
			if p.Mutators.MayRead(request, path) {
				panic(unknown)
			}
		})
	}
	if e.isPaced(p) {
		e.options.Pacer.Wait(ctx, 0)
		start := time.Now()
		defer func() {
			e.options.Pacer.Done(time.Since(start).Microseconds() * definition.StepsPerMillisecond / 1000)
		}()
	}
	rule := definition.Rule{Entry: definition.EntryPatch, Location: p.Location}
	applied, matched, err := p.Mutators.Apply(ctx, request, object)
	if err != nil {
		p.report(e, decision, p.mutationFailure(rule, err.Error()))
		return nil, true
	}
	if !matched {
		decision.Policies--
	}
	if len(applied) == 0 {
		return nil, false
	}
	rule.Location = applied[0].Location
	if steps := jsonpatch.Difference(root(), object); len(steps) > 0 {
		members = append(members, member{p, rule, steps})
	}
	return members, false
}
