package restriction

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// comparison is one decision of a child and of its parents.
type comparison struct {
	decision string
	order    sidecar.Order
	ranks    map[string]int
	child    *sidecar.Policy
	// parents are broadest first, definers those of them that have the decision.
	parents, definers []*sidecar.Policy
	// ungrantable says that the broadest scope does not have the grant.
	ungrantable bool
	// changes is how many inputs are tried that are made of others.
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

// unstated is what a comparison looks for in place of an order: an input on which the
// child answers and no parent does.
const unstated sidecar.Order = "unstated"

// denials are the decisions of the child whose firing takes its grant back.
func (c *comparison) denials() []string {
	var names []string
	for _, name := range []string{"deny", "deny" + strings.TrimPrefix(c.decision, "allow")} {
		if c.child.Defines(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// isTotal says whether one of any two values is stricter.
func (c *comparison) isTotal() bool { return c.order != sidecar.Subset && c.order != sidecar.Unordered }

// words are in their order.
func (c *comparison) words() []string {
	return slices.SortedFunc(maps.Keys(c.ranks), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.ranks[a], c.ranks[b]), cmp.Compare(a, b))
	})
}

// maxChanges limits the inputs of a search that are mutations of other inputs.
const maxChanges = 5000
