package cel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	celtypes "github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/lintel-policy/lintel/policies/eval"
)

// decision is a violation of a validation, or an error. The API server decides in the same
// way (k8s.io/apiserver/pkg/admission/plugin/policy/validating), and the end-to-end tests compare
// both.
type decision struct {
	// path is that of the expression: nil if the error is not about a single one.
	path    []any
	message string
	reason  metav1.StatusReason
	isError bool
	limit   string
	// code is the HTTP status, unless it follows from the reason.
	code int
	// always reports that the decision denies regardless of the actions of a binding.
	always bool
}

// outcome is the result of a program for one binding and one params object.
type outcome struct {
	// unmatched is the index of the match condition that is false; -1 if all are true.
	unmatched int
	decisions []decision
	// annotations are the audit annotations, as "key: value".
	annotations []string
	// undecided is set if the result depends on the authorizer.
	undecided string
	cost      int64
}

// messageAuthorizer is the reason of a policy that depends on the authorizer.
const messageAuthorizer = "it calls the authorizer, which only an API server can answer"

// messageAnonymous is the reason of a policy that depends on a user who is not known.
const messageAnonymous = "it reads request.userInfo, and the request names no user: set one with --as"

// userFields are the fields of request.userInfo.
var userFields = []string{"username", "groups", "uid", "extra"}

// needsUser reports whether an error is due to an unknown user.
func (in *input) needsUser(err error) bool {
	return in.anonymous && slices.ContainsFunc(userFields, func(field string) bool {
		return strings.HasSuffix(err.Error(), "no such key: "+field)
	})
}

// errorDecision is the decision of an expression that failed.
func errorDecision(path []any, err error) decision {
	d := decision{path: path, message: err.Error(), isError: true}
	if errors.Is(err, apiservercel.ErrOutOfBudget) || strings.Contains(err.Error(), "cost limit exceeded") {
		d.limit = eval.LimitSteps
	}
	return d
}

// evaluate evaluates the program for a request. maxSteps bounds its cost below the budget, unless it
// is 0.
func (p *Program) evaluate(ctx context.Context, in *input, params runtime.Object, maxSteps int64) outcome {
	out := outcome{unmatched: -1}
	budget := p.spec.Budget
	if maxSteps > 0 {
		budget = min(budget, maxSteps)
	}
	authorizer := &noAuthorizer{}
	bindings := plugincel.OptionalVariableBindings{VersionedParams: params, Authorizer: authorizer}
	if !p.evaluateMatchConditions(ctx, in, bindings, authorizer, &out) {
		return out.withErrorsAs(p.spec)
	}
	namespace := plugincel.CreateNamespaceObject(in.namespace)
	run := func(e plugincel.ConditionEvaluator, bindings plugincel.OptionalVariableBindings, budget int64) ([]plugincel.EvaluationResult, int64, error) {
		// As in the API server, variables are computed again for each group of expressions.
		return e.ForInput(p.compiler.CreateContext(ctx), in.attributes, in.request, bindings, namespace, budget)
	}
	results, left, err := run(p.validations, bindings, budget)
	if err != nil {
		out.cost += budget
		out.add(authorizer.wasCalled(), errorDecision(nil, err))
		return out.withErrorsAs(p.spec)
	}
	out.cost += budget - left
	messages, _, messageErr := run(p.messages, plugincel.OptionalVariableBindings{VersionedParams: params}, left)
	for i, result := range results {
		v := p.spec.Validations[i]
		uncertain := authorizer.wasCalled() && p.uncertain[v.Text]
		switch {
		case result.Error != nil && in.needsUser(result.Error):
			out.undecided = messageAnonymous
		case result.Error != nil:
			out.add(uncertain, errorDecision(v.Path, result.Error))
		case messageErr != nil && (errors.Is(messageErr, apiservercel.ErrInternal) || errors.Is(messageErr, apiservercel.ErrOutOfBudget)):
			out.add(uncertain, errorDecision(v.Path, fmt.Errorf("failed messageExpression: %w", messageErr)))
		case result.EvalResult != celtypes.True:
			var message *plugincel.EvaluationResult
			if i < len(messages) {
				message = &messages[i]
			}
			out.add(uncertain, decision{path: v.Path, message: v.messageFor(message), reason: v.Reason})
		case uncertain:
			out.undecided = messageAuthorizer
		}
	}
	p.evaluateAnnotations(in, run, bindings, authorizer, &out)
	return out.withErrorsAs(p.spec)
}

// add adds a decision. If it depends on the authorizer, the policy is undecided instead.
func (o *outcome) add(uncertain bool, d decision) {
	if uncertain {
		o.undecided = messageAuthorizer
		return
	}
	o.decisions = append(o.decisions, d)
}

// withErrorsAs applies the failure policy of the code.
func (o outcome) withErrorsAs(spec Spec) outcome {
	if spec.IgnoreErrors {
		o.decisions = slices.DeleteFunc(o.decisions, func(d decision) bool { return d.isError })
	}
	return o
}

// evaluateMatchConditions reports whether all match conditions are true. A false one decides, even
// if others fail.
func (p *Program) evaluateMatchConditions(ctx context.Context, in *input, bindings plugincel.OptionalVariableBindings, authorizer *noAuthorizer, out *outcome) bool {
	const budget = celconfig.RuntimeCELCostBudgetMatchConditions
	// The API server evaluates match conditions without the Namespace object.
	results, left, err := p.matchConditions.ForInput(p.compiler.CreateContext(ctx), in.attributes, in.request, bindings, nil, budget)
	if err != nil {
		out.cost += budget
		out.add(authorizer.wasCalled(), errorDecision(nil, err))
		return false
	}
	out.cost += budget - left
	var errs []error
	var path []any
	for i, result := range results {
		condition := p.spec.MatchConditions[i]
		uncertain := authorizer.wasCalled() && p.uncertain[condition.Text]
		switch {
		case uncertain:
			out.undecided = messageAuthorizer
		case result.Error != nil && in.needsUser(result.Error):
			out.undecided = messageAnonymous
		case result.Error != nil:
			errs, path = append(errs, result.Error), condition.Path
		case result.EvalResult == celtypes.False:
			return !out.leavesOut(i)
		}
	}
	if out.undecided != "" {
		return false
	}
	if len(errs) > 0 {
		d := errorDecision(path, utilerrors.NewAggregate(errs))
		out.decisions = append(out.decisions, d)
	}
	return len(errs) == 0
}

// leavesOut records a match condition that is false.
func (o *outcome) leavesOut(condition int) bool {
	o.unmatched, o.undecided, o.decisions = condition, "", nil
	return true
}

// evaluateAnnotations evaluates the audit annotations.
func (p *Program) evaluateAnnotations(in *input, run func(plugincel.ConditionEvaluator, plugincel.OptionalVariableBindings, int64) ([]plugincel.EvaluationResult, int64, error), bindings plugincel.OptionalVariableBindings, authorizer *noAuthorizer, out *outcome) {
	if len(p.spec.AuditAnnotations) == 0 {
		return
	}
	results, left, err := run(p.auditAnnotations, bindings, p.spec.Budget)
	if err != nil {
		out.decisions = []decision{errorDecision(nil, err)}
		return
	}
	out.cost += p.spec.Budget - left
	for i, result := range results {
		annotation := p.spec.AuditAnnotations[i]
		uncertain := authorizer.wasCalled() && p.uncertain[annotation.Text]
		if result.Error != nil && in.needsUser(result.Error) {
			out.undecided = messageAnonymous
			continue
		}
		if result.Error != nil {
			d := errorDecision(annotation.Path, result.Error)
			d.always = true
			out.add(uncertain, d)
			continue
		}
		if text, isText := result.EvalResult.Value().(string); isText && !uncertain && strings.TrimSpace(text) != "" {
			out.annotations = append(out.annotations, annotation.Name+": "+strings.TrimSpace(text))
		}
	}
}

// messageFor is the message of a validation that is false.
func (v Validation) messageFor(evaluated *plugincel.EvaluationResult) string {
	message := ""
	if evaluated != nil && evaluated.Error == nil && evaluated.EvalResult != nil {
		if text, ok := evaluated.EvalResult.Value().(string); ok {
			message = strings.TrimSpace(text)
			if len(message) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(message, "\n") {
				message = ""
			}
		}
	}
	if message == "" {
		message = strings.TrimSpace(v.Message)
	}
	if message == "" {
		message = "failed expression: " + strings.TrimSpace(v.Text)
	}
	return message
}

// codeOf is the HTTP status of a reason.
func codeOf(reason metav1.StatusReason) int {
	switch reason {
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusUnprocessableEntity
	}
}
