package engine

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// Values share their parts: forty rules `x1 := [x0, x0]`, `x2 := [x1, x1]`, … make a
// value of 2^40 values out of forty small lists. OPA walks through values when it
// unifies and compares them, and cannot be stopped then. So no variable of a policy
// ever holds a value of more than MaxMadeNodes values: the splitter has the function
// bounded called wherever a value is made out of several parts.
//
//   - A list, object or set with several variables in it: its variables together are
//     checked before the expression, or at the end of the body that gives it.
//   - A comprehension, and a reference that may name a whole partial rule or package:
//     the variable it is bound to is checked after.
//   - Functions of OPA that join values have limits of their own (limits_table.go).
//   - A with that replaces input, or a part of it: what input becomes is checked before.
var boundedBuiltin = &ast.Builtin{
	Name: "bounded",
	Decl: types.NewFunction(types.Args(types.A), types.B),
}

// registerBounded makes the function known. The compiler refuses it in policies.
func registerBounded() {
	ast.RegisterBuiltin(boundedBuiltin)
	topdown.RegisterBuiltinFunc(boundedBuiltin.Name, func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		count, bytes := nodesUpTo(operands[0], MaxMadeNodes, MaxMadeBytes)
		if count > MaxMadeNodes || bytes > MaxMadeBytes {
			return exceeds("a value is larger than %d values or %d bytes; keep only the parts that are needed", MaxMadeNodes, MaxMadeBytes)
		}
		meter, _ := bctx.Cancel.(*meter)
		if err := meter.spend(count / nodesPerStep); err != nil {
			return err
		}
		return iter(ast.InternedTerm(true))
	})
}

func boundedExpr(location *ast.Location, operand *ast.Term) *ast.Expr {
	operand.SetLocation(location)
	expr := boundedBuiltin.Expr(operand).SetLocation(location)
	expr.Generated = true
	return expr
}

// boundParts gives the checks that go before an expression: of the variables in its
// lists, sets and objects, and of what its withs put into input.
func (s *splitter) boundParts(expr *ast.Expr, bound ast.VarSet) []*ast.Expr {
	var checks []*ast.Expr
	terms, _ := expr.Terms.([]*ast.Term)
	if single, ok := expr.Terms.(*ast.Term); ok {
		terms = []*ast.Term{nil, single}
	}
	// What the standard functions take, they check themselves.
	if len(terms) > 0 && (!s.isBuiltinCall(expr) || expr.IsEquality() || s.mocksFunctions) {
		if parts := leaves(bound, terms[1:]...); len(parts) > 1 {
			checks = append(checks, boundedExpr(expr.Location, ast.ArrayTerm(parts...)))
		}
	}
	var replaced []*ast.Term
	for _, with := range expr.With {
		target, ok := with.Target.Value.(ast.Ref)
		switch {
		case !ok || !target.HasPrefix(ast.InputRootRef):
		case len(target) > 1:
			replaced = append(replaced, with.Value)
		default:
			if parts := leaves(bound, with.Value); len(parts) > 1 {
				checks = append(checks, boundedExpr(expr.Location, ast.ArrayTerm(parts...)))
			}
		}
	}
	if len(replaced) > 0 {
		input, bind := s.bind(&ast.Expr{Location: expr.Location}, ast.NewTerm(ast.InputRootRef.Copy()))
		checks = append(checks, bind, boundedExpr(expr.Location, ast.ArrayTerm(append(replaced, input)...)))
	}
	return checks
}

func (s *splitter) isBuiltinCall(expr *ast.Expr) bool {
	return expr.IsCall() && ast.BuiltinMap[expr.Operator().String()] != nil
}

// leaves are the variables that have a value, once for each time they stand in a
// list, set or object within the terms.
func leaves(bound ast.VarSet, terms ...*ast.Term) []*ast.Term {
	var found []*ast.Term
	var walk func(term *ast.Term, within bool)
	walk = func(term *ast.Term, within bool) {
		switch value := term.Value.(type) {
		case ast.Var:
			if within && bound.Contains(value) {
				found = append(found, ast.NewTerm(value))
			}
		case ast.Ref:
			for _, element := range value[1:] {
				walk(element, within)
			}
		case *ast.Array:
			value.Foreach(func(element *ast.Term) { walk(element, true) })
		case ast.Set:
			value.Foreach(func(element *ast.Term) { walk(element, true) })
		case ast.Object:
			value.Foreach(func(key, element *ast.Term) { walk(key, true); walk(element, true) })
		}
	}
	for _, term := range terms {
		if term != nil {
			walk(term, false)
		}
	}
	return found
}

// grown is the variable that an equality gives a value which is made there of any
// number of parts: nil for other expressions.
func (s *splitter) grown(expr *ast.Expr, bound ast.VarSet) *ast.Term {
	if expr.Negated || !expr.IsEquality() {
		return nil
	}
	for i := range 2 {
		variable, ok := expr.Operand(i).Value.(ast.Var)
		if ok && !bound.Contains(variable) && s.grows(expr.Operand(1-i)) {
			return ast.NewTerm(variable)
		}
	}
	return nil
}

func (s *splitter) grows(term *ast.Term) bool {
	if ref, ok := term.Value.(ast.Ref); ok {
		return ref.HasPrefix(ast.DefaultRootRef) && (s.mocksData || s.isCollected(ref))
	}
	return ast.IsComprehension(term.Value)
}

// isCollected says whether a reference may name a document that OPA puts together
// from what several rules, or several values of one rule, give.
func (s *splitter) isCollected(ref ast.Ref) bool {
	return slices.ContainsFunc(s.compiler.GetRules(ref.ConstantPrefix()), func(rule *ast.Rule) bool {
		length := len(rule.Ref())
		if rule.Head.RuleKind() == ast.MultiValue {
			length++
		}
		return len(ref) < length
	})
}
