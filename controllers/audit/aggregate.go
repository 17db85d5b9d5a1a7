package audit

import (
	"fmt"
	"maps"
	"sync"

	"github.com/lintel-policy/lintel/policies/audit"
)

// view contains the results of all replicas.
type view struct {
	*state
	totals map[audit.PolicyKey]audit.Counts
	// violations are the first ones of constraints.
	violations map[audit.PolicyKey][]violation
	problem    string // why reports are not complete
}

// aggregator adds up the results of the replicas, on the leader.
type aggregator struct {
	progress func() *progress
	ledger   *audit.Ledger
	problem  func() string // of this replica
	// summaries returns the summary of another replica: nil if there is none.
	summaries func(replica string) *summary

	mu sync.Mutex // over the field below
	// last are the totals of each source when all replicas had reported it last.
	last map[audit.PolicyKey]audit.Counts
}

// view is nil before audit has started. The totals of a source for which the results of a replica
// are missing are the last ones that were complete: adding up others would count objects twice, or
// not at all, while they move. No policy of such a source counts as compliant.
func (g *aggregator) view() *view {
	p := g.progress()
	if p == nil {
		return nil
	}
	return g.combine(p, summarize(p, g.ledger, g.problem()))
}

// own is the summary of this replica for the leader: nil before audit has started, and while its
// Lease has expired.
func (g *aggregator) own() *summary {
	p := g.progress()
	if p == nil || p.membership.held {
		return nil
	}
	s := summarize(p, g.ledger, g.problem())
	return &s
}

// combine adds the summaries of the other replicas to the own one.
func (g *aggregator) combine(p *progress, own summary) *view {
	v := &view{state: newState(p), totals: map[audit.PolicyKey]audit.Counts{}, violations: map[audit.PolicyKey][]violation{}}
	unknown := map[string]bool{}
	missing := func(source, message string) {
		unknown[source] = true
		v.unknown(source, message)
	}
	var found []*summary
	for _, replica := range p.membership.shards.Members() {
		one := &own
		if replica != own.Replica {
			one = g.summaries(replica)
		}
		if problem := p.membership.rejects(replica, one); problem != "" {
			for source := range v.sources {
				missing(source, problem)
			}
			continue
		}
		for source := range v.sources {
			if one.Identities[source] != p.identities[source] {
				missing(source, fmt.Sprintf("replica %s evaluates another revision", replica))
			}
		}
		v.add(p, replica, one.Kinds)
		if v.problem == "" && one.Problem != "" {
			v.problem = one.Problem
		}
		found = append(found, one)
	}
	for _, one := range found {
		v.count(one)
	}
	g.settle(v, unknown)
	return v
}

// rejects is why the summary of a replica does not count; empty if it does.
func (m membership) rejects(replica string, s *summary) string {
	switch {
	case m.held:
		return "the Lease of the leading replica " + m.shards.Self() + " has expired"
	case s == nil:
		return fmt.Sprintf("replica %s has not reported its results yet", replica)
	case s.Process != m.processes[replica]:
		return fmt.Sprintf("replica %s was restarted, and has not reported its results yet", replica)
	case s.Members != m.shards.Digest():
		return fmt.Sprintf("replica %s is taking over objects, or leaving objects to other replicas", replica)
	default:
		return ""
	}
}

// count adds the results of a replica.
func (v *view) count(s *summary) {
	for _, one := range s.Policies {
		key := one.key()
		counts := v.totals[key]
		if counts == nil {
			counts = audit.Counts{}
			v.totals[key] = counts
		}
		for outcome, n := range one.Counts {
			counts[outcome] += n
		}
		if len(one.Violations) > 0 {
			v.violations[key] = mergeViolations(v.violations[key], one.Violations)
		}
	}
}

// settle keeps the totals of sources that are known completely, and replaces those of others by the
// last that were.
func (g *aggregator) settle(v *view, unknown map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(v.totals, func(key audit.PolicyKey, _ audit.Counts) bool { return unknown[key.Source] })
	for key, counts := range g.last {
		if unknown[key.Source] {
			v.totals[key] = counts
		}
	}
	g.last = map[audit.PolicyKey]audit.Counts{}
	for key, counts := range v.totals {
		g.last[key] = maps.Clone(counts)
	}
}
