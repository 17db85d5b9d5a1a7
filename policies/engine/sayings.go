package engine

import (
	"cmp"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
)

// saying is a value that a rule gave.
type saying struct {
	value *ast.Term
	rule  definition.Rule
}

// sayings are the values of an entry point in their order, those of equal ones in the order of
// the rules; what a rule gives several times is there once.
func (p *policy) sayings(entry string, given []eval.Given) []saying {
	out := make([]saying, len(given))
	for i, one := range given {
		out[i] = saying{one.Value, p.rules.At(entry, one.At)}
	}
	slices.SortStableFunc(out, func(a, b saying) int {
		return cmp.Or(a.value.Value.Compare(b.value.Value), a.rule.Compare(b.rule))
	})
	return slices.CompactFunc(out, func(a, b saying) bool { return a.rule == b.rule && a.value.Equal(b.value) })
}
