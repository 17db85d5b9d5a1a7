package cel

import (
	"fmt"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// The compiler of the API server builds eight environments for each policy, one for each
// combination of variables: 0.5 MB that stay as long as the policy. This one has the same
// variables, functions and costs. It shares an environment among all policies with the same
// variables, and refuses variables that an expression must not read.

// environments are shared by all policies.
var environments = struct {
	sync.Mutex
	of map[plugincel.OptionalVariableDeclarations]*environment.EnvSet
}{of: map[plugincel.OptionalVariableDeclarations]*environment.EnvSet{}}

// environmentFor returns the environment with some variables.
func environmentFor(declared plugincel.OptionalVariableDeclarations) (*environment.EnvSet, error) {
	environments.Lock()
	defer environments.Unlock()
	if known := environments.of[declared]; known != nil {
		return known, nil
	}
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	options := []celgo.EnvOption{
		celgo.Variable(plugincel.ObjectVarName, celgo.DynType), celgo.Variable(plugincel.OldObjectVarName, celgo.DynType),
		celgo.Variable(plugincel.NamespaceVarName, namespace.CelType()), celgo.Variable(plugincel.RequestVarName, request.CelType()),
	}
	if declared.HasParams {
		options = append(options, celgo.Variable(plugincel.ParamsVarName, celgo.DynType))
	}
	if declared.HasAuthorizer {
		options = append(options, celgo.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
			celgo.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType))
	}
	extended, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options,
		DeclTypes: []*apiservercel.DeclType{namespace, request},
	}, environment.StrictCostOpt)
	if err != nil {
		return nil, fmt.Errorf("building the environment of CEL: %w", err)
	}
	environments.of[declared] = extended
	return extended, nil
}

// newCompiler returns the compiler of a policy. Its environment has all variables that any of the
// policy's expressions may read.
func newCompiler(spec Spec) (*plugincel.CompositedCompiler, error) {
	declared, err := environmentFor(plugincel.OptionalVariableDeclarations{HasParams: spec.Params || spec.ParamsInVariables, HasAuthorizer: spec.Authorizer})
	if err != nil {
		return nil, err
	}
	composited, err := plugincel.NewCompositedCompilerForTypeChecking(declared)
	if err != nil {
		return nil, fmt.Errorf("building the environment of CEL: %w", err)
	}
	composited.Compiler = &compiler{composited}
	return composited, nil
}

// compiler compiles single expressions of a policy.
type compiler struct{ *plugincel.CompositedCompiler }

// CompileCELExpression implements the interface of the API server's package.
func (c *compiler) CompileCELExpression(expression plugincel.ExpressionAccessor, declared plugincel.OptionalVariableDeclarations, mode environment.Type) plugincel.CompilationResult {
	result := plugincel.CompilationResult{ExpressionAccessor: expression}
	fail := func(kind apiservercel.ErrorType, cause error, format string, args ...any) plugincel.CompilationResult {
		result.Error = &apiservercel.Error{Type: kind, Detail: fmt.Sprintf(format, args...), Cause: cause}
		return result
	}
	environment, err := c.Env(mode)
	if err != nil {
		return fail(apiservercel.ErrorTypeInternal, nil, "unexpected error loading CEL environment: %v", err)
	}
	checked, issues := environment.Compile(expression.GetExpression())
	if issues != nil {
		return fail(apiservercel.ErrorTypeInvalid, apiservercel.NewCompilationError(issues), "compilation failed: %s", issues)
	}
	for name, allowed := range map[string]bool{plugincel.ParamsVarName: declared.HasParams, plugincel.AuthorizerVarName: declared.HasAuthorizer} {
		if !allowed && readsVariable(checked, name) {
			return fail(apiservercel.ErrorTypeInvalid, nil, "undeclared reference to '%s'", name)
		}
	}
	types := expression.ReturnTypes()
	for _, one := range types {
		if !checked.OutputType().IsExactType(one) && !celgo.AnyType.IsExactType(one) {
			continue
		}
		program, err := environment.Program(checked, celgo.InterruptCheckFrequency(celconfig.CheckFrequency))
		if err != nil {
			return fail(apiservercel.ErrorTypeInternal, nil, "program instantiation failed: %v", err)
		}
		result.Program, result.OutputType = program, checked.OutputType()
		return result
	}
	if len(types) == 1 {
		return fail(apiservercel.ErrorTypeInvalid, nil, "must evaluate to %s but got %s", types[0], checked.OutputType())
	}
	return fail(apiservercel.ErrorTypeInvalid, nil, "must evaluate to one of %v but got %s", types, checked.OutputType())
}

// readsVariable reports whether an expression reads a variable of its policy: not one of its own
// loops.
func readsVariable(checked *celgo.Ast, name string) bool {
	found := false
	for _, reference := range checked.NativeRep().ReferenceMap() {
		found = found || reference.Name == name || strings.HasPrefix(reference.Name, name+".")
	}
	if !found {
		return false
	}
	own := false // a loop has a variable of this name: the references do not tell them apart
	celast.PostOrderVisit(checked.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() == celast.ComprehensionKind {
			own = own || e.AsComprehension().IterVar() == name || e.AsComprehension().IterVar2() == name
		}
	}))
	return !own
}
