package cel

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/lazy"

	"github.com/lintel-policy/lintel/policies/cel/functions"
	"github.com/lintel-policy/lintel/policies/definition"
)

type (
	matchCondition = v1.MatchCondition
	namedRule      = v1.NamedRuleWithOperations
)

// fingerprint is equal for policies that give the same findings.
func (p *kyvernoPolicy) fingerprint() string {
	texts := []string{p.File, strconv.Itoa(p.Line), string(p.JSON)}
	for _, e := range p.exceptions {
		texts = append(texts, e.File, string(e.JSON))
	}
	text, err := json.Marshal(texts)
	if err != nil {
		panic("a list of strings always has JSON: " + err.Error())
	}
	return string(text)
}

// Select implements definition.Selector.
func (p *kyvernoPolicy) Select(request *definition.CheckRequest) (selected bool, criterion, reason string) {
	in := inputOf(request, false)
	switch {
	case in.err != nil:
		return false, "", in.err.Error()
	case isExempt(in):
		return false, "resourceRules", "the API server calls no webhook for admission policies and webhook configurations"
	}
	variant, criterion, reason := p.variantFor(in)
	return variant != nil, criterion, reason
}

// variantFor returns the code for a request. If there is none, criterion and reason explain it; if
// only the reason is set, the answer is not known.
func (p *kyvernoPolicy) variantFor(in *input) (variant *kyvernoVariant, criterion, reason string) {
	if p.namespace != "" && in.attributes.GetNamespace() != p.namespace {
		return nil, "metadata.namespace", fmt.Sprintf("the policy is about namespace %q alone", p.namespace)
	}
	for _, v := range p.variants {
		matches, unmet, why := v.criteria.match(in)
		switch {
		case matches:
			return v, "", ""
		case unmet == "":
			return nil, "", why
		case reason == "" || unmet != "resourceRules": // the most helpful reason
			criterion, reason = "matchConstraints."+unmet, why
		}
	}
	return nil, criterion, reason
}

// Evaluate implements definition.Evaluator.
func (p *kyvernoPolicy) Evaluate(ctx context.Context, request *definition.CheckRequest) (result definition.CheckResult) {
	in := inputOf(request, false)
	variant, _, _ := p.variantFor(in)
	if variant == nil {
		return result
	}
	e, err := p.start(ctx, in, variant, request.MaxSteps)
	if err != nil {
		result.Findings = []definition.CheckFinding{{Words: err.Error(), Location: locationIn(p.Object, nil), Error: true, Effects: p.effects}}
		return result
	}
	out := e.run()
	result.Steps, result.Undecided = e.cost, out.undecided
	for _, d := range out.decisions {
		finding := definition.CheckFinding{
			Words: d.message, Location: locationIn(p.Object, d.path), Code: codeOf(d.reason),
			Error: d.isError, Limit: d.limit, Effects: p.effects,
		}
		if len(out.annotations) > 0 {
			finding.Details = map[string]any{"auditAnnotations": out.annotations}
		}
		result.Findings = append(result.Findings, finding)
	}
	if request.Explain {
		result.Outcomes = e.explain(out)
	}
	return result
}

// kyvernoEvaluation is one evaluation of a policy. It is used by one goroutine.
type kyvernoEvaluation struct {
	*kyvernoPolicy
	ctx     context.Context
	in      *input
	variant *kyvernoVariant
	values  map[string]any

	cost, budget int64
}

// start returns an evaluation. An object that a request lacks has no fields, as in Kyverno; it is
// not null.
func (p *kyvernoPolicy) start(ctx context.Context, in *input, variant *kyvernoVariant, maxSteps int64) (*kyvernoEvaluation, error) {
	request, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in.request)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	e := &kyvernoEvaluation{kyvernoPolicy: p, ctx: ctx, in: in, variant: variant, budget: celconfig.RuntimeCELCostBudget}
	if maxSteps > 0 {
		e.budget = min(e.budget, maxSteps)
	}
	e.values = map[string]any{plugincel.RequestVarName: request, plugincel.NamespaceVarName: nil}
	for name, object := range map[string]runtime.Object{plugincel.ObjectVarName: in.attributes.VersionedObject, plugincel.OldObjectVarName: in.attributes.VersionedOldObject} {
		fields := fieldsOf(object)
		request[name] = fields
		if fields == nil {
			fields = map[string]any{}
		}
		e.values[name] = fields
	}
	if in.namespace != nil {
		if e.values[plugincel.NamespaceVarName], err = runtime.DefaultUnstructuredConverter.ToUnstructured(in.namespace); err != nil {
			return nil, fmt.Errorf("reading the Namespace: %w", err)
		}
	}
	return e, nil
}

// evaluate evaluates an expression within the budget of the policy.
func (e *kyvernoEvaluation) evaluate(one compiledExpression) (ref.Val, error) {
	if e.cost >= e.budget {
		return nil, fmt.Errorf("%w: the expressions of the policy exceed its cost limit", apiservercel.ErrOutOfBudget)
	}
	value, details, err := one.ContextEval(e.ctx, e.values)
	if details != nil && details.ActualCost() != nil {
		e.cost += int64(*details.ActualCost())
	}
	if err == nil && e.cost > e.budget {
		err = fmt.Errorf("%w: the expressions of the policy exceed its cost limit", apiservercel.ErrOutOfBudget)
	}
	return value, err
}

// run evaluates the exceptions, the match conditions and then the validations, of which the first
// that is not true decides.
func (e *kyvernoEvaluation) run() (out outcome) {
	out.unmatched = -1
	if e.isExempted(&out) || !e.matches(e.variant.conditions, &out) {
		return out
	}
	variables := lazy.NewMapValue(variablesType)
	e.values[plugincel.VariableVarName] = variables
	for _, one := range e.variant.variables {
		variables.Append(one.Name, func(*lazy.MapValue) ref.Val {
			value, err := e.evaluate(one)
			if err != nil {
				return celtypes.WrapErr(err)
			}
			return value
		})
	}
	for _, v := range e.variant.validations {
		value, err := e.evaluate(v.compiledExpression)
		if err != nil {
			e.fail(v.Path, err, &out)
			return out
		}
		if value == celtypes.True {
			continue
		}
		if e.annotate(&out); len(out.decisions) == 0 && out.undecided == "" {
			out.decisions = []decision{{path: v.Path, message: e.messageOf(v), reason: v.text.Reason}}
		}
		return out
	}
	e.annotate(&out)
	return out
}

// fail records the error of an expression. It is undecided if it is due to an unknown user.
func (e *kyvernoEvaluation) fail(path []any, err error, out *outcome) {
	if e.in.needsUser(err) {
		out.undecided = messageAnonymous
		return
	}
	out.decisions = append(out.decisions, errorDecision(path, err))
}

// isExempted evaluates the exceptions. One without values exempts the object, or decides by an
// error; the others provide values to expressions.
func (e *kyvernoEvaluation) isExempted(out *outcome) bool {
	allowed, wrong := functions.Exceptions{AllowedImages: []string{}, AllowedValues: []string{}}, outcome{}
	for _, exception := range e.exceptions {
		found := outcome{unmatched: -1}
		if !e.matches(exception.conditions, &found) {
			if len(wrong.decisions) == 0 && wrong.undecided == "" {
				wrong = found
			}
			continue
		}
		if len(exception.spec.Images)+len(exception.spec.AllowedValues) == 0 && len(wrong.decisions) == 0 {
			return true
		}
		allowed.AllowedImages = append(allowed.AllowedImages, exception.spec.Images...)
		allowed.AllowedValues = append(allowed.AllowedValues, exception.spec.AllowedValues...)
	}
	for _, d := range wrong.decisions {
		d.path = nil // it is not one of the policy
		d.message = "a PolicyException cannot be evaluated: " + d.message
		out.decisions = append(out.decisions, d)
	}
	out.undecided = wrong.undecided
	e.values[functions.ExceptionsVariable] = allowed
	return len(out.decisions) > 0 || out.undecided != ""
}

// matches reports whether all conditions are true. A false one decides, even if others fail. With
// failurePolicy Ignore, conditions that fail are false.
func (e *kyvernoEvaluation) matches(conditions []compiledExpression, out *outcome) bool {
	var errs []error
	var path []any
	for i, one := range conditions {
		value, err := e.evaluate(one)
		switch {
		case err != nil && e.in.needsUser(err):
			out.undecided = messageAnonymous
		case err != nil:
			errs, path = append(errs, err), one.Path
		case value != celtypes.True:
			out.leavesOut(i)
			return false
		}
	}
	if out.undecided != "" || len(errs) == 0 {
		return out.undecided == ""
	}
	if ignore, _ := failurePolicyOf(e.spec.FailurePolicy); !ignore {
		out.decisions = []decision{errorDecision(path, utilerrors.NewAggregate(errs))}
	}
	return false
}

// annotate evaluates the audit annotations. An error replaces the decision.
func (e *kyvernoEvaluation) annotate(out *outcome) {
	for _, one := range e.variant.annotations {
		value, err := e.evaluate(one)
		if text, ok := value.(celtypes.String); err == nil && ok {
			if text != "" {
				out.annotations = append(out.annotations, one.Name+": "+string(text))
			}
			continue
		}
		if err == nil {
			err = fmt.Errorf("the value of audit annotation %q is null, not a string", one.Name)
		}
		e.fail(one.Path, err, out)
		return
	}
}

// messageOf is the message of a validation that is false.
func (e *kyvernoEvaluation) messageOf(v kyvernoValidation) string {
	if v.message != nil {
		value, err := e.evaluate(*v.message)
		if text, ok := value.(celtypes.String); err == nil && ok && strings.TrimSpace(string(text)) != "" {
			return string(text)
		}
	}
	if v.text.Message != "" {
		return v.text.Message
	}
	return "failed expression: " + strings.TrimSpace(v.Text)
}

// explain records the values of the parts of expressions.
func (e *kyvernoEvaluation) explain(out outcome) (outcomes []definition.CheckOutcome) {
	tracer := traceWith(kyvernoEnvironment.tracing, e.values, e.variant.texts)
	if out.unmatched >= 0 {
		return []definition.CheckOutcome{tracer.outcome(e.Object, e.variant.conditions[out.unmatched].Expression)}
	}
	for _, v := range e.variant.validations {
		one := tracer.outcome(e.Object, v.Expression)
		one.Violated = len(one.Conditions) > 0 && !one.Conditions[0].Holds
		outcomes = append(outcomes, one)
	}
	return outcomes
}
