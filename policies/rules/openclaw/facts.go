package openclaw

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// Facts are what Go finds out about a PolicyBundle for the rules, which read it as
// input.facts.
type Facts struct {
	// Changed are the indices of the policies that are new or changed. The others do not cause a
	// denial.
	Changed []int `json:"changed"`
	// Errors are the errors in their texts.
	Errors []TextError `json:"errors"`
	// Comparisons are of each policy that is new or changed with the broader ones of
	// its domain, and with those of its scope, but for those that are proved.
	Comparisons []Comparison `json:"comparisons"`
	// Tightened are policies of other bundles that expand beyond this one's.
	Tightened []Comparison `json:"tightened"`
	// Unordered says in words which rules of policies have no effect, and which are the
	// first to answer although there are broader scopes.
	Unordered []string `json:"unordered"`
	// RootNamespace is the only namespace for enterprise policies, if there is one.
	RootNamespace string `json:"rootNamespace,omitempty"`
}

// TextError is one error in the text of a policy, 1-based; Line is 0 where unknown.
type TextError struct {
	Index   int    `json:"index"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Comparison is what analysis says of a policy and the broader ones.
type Comparison struct {
	Verdict restriction.Outcome `json:"verdict"`
	// Policy is the full name of the narrower policy, and Decision the compared decision.
	Policy   string `json:"policy"`
	Decision string `json:"decision"`
	// Text is the verdict in words, as `lintel prove` says it.
	Text string `json:"text"`
	// Conflict says that the other policy is not broader, but of the same scope.
	Conflict bool `json:"conflict"`
}

// Find gathers the facts about a bundle. old is nil on creation; others are all existing
// bundles without the earlier state of this one. ctx bounds reading and comparing: comparisons
// that do not end in time are unknown. If the policies to compare are not read in time, there
// are no facts, and the error is not about the bundle.
func (c *Parser) Find(ctx context.Context, bundle, old *Bundle, others []*Bundle, root string) (Facts, error) {
	leave, err := c.shares.take(ctx, bundle.Namespace)
	if err != nil {
		return Facts{}, slow(bundle, err)
	}
	defer leave()
	return c.find(ctx, bundle, old, others, root)
}

// FindStored is Find for a bundle that is stored, and never waits for the requests of its
// namespace: a tenant would delay what the controller does for all.
func (c *Parser) FindStored(ctx context.Context, bundle *Bundle, others []*Bundle, root string) (Facts, error) {
	return c.find(ctx, bundle, nil, others, root)
}

func (c *Parser) find(ctx context.Context, bundle, old *Bundle, others []*Bundle, root string) (Facts, error) {
	facts := Facts{Changed: []int{}, Errors: []TextError{}, Comparisons: []Comparison{}, Tightened: []Comparison{}, Unordered: []string{}, RootNamespace: root}
	for i, p := range bundle.Spec.Policies {
		if old == nil || !unchanged(bundle, old, p) {
			facts.Changed = append(facts.Changed, i)
		}
	}
	by := asker{root, root != "" && bundle.Namespace == root}
	own, tooMuch, err := c.readBundle(ctx, by, bundle)
	if err != nil {
		return Facts{}, slow(bundle, err)
	}
	if tooMuch != nil && len(facts.Changed) > 0 {
		facts.Errors = append(facts.Errors, *tooMuch)
		return facts, nil
	}
	var families []family
	for _, i := range facts.Changed {
		if own[i].err != nil {
			facts.Errors = append(facts.Errors, textErrors(i, own[i].err)...)
			continue
		}
		found, err := c.family(ctx, by, bundle, i, own, others)
		if err != nil {
			return Facts{}, err
		}
		families = append(families, found)
	}
	for _, f := range families {
		if !takesPart(f.child) {
			facts.Unordered = append(facts.Unordered, fmt.Sprintf("%s has no rule such as allow, deny or a limit: is a name misspelled?", f.child.Name))
		}
		facts.compare(ctx, c, f.child, f.parents)
		for _, other := range f.peers {
			facts.agree(ctx, f.child, other.policy, f.parents, c.hadConflict(ctx, by, bundle, old, bundle.Spec.Policies[f.index], other))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, tightenedTimeout)
	defer cancel()
	facts.Tightened = c.tightened(ctx, by, bundle, own, old, others)
	return facts, nil
}

// slow is the error that a bundle has not been read in time.
func slow(b *Bundle, err error) error {
	return fmt.Errorf("%w: PolicyBundle %s/%s could not be read in time; retry: %w", admission.ErrBusy, b.Namespace, b.Name, err)
}

// family is a policy of a bundle and those that it is compared with.
type family struct {
	index   int
	child   *sidecar.Policy
	parents []*sidecar.Policy // of broader scopes
	peers   []peer
}

// family reads the policies that a policy is compared with, and no others: policies for other
// instances, or of narrower scopes, must not delay it. Policies that cannot be read are
// omitted.
func (c *Parser) family(ctx context.Context, by asker, bundle *Bundle, index int, own []parsedPolicy, others []*Bundle) (family, error) {
	f := family{index: index, child: own[index].policy}
	p := bundle.Spec.Policies[index]
	add := func(b *Bundle, q openclawv1.Policy, policy *sidecar.Policy) {
		if rank(q) < rank(p) {
			f.parents = append(f.parents, policy)
		} else {
			f.peers = append(f.peers, peer{policy, b})
		}
	}
	for j, q := range bundle.Spec.Policies {
		if j != index && own[j].policy != nil && rank(q) <= rank(p) && meet(bundle, p, bundle, q, by.root) {
			add(bundle, q, own[j].policy)
		}
	}
	for _, b := range others {
		for _, q := range b.Spec.Policies {
			if rank(q) > rank(p) || !meet(bundle, p, b, q, by.root) {
				continue
			}
			policy, err := c.parse(ctx, by, b, q, stored)
			if ctx.Err() != nil {
				return f, slow(b, ctx.Err())
			}
			if err == nil {
				add(b, q, policy)
			}
		}
	}
	return f, nil
}

// compare adds the comparisons that are not proved.
func (f *Facts) compare(ctx context.Context, c *Parser, child *sidecar.Policy, parents []*sidecar.Policy) {
	if len(parents) == 0 {
		return
	}
	if verdict := c.analyze(ctx, child, parents); verdict.Outcome != restriction.Proved {
		f.Comparisons = append(f.Comparisons, newComparison(child, verdict))
	}
	f.Unordered = append(f.Unordered, c.warnings(ctx, child, parents)...)
}

// peer is a policy of the same scope, and its bundle.
type peer struct {
	policy *sidecar.Policy
	bundle *Bundle
}

// agree adds the decisions on which two policies of one scope differ. A difference is only a
// warning if each policy uses the rules internally, so that gateways need not query them, and
// if the conflict existed before: it must not block other changes.
func (f *Facts) agree(ctx context.Context, p, other *sidecar.Policy, parents []*sidecar.Policy, before func(decision string) bool) {
	for _, conflict := range restriction.FindConflicts(ctx, p, []*sidecar.Policy{other}, parents) {
		if conflict.Outcome == restriction.Counterexample && (conflict.Helper || before(conflict.Decision)) {
			f.Unordered = append(f.Unordered, fmt.Sprintf("%s of %s and of %s, which are of one scope, differ on input %s: gateways get no answer there",
				conflict.Decision, p.Name, other.Name, conflict.InputText()))
			continue
		}
		f.Comparisons = append(f.Comparisons, newComparison(p, conflict.Verdict))
	}
}

// hadConflict says of a decision whether a policy conflicted with a peer before this
// request, or was there before the peer was.
func (c *Parser) hadConflict(ctx context.Context, by asker, bundle, old *Bundle, p openclawv1.Policy, other peer) func(string) bool {
	return func(decision string) bool {
		if old == nil {
			created, since := bundle.CreationTimestamp, other.bundle.CreationTimestamp
			return !created.IsZero() && created.Before(&since)
		}
		i := slices.IndexFunc(old.Spec.Policies, func(q openclawv1.Policy) bool {
			return q.Name == p.Name && q.Domain == p.Domain && q.Scope == p.Scope
		})
		if i < 0 {
			return false
		}
		earlier, err := c.parse(ctx, by, old, old.Spec.Policies[i], candidate)
		return err == nil && slices.ContainsFunc(restriction.FindConflicts(ctx, earlier, []*sidecar.Policy{other.policy}, nil), func(conflict restriction.Conflict) bool {
			return conflict.Decision == decision && conflict.Outcome == restriction.Counterexample
		})
	}
}

func newComparison(child *sidecar.Policy, verdict restriction.Verdict) Comparison {
	return Comparison{verdict.Outcome, child.Name, verdict.Decision, verdict.Explain(child), verdict.Conflict}
}

// tightenedTimeout bounds a comparison that only causes a warning: the status of the other
// bundles reports the complete result later.
const tightenedTimeout = 100 * time.Millisecond

// tightened are the policies of other bundles that expand beyond a bundle, and did not expand
// beyond its earlier state.
func (c *Parser) tightened(ctx context.Context, by asker, bundle *Bundle, own []parsedPolicy, old *Bundle, others []*Bundle) []Comparison {
	found := []Comparison{}
	for _, other := range others {
		for _, q := range other.Spec.Policies {
			var parents []*sidecar.Policy
			changed := old == nil
			for i, p := range bundle.Spec.Policies {
				if own[i].policy != nil && rank(p) < rank(q) && meet(other, q, bundle, p, by.root) {
					parents = append(parents, own[i].policy)
					changed = changed || !unchanged(bundle, old, p)
				}
			}
			if len(parents) == 0 || !changed {
				continue
			}
			child, err := c.parse(ctx, by, other, q, stored)
			if ctx.Err() != nil {
				return found
			}
			if err != nil {
				continue
			}
			if verdict := c.analyze(ctx, child, parents); verdict.Outcome == restriction.Counterexample {
				found = append(found, newComparison(child, verdict))
			}
		}
	}
	return found
}

// takesPart says whether a policy has a rule that takes part in a decision.
func takesPart(p *sidecar.Policy) bool {
	return slices.ContainsFunc(p.Decisions, func(name string) bool { return sidecar.OrderOf(name) != sidecar.Unordered })
}

// unchanged says whether a bundle had the policy before, for the same instances.
func unchanged(bundle, old *Bundle, p openclawv1.Policy) bool {
	return slices.Contains(old.Spec.Policies, p) && sameSelector(bundle, old)
}

func sameSelector(a, b *Bundle) bool {
	return a.Spec.InstanceSelector.String() == b.Spec.InstanceSelector.String()
}

func textErrors(index int, err error) []TextError {
	var all sidecar.ParseErrors
	if !errors.As(err, &all) {
		return []TextError{{Index: index, Message: err.Error()}}
	}
	out := make([]TextError, len(all))
	for i, one := range all {
		out[i] = TextError{index, one.Line, one.Column, one.Message}
	}
	return out
}
