package openclaw

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// Bundle is a PolicyBundle.
type Bundle = openclawv1.PolicyBundle

// FullName is the name of a policy of a bundle, unique in its namespace.
func FullName(b *Bundle, p openclawv1.Policy) string { return b.Name + "/" + p.Name }

// Parser reads and compares policies, and caches the results: the evaluation of one bundle
// needs all bundles that may bind the same instances. It may be used concurrently. One bundle
// of each namespace is evaluated at a time, including dry runs.
type Parser struct {
	shares fairQueue
	// reading are the turns to read short texts, and long ones: however many requests there
	// are, one of each is read at a time, which takes what sidecar.MaxEffort says at most.
	// Those who write short texts never wait for long ones.
	reading  [2]requestQueue
	mutex    sync.Mutex // over read
	read     [classes]memory
	compared *lru.Cache
}

// class is what a text is to a request.
type class int

const (
	// candidate is a text that a request has: it may never be stored.
	candidate class = iota
	// stored is a text of another bundle, and rooted one of the root namespace.
	stored
	rooted
	classes
)

// memory is the cache for the texts of a class.
type memory struct {
	policies *lru.Cache // parsedPolicy by key
	effort   int        // of all of them
}

// asker is the request for which texts are read.
type asker struct {
	root string // the root namespace, if there is one
	// first says that it is of the root namespace.
	first bool
}

const (
	// parserSize is how many policies, and how many comparisons, a Parser remembers.
	parserSize = 4096
	// parserEffort is the effort of the policies that it remembers, each of which takes
	// up to 400 bytes of memory for every unit of it.
	parserEffort = 200_000
	// candidateEffort is the part of it that candidates have before stored texts.
	candidateEffort = 60_000
	// shortText is the length, in bytes, of the longest text that counts as short.
	shortText = 8 << 10
)

// NewParser makes a Parser.
func NewParser() *Parser {
	c := &Parser{compared: lru.New(parserSize)}
	for i := range c.read {
		of := &c.read[i]
		of.policies = lru.NewWithEvictionFunc(parserSize, func(_ lru.Key, value any) { of.effort -= value.(parsedPolicy).effort })
	}
	return c
}

// analyze compares a policy with broader ones.
func (c *Parser) analyze(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) restriction.Verdict {
	return found(ctx, c, "verdict", restriction.Analyze, child, parents)
}

// warnings are those about a policy in relation to broader ones.
func (c *Parser) warnings(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) []string {
	return found(ctx, c, "warnings", restriction.Warnings, child, parents)
}

// found is the result of a comparison of policies, which runs once. The result of an
// interrupted comparison is not cached.
func found[T any](ctx context.Context, c *Parser, what string, compare func(context.Context, *sidecar.Policy, []*sidecar.Policy) T, child *sidecar.Policy, parents []*sidecar.Policy) T {
	hash := sha256.New()
	fmt.Fprintln(hash, what)
	for _, p := range append([]*sidecar.Policy{child}, parents...) {
		fmt.Fprintf(hash, "%q %q %q %q\n", p.Level, p.Name, p.Domain.Name, p.Content)
	}
	key := string(hash.Sum(nil))
	if known, ok := c.compared.Get(key); ok {
		return known.(T)
	}
	result := compare(ctx, child, parents)
	if ctx.Err() == nil {
		c.compared.Add(key, result)
	}
	return result
}

type parsedPolicy struct {
	policy *sidecar.Policy
	err    error // sidecar.ParseErrors
	effort int
}

// parse reads a policy of a bundle. The error is sidecar.ParseErrors, or that of the
// context, which says nothing about the policy.
func (c *Parser) parse(ctx context.Context, by asker, b *Bundle, p openclawv1.Policy, is class) (*sidecar.Policy, error) {
	domain, known := Domain(p.Domain)
	if !known {
		return nil, sidecar.ParseErrors{{File: FullName(b, p), Message: fmt.Sprintf("unknown domain %q", p.Domain)}}
	}
	level, err := sidecar.ParseLevel(string(p.Scope))
	if err != nil {
		return nil, sidecar.ParseErrors{{File: FullName(b, p), Message: err.Error()}}
	}
	if is == stored && by.root != "" && b.Namespace == by.root {
		is = rooted
	}
	key := policyKey{FullName(b, p), p}
	if known, ok := c.known(key, is); ok {
		return known.policy, known.err
	}
	reading := &c.reading[0]
	if len(p.Content) > shortText {
		reading = &c.reading[1]
	}
	leave, err := reading.take(ctx, by.first)
	if err != nil {
		return nil, err
	}
	defer leave()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if known, ok := c.known(key, is); ok { // by now
		return known.policy, known.err
	}
	found := parsedPolicy{effort: 1 + len(p.Content)/bytesPerEffort}
	found.policy, found.err = sidecar.Parse(sidecar.Source{Level: level, Name: FullName(b, p), Domain: domain, Content: p.Content})
	if found.policy != nil {
		found.effort += found.policy.Effort
	}
	c.keep(key, found, is)
	return found.policy, found.err
}

// policyKey identifies a policy.
type policyKey struct {
	name   string
	policy openclawv1.Policy
}

// known is a policy as it was read before. A candidate that is stored by now is remembered
// as such.
func (c *Parser) known(key policyKey, is class) (found parsedPolicy, ok bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for of := range c.read {
		value, remembered := c.read[of].policies.Get(key)
		if !remembered {
			continue
		}
		found = value.(parsedPolicy)
		if class(of) < is {
			c.read[of].policies.Remove(key)
			c.add(key, found, is)
		}
		return found, true
	}
	return parsedPolicy{}, false
}

// bytesPerEffort is the size of the text that takes as much memory as the results of one unit
// of effort.
const bytesPerEffort = 400

// keep remembers what a text is.
func (c *Parser) keep(key policyKey, found parsedPolicy, is class) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.add(key, found, is)
}

// add caches a policy, and evicts the least recently used ones: candidates beyond their share
// before stored ones, and those of the root namespace last. The caller holds the mutex.
func (c *Parser) add(key policyKey, found parsedPolicy, is class) {
	c.read[is].policies.Add(key, found)
	c.read[is].effort += found.effort
	for c.effort() > parserEffort {
		switch {
		case c.read[candidate].effort > candidateEffort || c.read[stored].policies.Len() == 0 && c.read[candidate].policies.Len() > 0:
			c.read[candidate].policies.RemoveOldest()
		case c.read[stored].policies.Len() > 0:
			c.read[stored].policies.RemoveOldest()
		default:
			c.read[rooted].policies.RemoveOldest()
		}
	}
}

// effort is that of all policies that are remembered.
func (c *Parser) effort() (sum int) {
	for _, of := range c.read {
		sum += of.effort
	}
	return sum
}

// readBundle reads all policies of a bundle. Where they are too much to read together,
// tooMuch says so, and those from the one that it names are missing.
func (c *Parser) readBundle(ctx context.Context, by asker, b *Bundle) (all []parsedPolicy, tooMuch *TextError, err error) {
	all = make([]parsedPolicy, len(b.Spec.Policies))
	var effort sidecar.Effort
	for i, p := range b.Spec.Policies {
		if err := effort.AddText(FullName(b, p), p.Content); err != nil {
			return all, &textErrors(i, err)[0], nil
		}
	}
	for i, p := range b.Spec.Policies {
		policy, err := c.parse(ctx, by, b, p, candidate)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err == nil {
			if err := effort.AddPolicy(policy); err != nil {
				return all, &textErrors(i, err)[0], nil
			}
		}
		all[i] = parsedPolicy{policy: policy, err: err}
	}
	return all, nil, nil
}

// rank is how narrow the scope of a policy is.
func rank(p openclawv1.Policy) int { return sidecar.Level(p.Scope).Rank() }

// meet says whether the policies of two bundles may apply to one instance. Enterprise
// policies apply to every instance of their namespace, those of the root namespace to
// every instance there is.
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
