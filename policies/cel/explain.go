package cel

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	celgo "github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// maxValueBytes is the length to which a value in an explanation is cut.
const maxValueBytes = 120

// explain evaluates expressions once more, and records the values of their parts: of the match
// condition that is false, or of the validations that are.
func (p *Program) explain(o manifest.Object, in *input, params runtime.Object, out outcome) (outcomes []definition.CheckOutcome) {
	tracer, err := p.newTracer(in, params)
	if err != nil {
		return nil
	}
	if out.unmatched >= 0 {
		e := p.spec.MatchConditions[out.unmatched]
		return []definition.CheckOutcome{tracer.outcome(o, e)}
	}
	for _, v := range p.spec.Validations {
		one := tracer.outcome(o, v.Expression)
		one.Violated = len(one.Conditions) > 0 && !one.Conditions[0].Holds
		outcomes = append(outcomes, one)
	}
	return outcomes
}

// tracer evaluates expressions and keeps the values of their parts. Expressions are not type
// checked: the compiler has done that.
type tracer struct {
	environment *celgo.Env
	variables   map[string]any
	activation  map[string]any
}

func (p *Program) newTracer(in *input, params runtime.Object) (*tracer, error) {
	environment, err := p.compiler.Env(environment.StoredExpressions)
	if err != nil {
		return nil, err
	}
	if environment, err = environment.Extend(celgo.EnableMacroCallTracking()); err != nil {
		return nil, err // the text of all() and others
	}
	t := &tracer{environment: environment, variables: map[string]any{}}
	t.activation = map[string]any{
		plugincel.ObjectVarName: fieldsOf(in.attributes.VersionedObject), plugincel.OldObjectVarName: fieldsOf(in.attributes.VersionedOldObject),
		plugincel.ParamsVarName: fieldsOf(params), plugincel.VariableVarName: t.variables,
	}
	request, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in.request)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	t.activation[plugincel.RequestVarName], t.activation[plugincel.NamespaceVarName] = request, nil
	if in.namespace != nil {
		if t.activation[plugincel.NamespaceVarName], err = runtime.DefaultUnstructuredConverter.ToUnstructured(plugincel.CreateNamespaceObject(in.namespace)); err != nil {
			return nil, fmt.Errorf("reading the Namespace: %w", err)
		}
	}
	for _, v := range p.spec.Variables {
		if _, value, _ := t.evaluate(v.Text); value != nil {
			t.variables[v.Name] = value
		}
	}
	return t, nil
}

// fieldsOf returns the fields of an object: nil for none.
func fieldsOf(object runtime.Object) any {
	unstructured, ok := object.(runtime.Unstructured)
	if !ok {
		return nil
	}
	return unstructured.UnstructuredContent()
}

// evaluate returns the value of an expression, and those of its parts. The value is nil after an
// error.
func (t *tracer) evaluate(text string) (*celgo.Ast, ref.Val, interpreter.EvalState) {
	parsed, issues := t.environment.Parse(text)
	if issues.Err() != nil {
		return nil, nil, nil
	}
	program, err := t.environment.Program(parsed, celgo.EvalOptions(celgo.OptTrackState), celgo.CostLimit(celconfig.PerCallLimit))
	if err != nil {
		return nil, nil, nil
	}
	value, details, err := program.Eval(t.activation)
	if details == nil {
		return nil, nil, nil
	}
	if err != nil {
		value = nil
	}
	return parsed, value, details.State()
}

// outcome explains one expression.
func (t *tracer) outcome(o manifest.Object, e Expression) definition.CheckOutcome {
	at := locationIn(o, e.Path)
	out := definition.CheckOutcome{Entry: definition.EntryDeny, Location: at}
	parsed, value, state := t.evaluate(e.Text)
	if parsed == nil || value == nil {
		return out
	}
	whole := definition.CheckCondition{Text: strings.TrimSpace(e.Text), Location: at, Holds: value == celtypes.True}
	out.Conditions = append(out.Conditions, whole)
	if whole.Holds {
		return out
	}
	info := parsed.NativeRep().SourceInfo()
	first := o.TextLine(e.Path...)
	trace := &tracedExpression{tracer: t, state: state, info: info}
	for _, part := range trace.falseParts(parsed.NativeRep().Expr(), celtypes.False) {
		condition := definition.CheckCondition{Text: trace.text(part.expr), Location: at, Holds: part.value == celtypes.True, Values: trace.valuesOf(part)}
		if line := trace.line(part.expr); line > 0 {
			condition.Location.Line = first + line - 1
		}
		out.Conditions = append(out.Conditions, condition)
	}
	return out
}

// tracedExpression is an evaluated expression.
type tracedExpression struct {
	*tracer
	state interpreter.EvalState
	info  *celast.SourceInfo
}

// part is a part of an expression that decides its value.
type part struct {
	expr  celast.Expr
	value ref.Val
	// element is the element of a list for which the condition of all() is false.
	element string
}

// falseParts returns the innermost parts because of which an expression has a value.
func (t *tracedExpression) falseParts(e celast.Expr, want ref.Val) []part {
	if e.Kind() == celast.ComprehensionKind {
		return t.inComprehension(e, want)
	}
	if e.Kind() != celast.CallKind {
		return []part{{expr: e, value: want}}
	}
	call := e.AsCall()
	args := call.Args()
	decided := func(all bool) (found []part) {
		for _, arg := range args {
			if value, known := t.state.Value(arg.ID()); known && value == want {
				found = append(found, t.falseParts(arg, want)...)
				if !all {
					return found
				}
			}
		}
		return found
	}
	var found []part
	switch call.FunctionName() {
	case operators.LogicalAnd:
		found = decided(want == celtypes.True)
	case operators.LogicalOr:
		found = decided(want == celtypes.False)
	case operators.LogicalNot:
		found = t.falseParts(args[0], celtypes.Bool(want != celtypes.True))
	case operators.Conditional:
		branch := args[2]
		if value, _ := t.state.Value(args[0].ID()); value == celtypes.True {
			branch = args[1]
		}
		found = t.falseParts(branch, want)
	}
	if len(found) == 0 {
		return []part{{expr: e, value: want}}
	}
	return found
}

// inComprehension explains all() by the element for which its condition is false: evaluation ends
// there, so that the values are those of this element.
func (t *tracedExpression) inComprehension(e celast.Expr, want ref.Val) []part {
	whole := []part{{expr: e, value: want}}
	c := e.AsComprehension()
	step := c.LoopStep()
	if want != celtypes.False || step.Kind() != celast.CallKind || step.AsCall().FunctionName() != operators.LogicalAnd {
		return whole
	}
	condition := step.AsCall().Args()[1]
	if value, known := t.state.Value(condition.ID()); !known || value != celtypes.False {
		return whole
	}
	whole[0].element = t.elementOf(c, condition)
	return append(whole, t.falseParts(condition, want)...)
}

// elementOf returns the first element of a list, or key of a map, for which the condition of all()
// is false, as "name = value".
func (t *tracedExpression) elementOf(c celast.ComprehensionExpr, condition celast.Expr) string {
	of, known := t.state.Value(c.IterRange().ID())
	list, iterable := of.(traits.Iterable)
	if !known || !iterable || c.HasIterVar2() {
		return ""
	}
	name, text := c.IterVar(), t.text(condition)
	defer delete(t.activation, name)
	for i := list.Iterator(); i.HasNext() == celtypes.True; {
		element := i.Next()
		t.activation[name] = element
		if _, value, _ := t.evaluate(text); value == celtypes.False {
			return fmt.Sprintf("%s = %s", name, valueText(element))
		}
	}
	return ""
}

// text returns the text of a part.
func (t *tracedExpression) text(e celast.Expr) string {
	text, err := parser.Unparse(e, t.info)
	if err != nil {
		return "an expression"
	}
	return text
}

// line returns the line of a part within the text, from 1; 0 if it is not known.
func (t *tracedExpression) line(e celast.Expr) int {
	location := t.info.GetStartLocation(e.ID())
	return max(location.Line(), 0)
}

// valuesOf returns the values that explain a part.
func (t *tracedExpression) valuesOf(p part) []string {
	if p.element != "" {
		return []string{p.element}
	}
	return t.values(p.expr)
}

// values returns the values of the operands of a part, as "text = value".
func (t *tracedExpression) values(e celast.Expr) (values []string) {
	var operands []celast.Expr
	switch e.Kind() {
	case celast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			operands = append(operands, call.Target())
		}
		operands = append(operands, call.Args()...)
	case celast.ComprehensionKind:
		operands = append(operands, e.AsComprehension().IterRange())
	case celast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			operands = append(operands, e.AsSelect().Operand())
		}
	}
	for _, operand := range operands {
		if operand.Kind() == celast.LiteralKind || operand.Kind() == celast.ListKind {
			continue
		}
		value, known := t.state.Value(operand.ID())
		if !known || value == nil {
			continue
		}
		values = append(values, fmt.Sprintf("%s = %s", t.text(operand), valueText(value)))
	}
	return values
}

// valueText returns a value in JSON.
func valueText(value ref.Val) string {
	text := ""
	if celtypes.IsUnknownOrError(value) {
		return fmt.Sprintf("error (%v)", value)
	}
	if in, err := value.ConvertToNative(jsonValueType); err == nil {
		if encoded, err := json.Marshal(in); err == nil {
			text = string(encoded)
		}
	}
	if text == "" {
		text = fmt.Sprintf("%v", value.Value())
	}
	if len(text) > maxValueBytes {
		text = strings.ToValidUTF8(text[:maxValueBytes], "") + "…"
	}
	return text
}

// jsonValueType is the type of values as JSON.
var jsonValueType = reflect.TypeFor[*structpb.Value]()
