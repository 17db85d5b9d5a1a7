package restriction

import (
	"context"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/sandbox"
)

// folded are the functions that are evaluated if all operands are constant. All of them are
// fast.
var folded = []string{
	"lower", "upper", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "trim_space",
	"startswith", "endswith", "contains", "count", "abs", "plus", "minus", "round", "ceil", "floor",
}

// modeled are the functions with lemmas. Of other functions, the analysis knows only that
// equal calls have equal results.
var modeled = []string{"startswith", "endswith", "contains", "count", "lower", "upper", "sprintf"}

// commutative are the functions whose result does not depend on the order of the operands.
var commutative = []string{"plus", "mul"}

// apply is the result of a builtin: nil where it is undefined.
func apply(builtin *ast.Builtin, operands []term) term {
	var values []*ast.Term
	for _, operand := range operands {
		if c, ok := operand.(constant); ok {
			values = append(values, ast.NewTerm(c.value))
		}
	}
	if len(values) < len(operands) || !isFolded(builtin.Name) {
		return applicationTerm(builtin.Name, operands...)
	}
	if value, _ := run(builtin.Name, values); value != nil {
		return constantTerm(value)
	}
	return nil
}

func isFolded(function string) bool {
	return slices.Contains(folded, function) || strings.HasPrefix(function, "is_")
}

// run calls a function of OPA within its limits.
func run(name string, operands []*ast.Term) (result ast.Value, failed bool) {
	f, known := sandbox.Function(name)
	if !known {
		return nil, true
	}
	value, err := f.Apply(topdown.BuiltinContext{Context: context.Background()}, operands...)
	if err != nil || value == nil {
		return nil, err != nil
	}
	return value.Value, false
}
