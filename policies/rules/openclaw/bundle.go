package openclaw

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/scope"
)

// Bundle is a PolicyBundle.
type Bundle = openclawv1.PolicyBundle

// FullName tells a policy of a bundle from those of all others of its namespace.
func FullName(b *Bundle, p openclawv1.Policy) string { return b.Name + "/" + p.Name }

// Parser reads and compares policies, and remembers what it found: to judge one bundle,
// all others are wanted. It may be used concurrently.
type Parser struct {
	read     *lru.Cache
	compared *lru.Cache
}

// parserSize is how many policies, and how many comparisons, a Parser remembers.
const parserSize = 4096

// NewParser makes a Parser.
func NewParser() *Parser { return &Parser{read: lru.New(parserSize), compared: lru.New(parserSize)} }

// analyze compares a policy with broader ones. What was cut short is not remembered.
func (c *Parser) analyze(ctx context.Context, child *scope.Policy, parents []*scope.Policy) scope.Verdict {
	hash := sha256.New()
	for _, p := range append([]*scope.Policy{child}, parents...) {
		fmt.Fprintf(hash, "%q %q %q %q\n", p.Level, p.Name, p.Domain.Name, p.Content)
	}
	key := string(hash.Sum(nil))
	if known, ok := c.compared.Get(key); ok {
		return known.(scope.Verdict)
	}
	verdict := scope.Analyze(ctx, child, parents)
	if ctx.Err() == nil {
		c.compared.Add(key, verdict)
	}
	return verdict
}

type parsedPolicy struct {
	policy *scope.Policy
	err    error
}

// Parse reads a policy of a bundle. The error is scope.ParseErrors.
func (c *Parser) Parse(b *Bundle, p openclawv1.Policy) (*scope.Policy, error) {
	domain, known := Domain(p.Domain)
	if !known {
		return nil, scope.ParseErrors{{Policy: FullName(b, p), Message: fmt.Sprintf("unknown domain %q", p.Domain)}}
	}
	level, err := scope.ParseLevel(string(p.Scope))
	if err != nil {
		return nil, scope.ParseErrors{{Policy: FullName(b, p), Message: err.Error()}}
	}
	key := [2]any{FullName(b, p), p}
	if known, ok := c.read.Get(key); ok {
		return known.(parsedPolicy).policy, known.(parsedPolicy).err
	}
	policy, err := scope.Parse(scope.Source{Level: level, Name: FullName(b, p), Domain: domain, Content: p.Content})
	c.read.Add(key, parsedPolicy{policy, err})
	return policy, err
}

func (c *Parser) all(b *Bundle) []parsedPolicy {
	all := make([]parsedPolicy, len(b.Spec.Policies))
	for i, p := range b.Spec.Policies {
		all[i].policy, all[i].err = c.Parse(b, p)
	}
	return all
}

// rank is how narrow the scope of a policy is.
func rank(p openclawv1.Policy) int { return scope.Level(p.Scope).Rank() }

// meet says whether the policies of two bundles may apply to one instance. Enterprise policies apply to every instance of their
// namespace, those of the root namespace to every instance there is.
func meet(b *Bundle, p openclawv1.Policy, other *Bundle, q openclawv1.Policy, root string) bool {
	if p.Domain != q.Domain {
		return false
	}
	if b.Namespace != other.Namespace {
		return isRooted(other, q, root) || isRooted(b, p, root)
	}
	return p.Scope == openclawv1.ScopeEnterprise || q.Scope == openclawv1.ScopeEnterprise ||
		!disjoint(b.Spec.InstanceSelector, other.Spec.InstanceSelector)
}

func isRooted(b *Bundle, p openclawv1.Policy, root string) bool {
	return root != "" && b.Namespace == root && p.Scope == openclawv1.ScopeEnterprise
}

// disjoint says whether certainly no labels are selected by both.
func disjoint(a, b *metav1.LabelSelector) bool {
	if a == nil || b == nil {
		return false
	}
	wanted := requirements(a)
	for _, other := range requirements(b) {
		if slices.ContainsFunc(wanted, func(one metav1.LabelSelectorRequirement) bool { return contradict(one, other) }) {
			return true
		}
	}
	return false
}

func requirements(selector *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	all := slices.Clone(selector.MatchExpressions)
	for key, value := range selector.MatchLabels {
		all = append(all, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
	}
	return all
}

func contradict(a, b metav1.LabelSelectorRequirement) bool {
	if a.Key != b.Key {
		return false
	}
	if a.Operator != metav1.LabelSelectorOpIn && (b.Operator == metav1.LabelSelectorOpIn || a.Operator != metav1.LabelSelectorOpExists) {
		a, b = b, a
	}
	switch {
	case a.Operator == metav1.LabelSelectorOpIn && b.Operator == metav1.LabelSelectorOpIn:
		return !slices.ContainsFunc(a.Values, func(value string) bool { return slices.Contains(b.Values, value) })
	case a.Operator == metav1.LabelSelectorOpIn && b.Operator == metav1.LabelSelectorOpNotIn:
		return !slices.ContainsFunc(a.Values, func(value string) bool { return !slices.Contains(b.Values, value) })
	case a.Operator == metav1.LabelSelectorOpIn || a.Operator == metav1.LabelSelectorOpExists:
		return b.Operator == metav1.LabelSelectorOpDoesNotExist
	}
	return false
}
