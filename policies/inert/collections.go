package inert

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// unmet is a need that is never met, such as that of an element in an empty set.
var unmet = &need{}

// condition returns what a term has to meet in addition to being defined.
type condition func(term *ast.Term, known bindings) *need

// truthy is the condition of a term that is a condition by itself.
func (r *reader) truthy(term *ast.Term, known bindings) *need {
	if r.resolve(term, known).Value.Compare(ast.Boolean(false)) == 0 {
		return unmet
	}
	return nil
}

// nonEmpty returns the conditions under which a collection has an element: nil if it may have one
// in any case.
func (r *reader) nonEmpty(term *ast.Term, known bindings) *need {
	if r.budget--; r.budget < 0 || r.depth > maxDepth {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	resolved := r.resolve(term, known)
	switch value := resolved.Value.(type) {
	case *ast.SetComprehension:
		return r.body(value.Body, known.clone())
	case *ast.ArrayComprehension:
		return r.body(value.Body, known.clone())
	case *ast.ObjectComprehension:
		return r.body(value.Body, known.clone())
	case ast.Set, *ast.Array, ast.Object:
		if emptyKind(resolved) != "" {
			return unmet
		}
	case ast.Call:
		return r.nonEmptyResult(value, known)
	case ast.Ref:
		return r.nonEmptyRule(value)
	}
	return nil
}

// nonEmptyRule is nonEmpty for the rules that a reference names.
func (r *reader) nonEmptyRule(ref ast.Ref) *need {
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return nil
	}
	var rules []*need
	for _, rule := range r.compiler.GetRulesWithPrefix(ref) {
		own := rule.Ref()
		switch {
		case len(rule.Head.Args) > 0 || len(ref) != len(own.GroundPrefix()):
			return nil
		case rule.Head.RuleKind() == ast.MultiValue || len(ref) < len(own):
			rules = append(rules, r.rule(rule, nil, nil))
		default:
			rules = append(rules, r.rule(rule, nil, r.nonEmpty))
		}
	}
	return anyOf(rules)
}

// nonEmptyResult is nonEmpty for the result of a function, whose operands are resolved.
func (r *reader) nonEmptyResult(call ast.Call, known bindings) *need {
	operator, args := call[0].Value.(ast.Ref), call[1:]
	if operator[0].Equal(ast.DefaultRootDocument) {
		return r.called(operator, args, r.nonEmpty)
	}
	switch operator.String() {
	case ast.Minus.Name, ast.ObjectRemove.Name, ast.ObjectFilter.Name, ast.ObjectKeys.Name, ast.ArraySlice.Name, ast.ArrayReverse.Name, ast.Sort.Name, ast.Union.Name:
		return r.nonEmpty(args[0], known)
	case ast.And.Name:
		return allOf(r.nonEmpty(args[0], known), r.nonEmpty(args[1], known))
	case ast.Or.Name, ast.ArrayConcat.Name, ast.ObjectUnion.Name:
		return anyOf([]*need{r.nonEmpty(args[0], known), r.nonEmpty(args[1], known)})
	}
	return nil
}

// elements returns the conditions of an expression that need an element in a collection.
func (r *reader) elements(expr *ast.Expr, known bindings) *need {
	if !expr.IsCall() || len(expr.Operands()) == 0 {
		return nil
	}
	switch operator := expr.Operator().String(); operator {
	case "internal.member_2", "internal.member_3":
		return r.nonEmpty(expr.Operand(len(expr.Operands())-1), known)
	case ast.Max.Name, ast.Min.Name:
		return r.nonEmpty(expr.Operand(0), known)
	default:
		if len(expr.Operands()) != 2 {
			return nil
		}
		a, b := r.resolve(expr.Operand(0), known), r.resolve(expr.Operand(1), known)
		if mirrored := mirroredOperators[operator]; mirrored != "" {
			if of := r.comparedWithZero(mirrored, b, a, known); of != nil {
				return of
			}
		}
		return r.comparedWithZero(operator, a, b, known)
	}
}

// mirroredOperators are the operators with exchanged operands.
var mirroredOperators = map[string]string{
	ast.GreaterThan.Name: ast.LessThan.Name, ast.GreaterThanEq.Name: ast.LessThanEq.Name,
	ast.LessThan.Name: ast.GreaterThan.Name, ast.LessThanEq.Name: ast.GreaterThanEq.Name,
	ast.Equal.Name: ast.Equal.Name, ast.Equality.Name: ast.Equality.Name, ast.NotEqual.Name: ast.NotEqual.Name,
}

// comparedWithZero is the need of an element where an expression compares a collection with the
// empty one, or its size with a number, and does not hold for an empty collection.
func (r *reader) comparedWithZero(operator string, a, b *ast.Term, known bindings) *need {
	if call, ok := a.Value.(ast.Call); ok && sizes[call[0].String()] {
		number, isNumber := b.Value.(ast.Number)
		if !isNumber || holdsForZero(operator, number) {
			return nil
		}
		return r.nonEmpty(call[1], known)
	}
	if operator == ast.NotEqual.Name && emptyKind(b) != "" && emptyKind(b) == r.collectionKind(a) {
		return r.nonEmpty(a, known)
	}
	return nil
}

// sizes are the functions that are zero for an empty collection.
var sizes = map[string]bool{ast.Count.Name: true, ast.Sum.Name: true}

// holdsForZero compares zero with a number. An unknown operator may hold.
func holdsForZero(operator string, number ast.Number) bool {
	order := ast.Number("0").Compare(number)
	switch operator {
	case ast.GreaterThan.Name:
		return order > 0
	case ast.GreaterThanEq.Name:
		return order >= 0
	case ast.LessThan.Name:
		return order < 0
	case ast.LessThanEq.Name:
		return order <= 0
	case ast.Equal.Name, ast.Equality.Name:
		return order == 0
	case ast.NotEqual.Name:
		return order != 0
	}
	return true
}

// emptyKind is set, array or object for an empty collection, and "" for other terms.
func emptyKind(term *ast.Term) string {
	switch value := term.Value.(type) {
	case ast.Set:
		if value.Len() == 0 {
			return "set"
		}
	case *ast.Array:
		if value.Len() == 0 {
			return "array"
		}
	case ast.Object:
		if value.Len() == 0 {
			return "object"
		}
	}
	return ""
}

// collectionKind is the kind of a collection that is always defined: "" for other terms.
func (r *reader) collectionKind(term *ast.Term) string {
	switch value := term.Value.(type) {
	case *ast.SetComprehension:
		return "set"
	case *ast.ArrayComprehension:
		return "array"
	case *ast.ObjectComprehension:
		return "object"
	case ast.Ref:
		rules := r.compiler.GetRulesExact(value)
		if len(rules) > 0 && !slices.ContainsFunc(rules, func(rule *ast.Rule) bool {
			return rule.Head.RuleKind() != ast.MultiValue || len(rule.Ref()) != len(value)
		}) {
			return "set"
		}
	}
	return ""
}

// allOf is the need of all of several.
func allOf(needs ...*need) *need {
	if slices.Contains(needs, unmet) {
		return unmet
	}
	needs = slices.DeleteFunc(slices.Clone(needs), func(one *need) bool { return one == nil })
	switch len(needs) {
	case 0:
		return nil
	case 1:
		return needs[0]
	}
	return &need{all: needs}
}
