package gatekeeper

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kjson "sigs.k8s.io/json"

	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
)

// celSource is the code of a template in CEL.
type celSource struct {
	Validations []struct {
		Expression        string `json:"expression"`
		Message           string `json:"message"`
		MessageExpression string `json:"messageExpression"`
	} `json:"validations"`
	FailurePolicy *string `json:"failurePolicy"`
	// MatchConditions are named by the singular.
	MatchConditions []namedExpression `json:"matchCondition"`
	Variables       []namedExpression `json:"variables"`
	GenerateVAP     *bool             `json:"generateVAP"`
}

type namedExpression struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// The names that Gatekeeper reserves.
const (
	reservedPrefix = "gatekeeper_internal_"
	paramsVariable = "params"
	objectVariable = "anyObject"
)

// readCEL reads the code of a target that has no Rego.
func (t *template) readCEL(target targetObject) definition.CompileErrorList {
	i := slices.IndexFunc(target.Code, func(code codeObject) bool { return code.Engine == celEngine })
	path := []any{"spec", "targets", 0, "code", i, "source"}
	at := func(steps ...any) []any { return append(slices.Clone(path), steps...) }
	var source celSource
	unknown, err := kjson.UnmarshalStrict(target.Code[i].Source, &source)
	if err != nil {
		return definition.CompileErrorList{t.document.errorIn(path, "cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))}
	}
	var errs definition.CompileErrorList
	fail := func(path []any, format string, args ...any) {
		errs = append(errs, t.document.errorIn(path, format, args...))
	}
	for _, err := range unknown {
		hint := ""
		if strings.Contains(err.Error(), `"matchConditions"`) {
			hint = "; Gatekeeper names it matchCondition"
		}
		fail(path, "%v%s", err, hint)
	}
	// Gatekeeper gives variables the constraint, and other expressions only its parameters.
	spec := cel.Spec{ParamsInVariables: true, Budget: celconfig.PerCallLimit, Variables: []cel.Expression{
		{Name: objectVariable, Text: `has(request.operation) && request.operation == "DELETE" && object == null ? oldObject : object`, Path: path},
		{Name: paramsVariable, Text: `has(params.spec) && has(params.spec.parameters) ? params.spec.parameters : null`, Path: path},
	}}
	if policy := source.FailurePolicy; policy != nil {
		if *policy != "Fail" && *policy != "Ignore" {
			fail(at("failurePolicy"), "%q is not one of Fail, Ignore", *policy)
		}
		spec.IgnoreErrors = *policy == "Ignore"
	}
	for i, v := range source.Variables {
		if v.Name == paramsVariable || v.Name == objectVariable || strings.HasPrefix(v.Name, reservedPrefix) {
			fail(at("variables", i, "name"), "%q is reserved by Gatekeeper", v.Name)
		}
		spec.Variables = append(spec.Variables, cel.Expression{Name: v.Name, Text: v.Expression, Path: at("variables", i, "expression")})
	}
	for i, c := range source.MatchConditions {
		if strings.HasPrefix(c.Name, reservedPrefix) {
			fail(at("matchCondition", i, "name"), "%q is reserved by Gatekeeper", c.Name)
		}
		spec.MatchConditions = append(spec.MatchConditions, cel.Expression{Name: c.Name, Text: c.Expression, Path: at("matchCondition", i, "expression")})
	}
	if len(source.Validations) == 0 {
		fail(at("validations"), "must have at least one entry")
	}
	for i, v := range source.Validations {
		one := cel.Validation{Expression: cel.Expression{Text: v.Expression, Path: at("validations", i, "expression")}, Message: v.Message}
		if v.MessageExpression != "" {
			one.MessageExpression = cel.Expression{Text: v.MessageExpression, Path: at("validations", i, "messageExpression")}
		}
		spec.Validations = append(spec.Validations, one)
	}
	if source.GenerateVAP != nil && *source.GenerateVAP {
		err := t.document.errorIn(at("generateVAP"), "Lintel generates no ValidatingAdmissionPolicy, and evaluates the constraints itself")
		t.warnings = append(t.warnings, err)
	}
	if len(errs) > 0 {
		return errs
	}
	program, wrong := cel.Compile(spec)
	for _, err := range wrong {
		one := t.document.errorIn(err.Path, "%s", err.Message)
		one.Line = t.document.textLine(err.Path...) + err.Line
		errs = append(errs, one)
	}
	if program != nil {
		t.program, t.text, t.readsNamespace = program, string(t.document.json), program.ReadsNamespace()
	}
	return errs
}

// evaluator evaluates a constraint of a template in CEL.
func (t *template) evaluator(constraint map[string]any) definition.Evaluator {
	return cel.NewConstraint(t.program, t.document.Object, &unstructured.Unstructured{Object: constraint})
}

// celText is the text of a template in CEL, which decides the findings of its constraints. That of
// Rego is compared by the engine.
func (t *template) celText() string {
	if t.program == nil {
		return ""
	}
	return t.text
}
