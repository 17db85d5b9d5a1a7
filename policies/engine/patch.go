package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// member is applied or dropped as a whole: a member of a patch set, or all
// defaults of one policy.
type member struct {
	policy *policy
	rule   definition.Rule
	ops    []jsonpatch.Step
}

// readMember reads one operation, or a list of them.
func readMember(term *ast.Term) ([]jsonpatch.Step, error) {
	value, err := sandbox.JSON(term)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var ops []jsonpatch.Step
	for _, item := range list {
		op, err := jsonpatch.ReadStep(item)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return nil, fmt.Errorf("a member of patch is an empty list; let the rule fail instead")
	}
	return ops, nil
}

// defaultOps are the additions that put defaults where the object has nothing or null.
func defaultOps(root func() any, defaults *ast.Term) ([]jsonpatch.Step, error) {
	value, err := sandbox.JSON(defaults)
	if err != nil {
		return nil, err
	}
	if unknown := unknownDefault(root(), value); unknown != nil {
		panic(unknown)
	}
	return jsonpatch.Defaults(root(), value)
}

// changedPaths names the first paths that operations change.
func changedPaths(ops []jsonpatch.Operation) string {
	var paths []string
	for _, op := range ops {
		if len(paths) == 3 {
			return strings.Join(paths, ", ") + ", …"
		}
		paths = append(paths, op.Path)
	}
	return strings.Join(paths, ", ")
}

// toJSON converts an object that was decoded from JSON. It panics with a *eval.UnknownError if a
// value in it is unknown: an object with such a value cannot be patched.
func toJSON(object ast.Object) any {
	if unknown := eval.UnknownIn(object); unknown != nil {
		panic(unknown)
	}
	value, err := ast.JSON(object)
	if err != nil {
		panic("an object that came as JSON always has JSON: " + err.Error())
	}
	return value
}

// fromJSON is the reverse of toJSON.
func fromJSON(root any) (ast.Object, bool) {
	value, err := ast.InterfaceToValue(root)
	object, ok := value.(ast.Object)
	return object, ok && err == nil
}

// defaultsRule returns the rule of the policy's defaults.
func (p *policy) defaultsRule() definition.Rule {
	for _, rule := range p.EntryRules {
		if rule.Entry == definition.EntryDefaults {
			return rule
		}
	}
	return definition.Rule{Entry: definition.EntryDefaults, Location: p.Location}
}

// mutationFailure is the finding of a patch that cannot be applied.
func (p *policy) mutationFailure(rule definition.Rule, reason string) Finding {
	finding := p.finding(rule.Entry, rule.Location)
	finding.Error = true
	finding.Words = fmt.Sprintf("policy %s cannot mutate the object: %s", p.Name, reason)
	return finding
}

// mutateOne evaluates one policy. failed reports that it must be excluded.
func (p *policy) mutateOne(ctx context.Context, resources *admission.Resources, e *evaluation, root func() any, decision *Decision) (members []member, failed bool) {
	kind := e.review.Kind
	if p.excludesRights(kind) {
		return nil, false
	}
	matches, reason := p.dialect.matches(p, resources, e, p.Matcher.Mutates(e.review))
	if err := p.mutationForbidden(kind); err != nil && matches {
		reason = "it " + err.Error()
	}
	if reason != "" {
		p.reportUnevaluable(e, decision, reason, p.lackOf(resources, e, reason))
		return nil, true
	}
	if !matches {
		return nil, false
	}
	decision.Policies++
	if p.Mutators != nil {
		return p.applyMutators(ctx, e, root, decision)
	}
	results, errs := e.evaluate(ctx, p, p.Mutate, definition.EntryPatch, e.input(p.source), e.data(p.source))
	for _, err := range errs {
		p.reportError(e, decision, definition.EntryPatch, err)
	}
	if results == nil || len(errs) > 0 {
		return nil, true
	}
	for _, one := range p.valuesOf(definition.EntryPatch, results[0]) {
		if unknown := eval.UnknownIn(one.value.Value); unknown != nil {
			panic(unknown)
		}
		ops, err := readMember(one.value)
		if err != nil {
			p.report(e, decision, p.mutationFailure(one.rule, err.Error()))
			return nil, true
		}
		members = append(members, member{p, one.rule, ops})
	}
	if len(results[1]) > 0 {
		rule := p.defaultsRule()
		if unknown := eval.UnknownIn(results[1][0].Value.Value); unknown != nil {
			panic(unknown)
		}
		ops, err := defaultOps(root, results[1][0].Value)
		if err != nil {
			p.report(e, decision, p.mutationFailure(rule, err.Error()))
			return nil, true
		}
		if len(ops) > 0 {
			members = append(members, member{p, rule, ops})
		}
	}
	return members, false
}
