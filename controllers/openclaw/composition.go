package openclaw

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// composition is what the OPA of a gateway loads.
type composition struct {
	files map[string]string
	// revision is the digest of the files.
	revision string
	// left are the policies that bind the gateway and did not fit, narrowest scope first.
	left []leftOut
	// failure is why there is none: what binds everybody must never be left out.
	failure *problem
}

// leftOut are the policies of one scope of a bundle that a gateway goes without.
type leftOut struct {
	bundle   string // as content.name
	level    sidecar.Level
	policies int
	why      *problem
}

// applied is a bundle that binds an instance: wholly, or only by its enterprise
// policies.
type applied struct {
	content        *content
	enterpriseOnly bool
	// root says that the bundle is the root namespace's.
	root bool
}

// composedPart is the unit of composition: the policies of one scope in a bundle.
type composedPart struct {
	content  *content
	level    sidecar.Level
	policies []*sidecar.Policy
	size     int
	effort   int // as sidecar.MaxEffort counts
	root     bool
}

// maxGatewayEffort limits the effort of all policies of a gateway. Composing them takes at most
// 1.5 seconds and 140 MiB.
const maxGatewayEffort = 200_000

// compose joins policies into what a gateway loads.
func (l *library) compose(bundles []applied) *composition {
	revisions := make([]string, len(bundles))
	size := 0
	for i, b := range bundles {
		revisions[i] = fmt.Sprint(b.content.revision, b.enterpriseOnly, b.root)
		size += sizeOf(b.content.files)
	}
	slices.Sort(revisions)
	return l.composed.get(strings.Join(revisions, "\n"), 2*size, func() *composition {
		return composed(partsOf(bundles), l.rootNamespace != "")
	})
}

// composed joins as many parts as a ConfigMap holds, broadest first: what a narrower
// scope writes takes no room from a broader one. Parts of the broadest scope are never
// left out; where they fail, so does the whole.
func composed(parts []composedPart, rooted bool) *composition {
	c := &composition{}
	files, why := join(parts)
	for why != nil {
		var i int
		var tooLarge bool
		if why.reason == ReasonTooLarge {
			i, tooLarge = firstTooLarge(parts)
		} else {
			i = firstFailing(parts)
		}
		if parts[i].essential(rooted) {
			return &composition{failure: why}
		}
		c.left = slices.Insert(c.left, 0, leftOut{parts[i].content.name, parts[i].level, len(parts[i].policies), why})
		parts = slices.Delete(slices.Clone(parts), i, i+1)
		if tooLarge {
			if _, still := firstTooLarge(parts); still {
				continue // it is not worth a try yet
			}
		}
		files, why = join(parts)
	}
	c.files, c.revision = files, hashOf(files)
	return c
}

// essential reports whether a part binds all tenants: without it, gateways would allow actions
// that no narrower scope may allow.
func (p composedPart) essential(rooted bool) bool { return p.level.Rank() == 0 && p.root == rooted }

// partsOf are the parts of bundles, in the order in which they get room: the root's,
// then broader scopes first, and of one scope the smaller ones.
func partsOf(bundles []applied) []composedPart {
	var parts []composedPart
	for _, b := range bundles {
		byLevel := map[sidecar.Level]*composedPart{}
		for _, policy := range b.content.policies {
			if b.enterpriseOnly && policy.Level.Rank() > 0 {
				continue
			}
			p := byLevel[policy.Level]
			if p == nil {
				p = &composedPart{content: b.content, level: policy.Level, root: b.root}
				byLevel[policy.Level] = p
			}
			p.policies = append(p.policies, policy)
			p.size += policy.Size()
			p.effort += policy.Effort
		}
		for _, p := range byLevel {
			parts = append(parts, *p)
		}
	}
	slices.SortFunc(parts, func(a, b composedPart) int {
		if a.root != b.root {
			return map[bool]int{true: -1, false: 1}[a.root]
		}
		return cmp.Or(a.level.Rank()-b.level.Rank(), a.size-b.size, strings.Compare(a.content.name, b.content.name))
	})
	return parts
}

// emptySize is what a composition without policies takes.
var emptySize = sync.OnceValue(func() int {
	files, _ := join(nil)
	return sidecar.SignedSize(files)
})

// firstTooLarge is the first part that finds no room behind those before it. Sizes are
// upper bounds: where all have room by them, so they have, and none is found.
func firstTooLarge(parts []composedPart) (i int, found bool) {
	size, effort := emptySize(), 0
	for i, p := range parts {
		size, effort = size+p.size, effort+p.effort
		if size > maxConfigMap || effort > maxGatewayEffort {
			return i, true
		}
	}
	return len(parts) - 1, false
}

// firstFailing is the part with which those before it do not compose.
func firstFailing(parts []composedPart) int {
	return sort.Search(len(parts)-1, func(i int) bool {
		_, why := join(parts[:i+1])
		return why != nil && why.reason == ReasonNotComposed
	})
}

// join composes parts into the files of a bundle that a ConfigMap can hold.
func join(parts []composedPart) (map[string]string, *problem) {
	var all []*sidecar.Policy
	effort := 0
	for _, p := range parts {
		all = append(all, p.policies...)
		effort += p.effort
	}
	if effort > maxGatewayEffort {
		return nil, &problem{ReasonTooLarge, fmt.Sprintf("the policies that bind a gateway have %d words, names and operators together, and there is room for %d", effort, maxGatewayEffort)}
	}
	files, err := sidecar.Compose(all)
	if err != nil {
		return nil, &problem{ReasonNotComposed, "the policies do not compose: " + err.Error()}
	}
	if size := sidecar.SignedSize(files); size > maxConfigMap {
		return nil, &problem{ReasonTooLarge, fmt.Sprintf("the policies that bind a gateway take %d bytes together, and a ConfigMap holds %d", size, maxConfigMap)}
	}
	return files, nil
}

// leftProblem says what a gateway goes without: nil where it has all.
func (c *composition) leftProblem() *problem {
	if len(c.left) == 0 {
		return nil
	}
	var names []string
	for _, l := range c.left {
		names = append(names, fmt.Sprintf("%s policies of PolicyBundle %s (%d)", l.level, l.bundle, l.policies))
	}
	return &problem{c.left[0].why.reason, fmt.Sprintf(
		"not in force here: %s; %s. Broader scopes go first: make these smaller, or have them select fewer instances",
		strings.Join(names, ", "), c.left[0].why.message)}
}

// leftOf are the parts of a bundle that a gateway goes without.
func (c *composition) leftOf(bundle string) []leftOut {
	return slices.DeleteFunc(slices.Clone(c.left), func(l leftOut) bool { return l.bundle != bundle })
}
