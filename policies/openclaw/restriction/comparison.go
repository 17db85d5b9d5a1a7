package restriction

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// comparison compares one decision of a child with its parents.
type comparison struct {
	decision string
	order    sidecar.Order
	ranks    map[string]int
	child    *sidecar.Policy
	// parents are broadest first, definers those of them that have the decision.
	parents, definers []*sidecar.Policy
	// ungrantable is true if the broadest scope does not define the grant.
	ungrantable bool
	// changes limits the mutated inputs of the search.
	changes int
	// bounds are those of the formulas.
	bounds bounds
}

func newComparison(decision string, child *sidecar.Policy, parents []*sidecar.Policy) *comparison {
	c := &comparison{decision: decision, ranks: sidecar.Ranks(decision), child: child, parents: parents, changes: maxChanges, bounds: defaultBounds}
	c.definers = slices.DeleteFunc(slices.Clone(parents), func(p *sidecar.Policy) bool { return !p.Defines(decision) })
	c.order = sidecar.OrderAmong(decision, append(slices.Clone(c.definers), child))
	root := parents[0].Level
	c.ungrantable = c.order == sidecar.Grant && child.Level != root && (len(c.definers) == 0 || c.definers[0].Level != root)
	return c
}

// unstated replaces the order of a comparison that searches for an input on which the
// decision is defined in the child and in no parent.
const unstated sidecar.Order = "unstated"

// denials are the decisions of the child that override its grant when they fire.
func (c *comparison) denials() []string {
	var names []string
	for _, name := range []string{"deny", "deny" + strings.TrimPrefix(c.decision, "allow")} {
		if c.child.Defines(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// isTotal reports whether the order is total: of two different values, one is stricter.
func (c *comparison) isTotal() bool { return c.order != sidecar.Subset && c.order != sidecar.Unordered }

// words are the valid words, in the order of their ranks.
func (c *comparison) words() []string {
	return slices.SortedFunc(maps.Keys(c.ranks), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.ranks[a], c.ranks[b]), cmp.Compare(a, b))
	})
}

// maxChanges limits the inputs of a search that are mutations of other inputs.
const maxChanges = 5000
