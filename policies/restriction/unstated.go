package restriction

import (
	"context"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// This file is about decisions with an order (limits, lists, words) that no broader scope
// makes. A narrower scope that makes one exceeds nothing, since there is nothing to compare
// with. But a gateway may behave differently where a decision is undefined: one that takes
// a missing list for an empty list permits more once there is a list. So the author of the
// first such decision gets a warning.

// firstToDecide are the warnings about decisions of a child which on some input no parent
// makes, although there are parents. What is not known in time is no warning.
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
				continue // without a word of the broadest there is no answer: meet.rego
			}
			c.order = unstated
			verdict := analyzeOne(ctx, c)
			if verdict.Outcome != Counterexample {
				continue
			}
			on = ", such as on input " + shortened(verdict.InputText())
		}
		warnings = append(warnings, fmt.Sprintf(
			"%s of %s stands where no broader scope says any: it exceeds nothing, and gateways go by it; if they permit less without one, have the %s scope say a default%s",
			decision, child.Name, parents[0].Level, on))
	}
	return warnings
}

func hasDefault(p *sidecar.Policy, decision string) bool {
	return slices.ContainsFunc(p.Rules(decision), func(rule *ast.Rule) bool { return rule.Default })
}
