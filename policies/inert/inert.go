// Package inert finds rules that compile but can never fire: they require a property that no
// request matched by their policy has.
//
// Invariant: a condition that the analysis does not understand may hold. A condition reported as
// never true is false for every request.
package inert

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// Policy contains the requirements of the entry points of a policy. It is immutable.
type Policy struct {
	entries []entry
	// ephemeral is the first location at which the rules name ephemeralContainers, if any.
	ephemeral *definition.CompileError
	wrong     definition.CompileErrorList
}

// entry is one rule of an entry point.
type entry struct {
	name   string
	at     definition.CompileError
	needs  *need
	absent []atom // conditions that must be undefined
}

// need is a condition: an atom, or all or one of several needs. nil may always hold.
type need struct {
	atom     *atom
	all, any []*need
}

// atom is a condition on one part of the input.
type atom struct {
	at   definition.CompileError
	path string // below input
	// values are the possible values of the part or, if not is set, the excluded ones: nil if it
	// only has to be defined.
	values []string
	not    bool
	// nonNull is set if null does not meet the condition, either.
	nonNull bool
	// negated is set for an operand of an expression below not: the rule requires it although
	// its author may read the expression as true without it.
	negated bool
}

// Wrong returns the comparisons with constants that no request can have, independent of the
// policy's match.
func (p *Policy) Wrong() definition.CompileErrorList { return p.wrong }

// first returns the first atom that can never hold: nil if the need may hold.
func (n *need) first(never func(*atom) string) (*atom, string) {
	switch {
	case n == nil:
		return nil, ""
	case n.atom != nil:
		if why := never(n.atom); why != "" {
			return n.atom, why
		}
		return nil, ""
	case len(n.any) > 0:
		var found *atom
		var reason string
		for _, one := range n.any {
			at, why := one.first(never)
			if at == nil {
				return nil, ""
			}
			if found == nil {
				found, reason = at, why
			}
		}
		return found, reason
	}
	for _, one := range n.all {
		if at, why := one.first(never); at != nil {
			return at, why
		}
	}
	return nil, ""
}

// Read reads the compiled rules of a package, and those that they come to.
func Read(rules []*ast.Rule, reachable map[*ast.Rule]bool, compiler *ast.Compiler) *Policy {
	p := &Policy{}
	for _, rule := range rules {
		name := definition.EntryOf(rule)
		if name == "" {
			continue
		}
		r := &reader{compiler: compiler, budget: maxNeeds}
		one := entry{name: name, at: definition.ErrorAt(rule.Location, ""), needs: r.rule(rule, nil, nil)}
		if rule.Else == nil {
			one.absent = r.absent(rule.Body)
		}
		p.entries = append(p.entries, one)
	}
	for rule := range reachable {
		r := &reader{compiler: compiler, budget: maxNeeds}
		p.wrong = append(p.wrong, r.wrong(rule)...)
		ast.WalkTerms(rule, func(term *ast.Term) bool {
			if text, ok := term.Value.(ast.String); ok && string(text) == ephemeralContainers && term.Location != nil {
				at := definition.ErrorAt(term.Location, "")
				if p.ephemeral == nil || at.Compare(*p.ephemeral) < 0 {
					p.ephemeral = &at
				}
			}
			return false
		})
	}
	p.wrong = definition.Distinct(p.wrong)
	return p
}

const ephemeralContainers = "ephemeralContainers"
