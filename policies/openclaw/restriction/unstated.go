package restriction

import (
	"context"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// This file is about decisions with an order (limits, lists, words) that no broader scope
// defines. A narrower scope that defines one exceeds nothing, since there is no value to
// compare with. However, a gateway that treats a missing list as an empty list permits more
// with a list. Therefore, the author of the first such decision receives a warning.

// firstToDecide returns the warnings about decisions of a child that are undefined in all
// parents on at least one input. A comparison that times out adds no warning.
func firstToDecide(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) []string {
	var warnings []string
	for _, decision := range child.Decisions {
		c := newComparison(decision, child, parents)
		switch c.order {
		case sidecar.Ceiling, sidecar.Floor, sidecar.Subset, sidecar.Word:
		default:
			continue
		}
		var on string
		if len(c.definers) > 0 {
			if c.order == sidecar.Word || slices.ContainsFunc(c.definers, func(p *sidecar.Policy) bool { return hasDefault(p, decision) }) {
				continue // without a word of the broadest scope, the decision is undefined: meet.rego
			}
			c.order = unstated
			verdict := analyzeOne(ctx, c)
			if verdict.Outcome != Counterexample {
				continue
			}
			on = " on inputs such as " + shortened(verdict.InputText())
		}
		warnings = append(warnings, fmt.Sprintf(
			"%s defines %s, which no broader scope defines%s: the value exceeds nothing, and gateways apply it; if gateways permit less without a value, define a default in the %s scope",
			child.Name, decision, on, parents[0].Level))
	}
	return warnings
}

func hasDefault(p *sidecar.Policy, decision string) bool {
	return slices.ContainsFunc(p.Rules(decision), func(rule *ast.Rule) bool { return rule.Default })
}
