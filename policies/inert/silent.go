package inert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// silentOnCreate returns the operand below not that keeps a rule from firing on CREATE, where
// there is no old object: nil if the rule may fire, or has another reason not to.
func (c context) silentOnCreate(needs *need) *atom {
	const create = "CREATE"
	if !slices.Contains(c.operations, create) || !slices.ContainsFunc(c.operations, func(name string) bool { return name != create }) {
		return nil // rules for CREATE alone have their own error
	}
	never := func(negated bool) *atom {
		found, _ := needs.first(func(a *atom) string {
			if a.negated == negated && a.neverOn(create) {
				return "never"
			}
			return ""
		})
		return found
	}
	if never(false) != nil {
		return nil
	}
	return never(true)
}

func silentText(a *atom) string {
	path := strings.Split(strings.TrimPrefix(a.path, "request."), ".")
	return fmt.Sprintf("input.%s is undefined on CREATE, and an expression below not with an undefined operand is undefined, too: the rule never fires on CREATE; "+
		`write object.get(input.request, ["%s"], <value on CREATE>), or remove CREATE from custom.match.operations`, a.path, strings.Join(path, `", "`))
}

// setNegated marks all conditions of a need.
func (n *need) setNegated() {
	if n == nil || n == unmet {
		return
	}
	if n.atom != nil {
		n.atom.negated = true
	}
	for _, one := range slices.Concat(n.all, n.any) {
		one.setNegated()
	}
}

// generated is the variable for the value of an expression that the compiler has added for an
// operand of another: empty for other expressions.
func (r *reader) generated(expr *ast.Expr) ast.Var {
	if !expr.Generated || expr.Negated || !expr.IsCall() {
		return ""
	}
	value := r.output(expr)
	if expr.Operator().Equal(ast.Equality.Ref()) && len(expr.Operands()) == 2 {
		value = expr.Operand(0)
	}
	if value == nil {
		return ""
	}
	name, _ := value.Value.(ast.Var)
	return name
}

// onlyNegated are the variables of operands that are only read below not, directly or in calls
// whose results are. The compiler evaluates such operands before the expression.
func (r *reader) onlyNegated(body ast.Body, known bindings) map[ast.Var]bool {
	if !slices.ContainsFunc(body, func(expr *ast.Expr) bool { return expr.Negated }) {
		return nil
	}
	negated := map[ast.Var]bool{} // false for those that are also read elsewhere
	read := func(value any, below bool) {
		ast.WalkVars(value, func(name ast.Var) bool {
			before, seen := negated[name]
			negated[name] = below && (before || !seen)
			return false
		})
	}
	for _, expr := range slices.Backward(body) {
		switch result := r.generated(expr); {
		case result != "":
			below := negated[result]
			for _, operand := range expr.Operands() {
				if operand.Value.Compare(result) != 0 {
					read(operand, below)
				}
			}
		case expr.Negated:
			read(expr, len(expr.With) == 0 && !r.comparesWithNew(expr, known))
		default:
			read(expr, false)
		}
	}
	return negated
}

// comparesWithNew reports whether an expression compares something with a part of the new object,
// as rules about changes do: they are not meant for CREATE.
func (r *reader) comparesWithNew(expr *ast.Expr, known bindings) bool {
	if !expr.IsCall() || strings.HasPrefix(expr.Operator().String(), "internal.member_") {
		return false
	}
	return slices.ContainsFunc(expr.Operands(), func(operand *ast.Term) bool {
		path := inputPath(r.resolve(operand, known))
		return path == "request.object" || strings.HasPrefix(path, "request.object.")
	})
}
