package engine

import (
	"cmp"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
)

// entryValue is a value of a rule.
type entryValue struct {
	value *ast.Term
	rule  definition.Rule
}

// valuesOf sorts the values of an entry point, and equal ones by their rules. It drops duplicates
// of the same rule.
func (p *policy) valuesOf(entry string, results []eval.Given) []entryValue {
	out := make([]entryValue, len(results))
	for i, one := range results {
		out[i] = entryValue{one.Value, p.EntryRules.At(entry, one.At)}
	}
	slices.SortStableFunc(out, func(a, b entryValue) int {
		return cmp.Or(a.value.Value.Compare(b.value.Value), a.rule.Compare(b.rule))
	})
	return slices.CompactFunc(out, func(a, b entryValue) bool { return a.rule == b.rule && a.value.Equal(b.value) })
}
