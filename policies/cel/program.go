package cel

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Expression is an expression with its path in the object that contains it.
type Expression struct {
	// Name is the name of a variable, a match condition or an audit annotation.
	Name string
	Text string
	Path []any
}

// Validation is an expression that must be true.
type Validation struct {
	Expression
	Message string
	// MessageExpression has an empty Text if there is none.
	MessageExpression Expression
	Reason            metav1.StatusReason
}

// Spec is the code of a policy.
type Spec struct {
	Variables, MatchConditions, AuditAnnotations []Expression
	Validations                                  []Validation
	// Mutations are those of a MutatingAdmissionPolicy.
	Mutations []Mutation
	// Params declares the variable params: for all expressions, or only for variables.
	Params, ParamsInVariables bool
	// Authorizer declares the variables authorizer and authorizer.requestResource.
	Authorizer bool
	// IgnoreErrors is failurePolicy Ignore.
	IgnoreErrors bool
	// Budget is the cost of all validations together; 0 is that of a binding in the API server.
	Budget int64
}

// Program is the compiled code of a policy. It is safe for concurrent use.
type Program struct {
	spec     Spec
	compiler *plugincel.CompositedCompiler

	matchConditions, validations, messages, auditAnnotations plugincel.ConditionEvaluator
	// mutations are the compiled spec.Mutations.
	mutations *mutations
	// uncertain are the texts of expressions that may call the authorizer.
	uncertain map[string]bool
	reads     reads
}

// ExpressionError is an error in an expression.
type ExpressionError struct {
	Path []any
	// Line is the line within the text, from 0.
	Line    int
	Message string
}

// accessor is an expression for the compiler of the API server.
type accessor struct {
	Expression
	types []*celgo.Type
}

// GetExpression returns the text.
func (a *accessor) GetExpression() string { return a.Text }

// ReturnTypes returns the types that the expression may have.
func (a *accessor) ReturnTypes() []*celgo.Type { return a.types }

// GetName returns the name of a variable.
func (a *accessor) GetName() string { return a.Name }

// Compile compiles the code of a policy.
func Compile(spec Spec) (*Program, []ExpressionError) {
	if spec.Budget == 0 {
		spec.Budget = celconfig.RuntimeCELCostBudget
	}
	compiler, err := newCompiler(spec)
	if err != nil {
		return nil, []ExpressionError{{Message: err.Error()}}
	}
	p := &Program{spec: spec, compiler: compiler, uncertain: map[string]bool{}}
	variables := plugincel.OptionalVariableDeclarations{HasParams: spec.Params || spec.ParamsInVariables, HasAuthorizer: spec.Authorizer}
	all := plugincel.OptionalVariableDeclarations{HasParams: spec.Params, HasAuthorizer: spec.Authorizer}
	messages := plugincel.OptionalVariableDeclarations{HasParams: spec.Params}
	var errs []ExpressionError
	for _, v := range spec.Variables {
		a := &accessor{v, []*celgo.Type{celgo.AnyType, celgo.DynType}}
		result := compiler.CompileAndStoreVariable(a, variables, environment.StoredExpressions)
		errs = append(errs, errorsOf(v, result)...)
	}
	compile := func(list []Expression, declarations plugincel.OptionalVariableDeclarations, types ...*celgo.Type) plugincel.ConditionEvaluator {
		results := make([]plugincel.CompilationResult, len(list))
		for i, e := range list {
			if e.Text == "" {
				continue // the message of a validation without a messageExpression
			}
			results[i] = compiler.CompileCELExpression(&accessor{e, types}, declarations, environment.StoredExpressions)
			errs = append(errs, errorsOf(e, results[i])...)
		}
		return plugincel.NewCondition(results)
	}
	validations, texts := make([]Expression, len(spec.Validations)), make([]Expression, len(spec.Validations))
	for i, v := range spec.Validations {
		validations[i], texts[i] = v.Expression, v.MessageExpression
	}
	p.matchConditions = compile(spec.MatchConditions, all, celgo.BoolType)
	p.validations = compile(validations, all, celgo.BoolType)
	p.messages = compile(texts, messages, celgo.StringType)
	p.auditAnnotations = compile(spec.AuditAnnotations, all, celgo.StringType, celgo.NullType)
	var changes []Expression
	if len(spec.Mutations) > 0 {
		var wrong []ExpressionError
		p.mutations, wrong = compileMutations(spec)
		errs = append(errs, wrong...)
		for _, m := range spec.Mutations {
			changes = append(changes, m.Expression)
		}
	}
	if len(errs) == 0 && spec.Authorizer {
		errs = p.findAuthorizer(slices.Concat(spec.MatchConditions, validations, spec.AuditAnnotations, changes))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	p.reads = p.readsOf()
	return p, nil
}

// errorsOf returns the errors of a compiled expression.
func errorsOf(e Expression, result plugincel.CompilationResult) (errs []ExpressionError) {
	if result.Error == nil {
		return nil
	}
	compilation, ok := errors.AsType[*apiservercel.CompilationError](result.Error.Cause)
	if !ok {
		return []ExpressionError{{Path: e.Path, Message: result.Error.Detail}}
	}
	for _, issue := range compilation.Issues.Errors() {
		message := strings.ReplaceAll(issue.Message, " (in container '')", "")
		errs = append(errs, ExpressionError{Path: e.Path, Line: max(issue.Location.Line()-1, 0), Message: message})
	}
	return errs
}

// findAuthorizer records the expressions that may call the authorizer, themselves or by variables.
func (p *Program) findAuthorizer(expressions []Expression) []ExpressionError {
	environment, err := p.compiler.Env(environment.StoredExpressions)
	if err != nil {
		return []ExpressionError{{Message: err.Error()}}
	}
	variables := map[string]bool{}
	calls := func(e Expression) bool {
		parsed, issues := environment.Parse(e.Text)
		if issues.Err() != nil {
			return false // compiled already
		}
		found := false
		celast.PostOrderVisit(parsed.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
			switch e.Kind() {
			case celast.IdentKind:
				found = found || e.AsIdent() == plugincel.AuthorizerVarName
			case celast.SelectKind:
				of := e.AsSelect().Operand()
				found = found || of.Kind() == celast.IdentKind && of.AsIdent() == plugincel.VariableVarName && variables[e.AsSelect().FieldName()]
			}
		}))
		return found
	}
	for _, v := range p.spec.Variables {
		variables[v.Name] = calls(v)
	}
	for _, e := range expressions {
		p.uncertain[e.Text] = calls(e)
	}
	return nil
}

// failurePolicyOf reports whether errors are ignored, or returns an error for an unknown value.
func failurePolicyOf(policy *v1.FailurePolicyType) (ignore bool, err error) {
	switch {
	case policy == nil, *policy == v1.Fail:
		return false, nil
	case *policy == v1.Ignore:
		return true, nil
	default:
		return false, fmt.Errorf("%q is not one of Fail, Ignore", *policy)
	}
}

// ReadsNamespace reports whether an expression may read the Namespace object.
func (p *Program) ReadsNamespace() bool {
	lists := [][]Expression{p.spec.Variables, p.spec.AuditAnnotations}
	for _, v := range p.spec.Validations {
		lists = append(lists, []Expression{v.Expression, v.MessageExpression})
	}
	for _, m := range p.spec.Mutations {
		lists = append(lists, []Expression{m.Expression})
	}
	return slices.ContainsFunc(slices.Concat(lists...), func(e Expression) bool {
		return strings.Contains(e.Text, plugincel.NamespaceVarName)
	})
}
