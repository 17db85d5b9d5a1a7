package sidecar

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/types"
)

// Order says how the values of a decision compare, and so how several policies'
// values become one.
type Order string

const (
	// Grant is granted only if every policy that has the rule answers exactly true, and no
	// denial fires.
	Grant Order = "grant"
	// Word is one of an ordered list of words; the strictest counts.
	Word Order = "word"
	// Ceiling is a number of which the smallest counts.
	Ceiling Order = "ceiling"
	// Floor is a number of which the largest counts.
	Floor Order = "floor"
	// Subset is a list or set of which the common members count.
	Subset Order = "subset"
	// United collects values: a policy cannot remove a value of another one, and a narrower one
	// need not repeat it.
	United Order = "united"
	// Unordered has no known order: the value of the broadest scope that defines it counts.
	Unordered Order = "unordered"
)

// words of the Word decisions, from the most permissive; equal ones stand together.
var (
	autonomy       = [][]string{{"autonomous", "auto"}, {"notify"}, {"approve"}, {"block", "blocked"}}
	classification = [][]string{{"public"}, {"internal"}, {"confidential"}, {"restricted"}}
	clearance      = [][]string{{"restricted"}, {"confidential"}, {"internal"}, {"public"}}
)

// orders is the table of orders, by the name of a decision or by how it begins or ends
// where a * stands. The first that fits counts.
var orders = []struct {
	pattern string
	order   Order
	words   [][]string
}{
	{"allow", Grant, nil},
	{"allow_*", Grant, nil},
	{"deny", United, nil},
	{"deny_*", United, nil},
	{"require_*", United, nil},
	{"log_*", United, nil},
	{"blocked_*", United, nil},
	{"autonomy_level", Word, autonomy},
	{"classification", Word, classification},
	{"data_classification", Word, classification},
	{"output_classification", Word, classification},
	{"max_classification*", Word, clearance},
	{"max_*", Ceiling, nil},
	{"*_limit", Ceiling, nil},
	{"retention_*", Floor, nil},
	{"min_*", Floor, nil},
	{"allowed_*", Subset, nil},
	{"trusted_*", Subset, nil},
}

// OrderOf is the order of a decision, by its name.
func OrderOf(decision string) Order {
	order, _ := decisionOrder(decision)
	return order
}

// OrderAmong returns the order of a decision for the policies that define it, broadest first. A
// rule that can only be true or false, such as "allowed_provider if …", never has the order of
// words, numbers or lists, regardless of the prefix of its name.
func OrderAmong(decision string, definers []*Policy) Order {
	order := OrderOf(decision)
	switch order {
	case Word, Ceiling, Floor, Subset:
		if allOf(boolean, atBroadest(definers), decision) {
			return Unordered
		}
	}
	return order
}

// atBroadest are the first policies, which are of one scope.
func atBroadest(policies []*Policy) []*Policy {
	return slices.DeleteFunc(slices.Clone(policies), func(p *Policy) bool { return p.Level != policies[0].Level })
}

// form is the type of a decision as far as its text shows: "" if it may have several types.
type form string

const (
	boolean form = "boolean"
	set     form = "set"
	array   form = "array"
)

// readForms finds the forms of the decisions.
func (p *Policy) readForms() {
	p.forms = map[string]form{}
	for _, decision := range p.Decisions {
		switch p.compiler.TypeEnv.GetByRef(p.Ref(decision)).(type) {
		case *types.Set:
			p.forms[decision] = set
		case *types.Array:
			p.forms[decision] = array
		case types.Boolean:
			p.forms[decision] = boolean
		}
	}
}

// allOf says that a decision can only be of a form, in all policies.
func allOf(wanted form, policies []*Policy, decision string) bool {
	return !slices.ContainsFunc(policies, func(p *Policy) bool { return p.forms[decision] != wanted })
}

// Ranks are the ranks of the words of a decision, the most permissive 1: nil where
// its order is not Word.
func Ranks(decision string) map[string]int {
	_, words := decisionOrder(decision)
	if words == nil {
		return nil
	}
	ranks := map[string]int{}
	for i, equal := range words {
		for _, word := range equal {
			ranks[word] = i + 1
		}
	}
	return ranks
}

func decisionOrder(decision string) (Order, [][]string) {
	for _, entry := range orders {
		before, after, wildcard := strings.Cut(entry.pattern, "*")
		if decision == entry.pattern ||
			wildcard && strings.HasPrefix(decision, before) && strings.HasSuffix(decision, after) {
			return entry.order, entry.words
		}
	}
	return Unordered, nil
}
