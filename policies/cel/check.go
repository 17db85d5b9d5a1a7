package cel

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// check returns the policy for the engine.
func (p *policy) check() *definition.Check {
	c := &definition.Check{
		Name:        fullName(p.Kind, p.Name),
		Location:    definition.Location{File: p.File, Line: p.Line},
		Match:       p.registered(),
		Enforcement: p.strictest(), ReadsNamespace: p.program.ReadsNamespace(),
		RequestReads: p.requestReads(), Fingerprint: p.fingerprint(),
		Selector: p,
	}
	if p.mutation != nil {
		c.Mutator, c.Enforcement = mutator{p}, definition.EnforceDeny
	} else {
		c.Evaluator = p
	}
	return c
}

// onlyInRequests matches what a stored object does not have.
var onlyInRequests = regexp.MustCompile(`\brequest\s*\.\s*\??\s*(?:userInfo|options|dryRun)\b|\bauthorizer\b`)

// requestReads returns the first reference of each expression to what a stored object does not have.
func (p *policy) requestReads() (found []definition.Reference) {
	spec := p.program.spec
	list := slices.Concat(spec.MatchConditions, spec.Variables, spec.AuditAnnotations)
	for _, v := range spec.Validations {
		list = append(list, v.Expression)
	}
	for _, e := range list {
		at := onlyInRequests.FindStringIndex(e.Text)
		if at == nil {
			continue
		}
		location := definition.Location{File: p.File, Line: p.TextLine(e.Path...) + strings.Count(e.Text[:at[0]], "\n")}
		found = append(found, definition.Reference{Location: location, Path: strings.Join(strings.Fields(e.Text[at[0]:at[1]]), "")})
	}
	return found
}

// strictest returns the strictest action of the bindings.
func (p *policy) strictest() definition.Enforcement {
	var all []definition.Enforcement
	for _, b := range p.bindings {
		all = append(all, b.effects()...)
	}
	return strictestOf(all)
}

func strictestOf(effects []definition.Enforcement) definition.Enforcement {
	for _, one := range []definition.Enforcement{definition.EnforceDeny, definition.EnforceWarn} {
		if slices.Contains(effects, one) {
			return one
		}
	}
	return definition.EnforceAudit
}

// effects are the actions of a binding.
func (b *binding) effects() []definition.Enforcement { return effectsOf(b.settings.ValidationActions) }

func effectsOf(actions []v1.ValidationAction) (effects []definition.Enforcement) {
	for _, action := range actions {
		switch action {
		case v1.Deny:
			effects = append(effects, definition.EnforceDeny)
		case v1.Warn:
			effects = append(effects, definition.EnforceWarn)
		case v1.Audit:
			effects = append(effects, definition.EnforceAudit)
		}
	}
	return effects
}

// registered is a match of the engine that is as wide as matchConstraints, or wider: rules name
// resources, and the engine selects by kind.
func (p *policy) registered() definition.Match {
	return registeredFor(p.criteria.ResourceRules, *p.criteria.MatchPolicy)
}

func registeredFor(rules []v1.NamedRuleWithOperations, policy v1.MatchPolicyType) definition.Match {
	match := definition.Match{}
	resources := admission.BuiltinResources()
	add := func(group, kind string) {
		if one := (admission.GroupVersionKind{Group: group, Kind: kind}); !slices.Contains(match.Kinds, one) {
			match.Kinds = append(match.Kinds, one)
		}
	}
	for _, rule := range rules {
		for _, operation := range rule.Operations {
			all := []string{string(operation)}
			if operation == v1.OperationAll {
				all = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}
			}
			for _, one := range all {
				if !slices.Contains(match.Operations, one) {
					match.Operations = append(match.Operations, one)
				}
			}
		}
		for _, group := range rule.APIGroups {
			for _, name := range rule.Resources {
				if one, known := resources.ByName(group, name); known {
					add(group, one.Kind)
					if other, ok := equivalentGroup(schema.GroupVersionResource{Group: group, Resource: name}); ok && policy == v1.Equivalent {
						add(other, one.Kind)
					}
					continue
				}
				add(group, "*")
				match.Subresources = []string{"*"}
			}
		}
	}
	if slices.Contains(match.Kinds, admission.GroupVersionKind{Group: "*", Kind: "*"}) {
		match.Kinds = nil // every kind
	}
	return match
}

// Select implements definition.Selector.
func (p *policy) Select(request *definition.CheckRequest) (selected bool, criterion, reason string) {
	in := inputOf(request, true)
	switch {
	case in.err != nil:
		return false, "", in.err.Error()
	case isExempt(in):
		return false, "resourceRules", "the API server evaluates no admission policy for admission policies and webhook configurations"
	}
	if matches, field, reason := p.criteria.match(in); !matches {
		if field != "" {
			field = "matchConstraints." + field
		}
		return false, field, reason
	}
	if len(p.bindings) == 0 {
		return false, "binding", fmt.Sprintf("the source has no %s for it", p.Kind+bindingSuffix)
	}
	bound, field, reason := p.boundTo(in)
	if len(bound) > 0 {
		p.program.requireKnown(in)
	}
	if len(bound) > 0 || field == "" {
		return len(bound) > 0, "", reason
	}
	return false, "matchResources." + field, reason
}

// boundTo returns the bindings that match a request. If none does, field and reason explain it for
// the last of them; if only the reason is set, the answer is not known.
func (p *policy) boundTo(in *input) (bound []*binding, field, reason string) {
	for _, b := range p.bindings {
		if b.criteria == nil {
			bound = append(bound, b)
			continue
		}
		matches, unmet, why := b.criteria.match(in)
		switch {
		case matches:
			bound = append(bound, b)
		case unmet == "":
			return nil, "", why
		default:
			field, reason = unmet, fmt.Sprintf("%s (%s %s)", why, b.Kind, b.Name)
		}
	}
	if len(bound) > 0 {
		return bound, "", ""
	}
	return nil, field, reason
}

// Evaluate implements definition.Evaluator.
func (p *policy) Evaluate(ctx context.Context, request *definition.CheckRequest) definition.CheckResult {
	in := inputOf(request, true)
	result := definition.CheckResult{}
	bound, _, _ := p.boundTo(in)
	for _, b := range bound {
		found, err := p.params.collect(b.settings.ParamRef, in.attributes.GetNamespace())
		if err != nil {
			if !p.program.spec.IgnoreErrors {
				result.Findings = append(result.Findings, definition.CheckFinding{
					Words: fmt.Sprintf("failed to configure binding: %v", err), Location: locationIn(b.Object, []any{"spec", "paramRef"}),
					Code: codeOf(""), Details: map[string]any{"binding": b.Name}, Effects: []definition.Enforcement{definition.EnforceDeny},
				})
			}
			continue
		}
		for _, param := range found {
			out := p.program.evaluate(ctx, in, param, request.MaxSteps)
			result.Steps += out.cost
			if out.undecided != "" {
				result.Undecided = out.undecided
			}
			for _, d := range out.decisions {
				result.Findings = append(result.Findings, d.finding(p.Object, b))
			}
			if request.Explain {
				result.Outcomes = append(result.Outcomes, p.program.explain(p.Object, in, param, out)...)
			}
		}
	}
	return result
}

// finding returns a decision as a finding of a binding.
func (d decision) finding(o manifest.Object, b *binding) definition.CheckFinding {
	f := definition.CheckFinding{
		Words: d.message, Location: locationIn(o, d.path), Code: codeOf(d.reason),
		Error: d.isError, Limit: d.limit,
		Details: map[string]any{"binding": b.Name}, Effects: b.effects(),
	}
	if d.always {
		f.Effects = []definition.Enforcement{definition.EnforceDeny}
	}
	return f
}

// locationIn is the location of a field.
func locationIn(o manifest.Object, path []any) definition.Location {
	return definition.Location{File: o.File, Line: o.LineOf(path...)}
}
