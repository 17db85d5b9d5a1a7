package cel

import (
	"context"
	"errors"
	"fmt"

	celgo "github.com/google/cel-go/cel"
	v1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/kubernetes/scheme"
)

// Mutation is a mutation of a MutatingAdmissionPolicy.
type Mutation struct {
	Expression
	// JSONPatch reports that the expression returns a JSON Patch, as opposed to an apply
	// configuration.
	JSONPatch bool
}

// mutationsOf returns the mutations of a policy that was validated.
func mutationsOf(list []v1.Mutation) (out []Mutation) {
	for i, m := range list {
		field, expression := "applyConfiguration", expressionOf(m.ApplyConfiguration)
		if m.JSONPatch != nil {
			field, expression = "jsonPatch", m.JSONPatch.Expression
		}
		out = append(out, Mutation{Expression{Text: expression, Path: []any{"spec", "mutations", i, field, "expression"}}, m.JSONPatch != nil})
	}
	return out
}

// mutations are compiled with the compiler of the API server: only its environments have the types
// of patches.
type mutations struct {
	compiler *plugincel.CompositedCompiler
	patchers []patch.Patcher
}

// compileMutations compiles the mutations of a policy, with its variables.
func compileMutations(spec Spec) (*mutations, []ExpressionError) {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, []ExpressionError{{Message: fmt.Sprintf("building the environment of CEL: %v", err)}}
	}
	declared := plugincel.OptionalVariableDeclarations{HasParams: spec.Params, HasAuthorizer: spec.Authorizer}
	for _, v := range spec.Variables { // errors are those of Compile
		compiler.CompileAndStoreVariable(&accessor{v, []*celgo.Type{celgo.AnyType, celgo.DynType}}, declared, environment.StoredExpressions)
	}
	declared.HasPatchTypes = true
	m := &mutations{compiler: compiler}
	var errs []ExpressionError
	for _, one := range spec.Mutations {
		var expression plugincel.ExpressionAccessor = &patch.ApplyConfigurationCondition{Expression: one.Text}
		if one.JSONPatch {
			expression = &patch.JSONPatchCondition{Expression: one.Text}
		}
		result := compiler.CompileCELExpression(expression, declared, environment.StoredExpressions)
		errs = append(errs, errorsOf(one.Expression, result)...)
		evaluator := plugincel.NewMutatingEvaluator(result)
		if one.JSONPatch {
			m.patchers = append(m.patchers, patch.NewJSONPatcher(evaluator))
		} else {
			m.patchers = append(m.patchers, patch.NewApplyConfigurationPatcher(evaluator))
		}
	}
	return m, errs
}

// mutated is the result of the mutations of a policy.
type mutated struct {
	outcome
	// skipped reports that the match conditions are not all true.
	skipped bool
	// applied reports that a mutation was applied, and object is the object after the last one.
	applied bool
	object  runtime.Object
	// aborts reports that the API server ends the request because of the last decision.
	aborts bool
}

// interfaces are those of the kinds of Kubernetes. Defaults are not among them: they are part of
// the API server.
var interfaces = admission.NewObjectInterfacesFromScheme(scheme.Scheme)

// mutate applies the mutations to the object of a request. A mutation that fails does not keep
// later ones from being applied, as in the API server.
func (p *Program) mutate(ctx context.Context, in *input, params runtime.Object, types typeFinder, onlyConditions bool) mutated {
	m := mutated{outcome: outcome{unmatched: -1}, object: in.attributes.VersionedObject}
	authorizer := &noAuthorizer{}
	bindings := plugincel.OptionalVariableBindings{VersionedParams: params, Authorizer: authorizer}
	if !p.evaluateMatchConditions(ctx, in, bindings, authorizer, &m.outcome) {
		m.skipped = true
		m.outcome = m.withErrorsAs(p.spec)
		return m
	}
	if onlyConditions {
		return m
	}
	ctx = p.mutations.compiler.CreateContext(ctx)
	for i, one := range p.spec.Mutations {
		if m.object == nil {
			break // nothing to change
		}
		types, missing := types(one.JSONPatch)
		if missing != "" {
			m.undecided = missing
			return m
		}
		attributes := *in.attributes
		attributes.VersionedObject = m.object
		changed, err := p.mutations.patchers[i].Patch(ctx, patch.Request{
			MatchedResource: in.attributes.GetResource(), VersionedAttributes: &attributes, ObjectInterfaces: interfaces,
			OptionalVariables: bindings, Namespace: in.namespace, TypeConverter: types,
		}, celconfig.RuntimeCELCostBudget)
		if changed != nil && err == nil {
			changed, err = typedAs(changed, m.object, attributes)
		}
		status, isStatus := errors.AsType[*apierrors.StatusError](err)
		switch {
		case authorizer.wasCalled() && p.uncertain[one.Text]:
			m.undecided = messageAuthorizer
			return m
		case err != nil && in.needsUser(err):
			m.undecided = messageAnonymous
			return m
		case isStatus:
			m.decisions = append(m.decisions, decision{path: one.Path, message: status.ErrStatus.Message, code: int(status.ErrStatus.Code), isError: true, always: true})
			m.aborts = true
			return m
		case err != nil:
			d := errorDecision(one.Path, err)
			d.always = true
			m.decisions = append(m.decisions, d)
		default:
			m.object, m.applied = changed, true
		}
	}
	m.outcome = m.withErrorsAs(p.spec)
	return m
}

// typedAs returns a patched object in the type of the object before.
func typedAs(changed, before runtime.Object, attributes admission.VersionedAttributes) (runtime.Object, error) {
	if _, isUnstructured := before.(runtime.Unstructured); isUnstructured {
		return changed, nil
	}
	return interfaces.GetObjectConvertor().ConvertToVersion(changed, attributes.VersionedKind.GroupVersion())
}

// typeFinder returns the types by which an apply configuration is merged. missing is the reason why
// there are none. A JSON Patch needs none.
type typeFinder func(jsonPatch bool) (types managedfields.TypeConverter, missing string)
