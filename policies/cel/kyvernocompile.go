package cel

import (
	"fmt"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/lintel-policy/lintel/policies/cel/functions"
	"github.com/lintel-policy/lintel/policies/definition"
)

// compiledExpression is an expression with its program.
type compiledExpression struct {
	Expression
	celgo.Program
}

// kyvernoVariant is the compiled code of a policy for Pods, or for workloads with Pod templates.
type kyvernoVariant struct {
	criteria criteria
	texts    []Expression // of the variables

	conditions, variables, annotations []compiledExpression
	validations                        []kyvernoValidation
}

type kyvernoValidation struct {
	compiledExpression
	text    Validation
	message *compiledExpression // nil without a messageExpression
}

// kyvernoEnvironment is shared by all policies. Its lock guards the types of variables, which are
// those of one policy during its compilation.
var kyvernoEnvironment struct {
	sync.Mutex
	*celgo.Env
	// tracing parses expressions for explanations. It needs no lock.
	tracing   *celgo.Env
	variables *variableTypes
}

// variableTypes is a type provider with the variables of one policy.
type variableTypes struct {
	celtypes.Provider
	fields map[string]*celgo.Type
}

// variablesType is the type of the object that contains the variables.
var variablesType = celtypes.NewObjectType("kyverno.variables")

// FindStructType implements types.Provider.
func (v *variableTypes) FindStructType(name string) (*celgo.Type, bool) {
	if name == variablesType.TypeName() {
		return celtypes.NewTypeTypeWithParam(variablesType), true
	}
	return v.Provider.FindStructType(name)
}

// FindStructFieldType implements types.Provider.
func (v *variableTypes) FindStructFieldType(name, field string) (*celtypes.FieldType, bool) {
	if name != variablesType.TypeName() {
		return v.Provider.FindStructFieldType(name, field)
	}
	found, ok := v.fields[field]
	return &celtypes.FieldType{Type: found}, ok
}

// NewValue implements types.Provider.
func (v *variableTypes) NewValue(name string, fields map[string]ref.Val) ref.Val {
	return v.Provider.NewValue(name, fields)
}

// lockKyverno locks the environment, which it builds for the first policy.
func lockKyverno() error {
	e := &kyvernoEnvironment
	e.Lock()
	if e.Env != nil {
		return nil
	}
	built, variables, err := newKyvernoEnvironment()
	if err == nil {
		e.tracing, err = built.Extend(celgo.EnableMacroCallTracking())
	}
	if err != nil {
		e.Unlock()
		return fmt.Errorf("building the environment of Kyverno's CEL: %w", err)
	}
	e.Env, e.variables = built, variables
	return nil
}

// newKyvernoEnvironment extends the environment of the API server.
func newKyvernoEnvironment() (*celgo.Env, *variableTypes, error) {
	base, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil, nil, err
	}
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	for _, name := range []string{plugincel.ObjectVarName, plugincel.OldObjectVarName} {
		request.Fields[name] = apiservercel.NewDeclField(name, apiservercel.DynType, false, nil, nil)
	}
	variables := &variableTypes{Provider: base.CELTypeProvider(), fields: map[string]*celgo.Type{}}
	declared, err := apiservercel.NewDeclTypeProvider(namespace, request).EnvOptions(variables)
	if err != nil {
		return nil, nil, err
	}
	options := []celgo.EnvOption{
		ext.Bindings(), ext.Encoders(), ext.Lists(ext.ListsVersion(3)), ext.Math(), ext.Protos(), ext.Regex(ext.RegexVersion(1)),
		celgo.Variable(plugincel.ObjectVarName, celgo.DynType), celgo.Variable(plugincel.OldObjectVarName, celgo.DynType),
		celgo.Variable(plugincel.NamespaceVarName, namespace.CelType()), celgo.Variable(plugincel.RequestVarName, request.CelType()),
		celgo.Variable(plugincel.VariableVarName, variablesType),
		celgo.Types(namespace.CelType()), celgo.Types(request.CelType()),
	}
	options = append(options, declared...)
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: append(options, functions.Options()...),
		ProgramOptions: []celgo.ProgramOption{celgo.CostTracking(&functions.Costs{})},
	})
	if err != nil {
		return nil, nil, err
	}
	built, err := set.Env(environment.StoredExpressions)
	return built, variables, err
}

// compileKyverno compiles a policy and its exceptions.
func (f *kyvernoFolder) compileKyverno(p *kyvernoPolicy) bool {
	if err := lockKyverno(); err != nil {
		f.fail(errorAt(p.Object, "%v", err))
		return false
	}
	defer kyvernoEnvironment.Unlock()
	before := len(f.errs)
	for i, code := range p.codes() {
		variant := &kyvernoVariant{criteria: newCriteria(code.match)}
		errs := variant.compile(code.kyvernoSpec)
		for _, err := range errs {
			found := LocateError(p.Object, err)
			if i > 0 {
				found.Message += " (in the code for Pod templates: leave it out with autogen.podControllers.controllers: [])"
			}
			f.fail(found)
		}
		if len(errs) > 0 {
			return false // the code for Pod templates has the same errors
		}
		p.variants = append(p.variants, variant)
	}
	for _, e := range p.exceptions {
		if e.conditions != nil {
			continue
		}
		compiler := &kyvernoCompiler{}
		kyvernoEnvironment.variables.fields = nil
		e.conditions = compiler.conditions(e.spec.MatchConditions)
		for _, err := range compiler.errs {
			f.fail(LocateError(e.Object, err))
		}
	}
	return len(f.errs) == before
}

// kyvernoCompiler compiles expressions and collects their errors.
type kyvernoCompiler struct{ errs []ExpressionError }

// compile compiles an expression, whose type must be one of some unless there are none.
func (c *kyvernoCompiler) compile(e Expression, types ...*celgo.Type) (out compiledExpression, output *celgo.Type) {
	out.Expression = e
	fail := func(line int, format string, args ...any) {
		c.errs = append(c.errs, ExpressionError{Path: e.Path, Line: line, Message: fmt.Sprintf(format, args...)})
	}
	environment := kyvernoEnvironment.Env
	parsed, issues := environment.Parse(e.Text)
	if issues.Err() == nil {
		if call, refusal := functions.RefusedCall(parsed.NativeRep().Expr()); call != nil {
			fail(max(parsed.NativeRep().SourceInfo().GetStartLocation(call.ID()).Line()-1, 0), "%s", refusal)
			return out, celgo.DynType
		}
	}
	checked, issues := environment.Compile(e.Text)
	if issues.Err() != nil {
		refused := false
		for _, issue := range issues.Errors() {
			message := strings.ReplaceAll(issue.Message, " (in container '')", "")
			if refusal := functions.Refusal(message, e.Text); refusal != "" {
				message, refused = refusal, true
			} else if refused {
				continue // the functions of a refused variable are not known, either
			}
			fail(max(issue.Location.Line()-1, 0), "%s", message)
		}
		return out, celgo.DynType
	}
	if output = checked.OutputType(); len(types) > 0 && !isOneOf(output, types) {
		names := make([]string, len(types))
		for i, one := range types {
			names[i] = one.String()
		}
		fail(0, "must evaluate to %s but got %s", strings.Join(names, " or "), output)
		return out, output
	}
	compiled, err := environment.Program(checked, celgo.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		fail(0, "program instantiation failed: %v", err)
	}
	out.Program = compiled
	return out, output
}

func isOneOf(output *celgo.Type, types []*celgo.Type) bool {
	for _, one := range types {
		if output.IsExactType(one) {
			return true
		}
	}
	return false
}

// conditions compiles match conditions, which read no variables.
func (c *kyvernoCompiler) conditions(conditions []matchCondition) (out []compiledExpression) {
	for i, condition := range conditions {
		one, _ := c.compile(Expression{condition.Name, condition.Expression, []any{"spec", "matchConditions", i, "expression"}}, celgo.BoolType)
		out = append(out, one)
	}
	return out
}

// compile compiles the code of a policy. A variable reads those before it.
func (v *kyvernoVariant) compile(spec kyvernoSpec) []ExpressionError {
	c, known := &kyvernoCompiler{}, map[string]*celgo.Type{}
	kyvernoEnvironment.variables.fields = known
	v.conditions = c.conditions(spec.MatchConditions)
	for i, variable := range spec.Variables {
		text := Expression{variable.Name, variable.Expression, []any{"spec", "variables", i, "expression"}}
		one, output := c.compile(text)
		known[variable.Name] = output
		v.variables, v.texts = append(v.variables, one), append(v.texts, text)
	}
	for i, validation := range spec.Validations {
		one := kyvernoValidation{text: Validation{Message: validation.Message}}
		one.text.Expression = Expression{Text: validation.Expression, Path: []any{"spec", "validations", i, "expression"}}
		one.compiledExpression, _ = c.compile(one.text.Expression, celgo.BoolType)
		if validation.Reason != nil {
			one.text.Reason = *validation.Reason
		}
		if validation.MessageExpression != "" {
			message, _ := c.compile(Expression{Text: validation.MessageExpression, Path: []any{"spec", "validations", i, "messageExpression"}}, celgo.StringType)
			one.message = &message
		}
		v.validations = append(v.validations, one)
	}
	for i, a := range spec.AuditAnnotations {
		one, _ := c.compile(Expression{a.Key, a.ValueExpression, []any{"spec", "auditAnnotations", i, "valueExpression"}}, celgo.StringType, celgo.NullType)
		v.annotations = append(v.annotations, one)
	}
	return c.errs
}

// readsNamespace reports whether an expression may read the Namespace object.
func (p *kyvernoPolicy) readsNamespace() bool {
	return len(p.textsWith(plugincel.NamespaceVarName)) > 0
}

// textsWith are the expressions of the policy and its exceptions that contain a text.
func (p *kyvernoPolicy) textsWith(text string) (found []Expression) {
	add := func(all []compiledExpression) {
		for _, one := range all {
			if strings.Contains(one.Text, text) {
				found = append(found, one.Expression)
			}
		}
	}
	v := p.variants[0]
	add(v.conditions)
	add(v.variables)
	for _, one := range v.validations {
		add([]compiledExpression{one.compiledExpression})
		if one.message != nil {
			add([]compiledExpression{*one.message})
		}
	}
	add(v.annotations)
	for _, e := range p.exceptions {
		add(e.conditions)
	}
	return found
}

// check returns the policy for the engine.
func (p *kyvernoPolicy) check(name string) *definition.Check {
	var rules []namedRule
	for _, v := range p.variants {
		rules = append(rules, v.criteria.ResourceRules...)
	}
	c := &definition.Check{
		Name: name, Title: p.Annotations[kyvernoGroup+"/title"], Location: definition.Location{File: p.File, Line: p.Line},
		Match: registeredFor(rules, v1.Equivalent), Enforcement: strictestOf(p.effects), ReadsNamespace: p.readsNamespace(),
		Fingerprint: p.fingerprint(), Evaluator: p, Selector: p,
	}
	if p.namespace != "" {
		c.Match.Namespaces = []string{p.namespace}
	}
	e := p.spec.Evaluation
	c.OnlyStored = e != nil && e.Admission.is(false)
	if e != nil && e.Background.is(false) {
		c.NotStored = &definition.Reference{Location: locationIn(p.Object, []any{"spec", "evaluation", "background", "enabled"}), Path: "spec.evaluation.background.enabled"}
	} else if users := p.textsWith("request.userInfo"); len(users) > 0 && !c.OnlyStored {
		c.NotStored = &definition.Reference{Location: locationIn(p.Object, users[0].Path), Path: "request.userInfo"}
	}
	return c
}
