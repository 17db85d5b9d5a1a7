package cel

import (
	"slices"
	"strconv"

	celgo "github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/open-policy-agent/opa/v1/ast"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/lintel-policy/lintel/policies/eval"
)

// Expressions are evaluated by code that knows no unknown values. A policy is therefore undecided
// about a request if an expression can read one of its unknown values, and otherwise evaluated with
// any value in their place.

// anyStep is a step of a path that is not constant: an index, or a computed field.
const anyStep = "*"

// unknownValue is the value of a request that is not known.
type unknownValue struct {
	path  []string // from the request on
	cause *eval.UnknownError
}

// unknownsIn are the unknown values of a request.
func unknownsIn(value ast.Value, path []string) (found []unknownValue) {
	if value == nil || value.IsGround() {
		return nil
	}
	switch value := value.(type) {
	case ast.Object:
		value.Foreach(func(key, field *ast.Term) {
			name, _ := key.Value.(ast.String)
			found = append(found, unknownsIn(field.Value, append(path[:len(path):len(path)], string(name)))...)
		})
	case *ast.Array:
		for i := range value.Len() {
			found = append(found, unknownsIn(value.Elem(i).Value, append(path[:len(path):len(path)], strconv.Itoa(i)))...)
		}
	default:
		if cause := eval.UnknownIn(value); cause != nil {
			found = append(found, unknownValue{path, cause})
		}
	}
	return found
}

// withoutUnknowns returns a value with texts in place of its unknown parts.
func withoutUnknowns(value ast.Value) ast.Value {
	if value.IsGround() {
		return value
	}
	switch value := value.(type) {
	case ast.Object:
		fields := make([][2]*ast.Term, 0, value.Len())
		value.Foreach(func(key, field *ast.Term) {
			fields = append(fields, ast.Item(key, ast.NewTerm(withoutUnknowns(field.Value))))
		})
		return ast.NewObject(fields...)
	case *ast.Array:
		elements := make([]*ast.Term, value.Len())
		for i := range elements {
			elements[i] = ast.NewTerm(withoutUnknowns(value.Elem(i).Value))
		}
		return ast.NewArray(elements...)
	}
	return ast.String("")
}

// requireKnown panics with an unknown value of the request that the program can read, as evaluations
// of Rego do.
func (p *Program) requireKnown(in *input) {
	for _, unknown := range in.unknown {
		reads := func(read []string) bool { return overlap(read, unknown.path) }
		parts := func(read []string) bool { return len(unknown.path) <= len(read) && reads(read) }
		if slices.ContainsFunc(p.reads.values, reads) || slices.ContainsFunc(p.reads.structures, parts) {
			panic(unknown.cause)
		}
	}
}

// overlap reports whether one of two paths can be that of a part of the other.
func overlap(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != anyStep && a[i] != b[i] {
			return false
		}
	}
	return true
}

// reads are paths from the request on: of values that are read as a whole, and of values of which
// only the presence, or the elements as far as their paths are listed, are read.
type reads struct{ values, structures [][]string }

// readsOf returns what the expressions can read.
func (p *Program) readsOf() reads {
	env, err := p.compiler.Env(environment.StoredExpressions)
	if err != nil {
		return reads{values: [][]string{{}}} // all
	}
	f := readFinder{env: env, variables: map[string][][]string{}}
	for _, v := range p.spec.Variables {
		f.variables[v.Name] = f.text(v.Text)
	}
	lists := [][]Expression{p.spec.MatchConditions, p.spec.AuditAnnotations}
	for _, v := range p.spec.Validations {
		lists = append(lists, []Expression{v.Expression, v.MessageExpression})
	}
	for _, e := range slices.Concat(lists...) {
		f.use(f.text(e.Text))
	}
	return f.reads
}

// readFinder finds the paths of the request that expressions read. An expression returns the paths
// that its value can be at; a value that is used in another way than to select a part of it is read
// as a whole.
type readFinder struct {
	env       *celgo.Env
	variables map[string][][]string
	reads     reads
}

func (f *readFinder) use(paths [][]string) { f.reads.values = append(f.reads.values, paths...) }

func (f *readFinder) look(paths [][]string) {
	f.reads.structures = append(f.reads.structures, paths...)
}

func (f *readFinder) text(text string) [][]string {
	if text == "" {
		return nil
	}
	parsed, issues := f.env.Parse(text)
	if issues.Err() != nil {
		return [][]string{{}} // compiled already; all
	}
	return f.expr(parsed.NativeRep().Expr(), map[string][][]string{
		plugincel.ObjectVarName: {{"object"}}, plugincel.OldObjectVarName: {{"oldObject"}}, plugincel.RequestVarName: {{}},
	})
}

func below(paths [][]string, step string) (found [][]string) {
	for _, path := range paths {
		found = append(found, append(slices.Clone(path), step))
	}
	return found
}

func (f *readFinder) expr(e celast.Expr, names map[string][][]string) [][]string {
	switch e.Kind() {
	case celast.IdentKind:
		return names[e.AsIdent()]
	case celast.SelectKind:
		s := e.AsSelect()
		if of := s.Operand(); of.Kind() == celast.IdentKind && of.AsIdent() == plugincel.VariableVarName && names[of.AsIdent()] == nil {
			return f.variables[s.FieldName()]
		}
		part := below(f.expr(s.Operand(), names), s.FieldName())
		if s.IsTestOnly() {
			f.look(part)
			return nil
		}
		return part
	case celast.CallKind:
		return f.call(e.AsCall(), names)
	case celast.ListKind:
		for _, element := range e.AsList().Elements() {
			f.use(f.expr(element, names))
		}
	case celast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			f.use(f.expr(entry.AsMapEntry().Key(), names))
			f.use(f.expr(entry.AsMapEntry().Value(), names))
		}
	case celast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			f.use(f.expr(field.AsStructField().Value(), names))
		}
	case celast.ComprehensionKind:
		f.comprehension(e.AsComprehension(), names)
	}
	return nil
}

// call follows operators that select a part, and uses the arguments of all others.
func (f *readFinder) call(c celast.CallExpr, names map[string][][]string) [][]string {
	args := c.Args()
	if c.IsMemberFunction() {
		args = append([]celast.Expr{c.Target()}, args...)
	}
	switch name := c.FunctionName(); {
	case (name == operators.Index || name == operators.OptIndex || name == operators.OptSelect) && len(args) == 2:
		step := anyStep
		if args[1].Kind() == celast.LiteralKind {
			if text, ok := args[1].AsLiteral().Value().(string); ok {
				step = text
			}
		} else {
			f.use(f.expr(args[1], names))
		}
		return below(f.expr(args[0], names), step)
	case (name == operators.Equals || name == operators.NotEquals) && len(args) == 2 && (isNull(args[0]) || isNull(args[1])):
		f.look(append(f.expr(args[0], names), f.expr(args[1], names)...))
		return nil
	case name == operators.Conditional && len(args) == 3:
		f.use(f.expr(args[0], names))
		return append(f.expr(args[1], names), f.expr(args[2], names)...)
	case name == "orValue" && len(args) == 2:
		return append(f.expr(args[0], names), f.expr(args[1], names)...)
	}
	for _, arg := range args {
		f.use(f.expr(arg, names))
	}
	return nil
}

func isNull(e celast.Expr) bool {
	return e.Kind() == celast.LiteralKind && e.AsLiteral().Type() == types.NullType
}

// comprehension binds the variables of a macro: to the elements of its range.
func (f *readFinder) comprehension(c celast.ComprehensionExpr, names map[string][][]string) {
	list := f.expr(c.IterRange(), names)
	f.look(list)
	elements := below(list, anyStep)
	f.use(f.expr(c.AccuInit(), names))
	inner := map[string][][]string{}
	for name, paths := range names {
		inner[name] = paths
	}
	inner[c.IterVar()] = elements
	if c.HasIterVar2() {
		inner[c.IterVar2()] = elements
	}
	inner[c.AccuVar()] = nil
	for _, part := range []celast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
		f.use(f.expr(part, inner))
	}
}
