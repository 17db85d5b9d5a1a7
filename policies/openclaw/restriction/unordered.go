package restriction

import (
	"context"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// This file is about decisions whose values have no known order. The value of the broadest
// scope takes effect if all policies of that scope agree.

// Warnings returns the warnings about a child that compiles and expands nothing: about
// negations that the OPA of gateways may evaluate wrongly; about decisions without effect,
// because a broader scope defines them with different rules and their values have no known
// order; and about decisions that no broader scope defines.
func Warnings(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) []string {
	var warnings []string
	if wrong := describeNegation([]*sidecar.Policy{child}); wrong != "" {
		warnings = append(warnings, wrong)
	}
	if len(parents) == 0 {
		return warnings
	}
	parents = broadestFirst(parents)
	warnings = append(warnings, firstToDecide(ctx, child, parents)...)
	for _, decision := range child.Decisions {
		c := newComparison(decision, child, parents)
		if c.order != sidecar.Unordered {
			continue
		}
		i := slices.IndexFunc(c.definers, func(p *sidecar.Policy) bool { return p.Level.Rank() < child.Level.Rank() })
		if i < 0 || sameRules(ctx, decision, child, c.definers[i]) {
			continue
		}
		p := c.definers[i]
		effect := "has no effect"
		if uses(child, decision) {
			effect = "counts in the rules of this policy only"
		}
		warnings = append(warnings, fmt.Sprintf("%s of %s %s: %s of the %s scope defines it, and values of this name have no known order",
			decision, child.Name, effect, p.Name, p.Level))
	}
	return warnings
}

// sameRules reports whether two policies have the same rules of a name, and the same rules
// that these reference. It is false if the comparison runs out of time.
func sameRules(ctx context.Context, decision string, a, b *sidecar.Policy) bool {
	text := func(p *sidecar.Policy) string {
		steps, fresh := 0, 0
		t := newTranslation(ctx, p, &steps, &fresh)
		return t.text(ast.NewTerm(p.Ref(decision)), nil)
	}
	defer ignoreExhaustion()
	return text(a) == text(b)
}

// uses reports whether a rule of another name references the rules of a name.
func uses(p *sidecar.Policy, name string) bool {
	return slices.ContainsFunc(p.AllRules(), func(rule *ast.Rule) bool {
		used := false
		if head, ok := rule.Head.Ref()[0].Value.(ast.Var); !ok || string(head) != name {
			ast.WalkRefs(rule, func(ref ast.Ref) bool {
				referenced, own := p.RuleName(ref)
				used = used || own && referenced == name
				return used
			})
		}
		return used
	})
}

// FindConflicts returns the decisions without an order on which a policy and a peer of its scope
// differ, with an input as evidence, or are not proved to agree. In one scope, such a
// decision is undefined. Helper is true if both policies use the rules in other rules of
// their own, so that gateways probably do not query them.
func FindConflicts(ctx context.Context, p *sidecar.Policy, peers, parents []*sidecar.Policy) []Conflict {
	var conflicts []Conflict
	for _, decision := range p.Decisions {
		if sidecar.OrderOf(decision) == sidecar.Grant || sidecar.OrderOf(decision) == sidecar.United ||
			slices.ContainsFunc(parents, func(parent *sidecar.Policy) bool { return parent.Defines(decision) }) {
			continue
		}
		for _, peer := range peers {
			c := newComparison(decision, p, []*sidecar.Policy{peer})
			if c.order != sidecar.Unordered || !peer.Defines(decision) || sameRules(ctx, decision, p, peer) {
				continue
			}
			if verdict := analyzeOne(ctx, c); verdict.Outcome != Proved {
				verdict.Conflict = true
				conflicts = append(conflicts, Conflict{verdict, uses(p, decision) && uses(peer, decision)})
			}
		}
	}
	return conflicts
}

// Conflict is a decision on which two policies of one scope differ.
type Conflict struct {
	Verdict
	Helper bool
}
