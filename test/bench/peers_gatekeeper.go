package main

import (
	"context"
	"fmt"
	"time"
)

// install gives both engines the same constraints, and nothing else.
func (p *peers) install(ctx context.Context, constraints []constraint) error {
	if err := p.apply(ctx, peersSource, constraints); err != nil {
		return err
	}
	return p.gatekeeper.install(ctx, constraints)
}

// compareInstalled: the cost of constraints that do not match the object. They are added and
// removed between Lintel's turns. Gatekeeper, which restarts for each set, is omitted: the
// comparison is of Lintel with itself.
func (p *peers) compareInstalled(ctx context.Context) error {
	const matching, others, rounds = 10, 990, 3
	few, many := p.library.matching(matching), p.library.elsewhere(others)
	if err := p.apply(ctx, peersSource, few); err != nil {
		return err
	}
	lintel := p.lintelAt("/validate/fail")
	alone, among := &measured{name: lintel.name}, &measured{name: lintel.name}
	say("measuring 10 matching policies alone and among 1,000 …")
	round := direct
	round.turns = 2
	for range rounds {
		for _, found := range []*measured{alone, among} {
			taken, err := inTurns(ctx, []*contender{lintel}, p.workloads.unique, round)
			if err != nil {
				return err
			}
			found.turns, found.resident = append(found.turns, taken[0].turns...), taken[0].resident
			if found == alone {
				err = p.apply(ctx, elsewhereSource, many)
			} else {
				err = p.deleteSource(ctx, elsewhereSource)
			}
			if err != nil {
				return err
			}
		}
	}
	p.keepComparison(&comparison{"direct", "10 installed", matching, direct.String(), []*measured{alone}})
	p.keepComparison(&comparison{"direct", "1,000 installed, 1 % matching", matching, direct.String(), []*measured{among}})
	alone.name += " with 10 installed"
	p.cpuRow("1,000 installed, 1 % matching", among, alone, 1.2)
	alone.name = lintel.name
	return nil
}

// compareSizes: by the number of constraints that match.
func (p *peers) compareSizes(ctx context.Context) error {
	for _, n := range []int{0, 10, 200} {
		if n == 0 {
			// A source without policies cannot be: Lintel gets one about another kind.
			if err := p.apply(ctx, peersSource, p.library.elsewhere(1)); err != nil {
				return err
			}
			if err := p.gatekeeper.install(ctx, nil); err != nil {
				return err
			}
		} else if err := p.install(ctx, p.library.matching(n)); err != nil {
			return err
		}
		if _, _, err := p.compareEvery(ctx, 20, p.deciding()); err != nil {
			return err
		}
		c, err := p.compare(ctx, "unique Pods", n, p.workloads.unique, direct, p.everyone())
		if err != nil {
			return err
		}
		p.cpuRow(fmt.Sprintf("%d matching, unique Pods", n), c.of(nameLintel), c.of(nameGatekeeper), 0)
	}
	return nil
}

// compareUsual are the cases with one set of constraints.
func (p *peers) compareUsual(ctx context.Context) error {
	if err := p.install(ctx, p.library.matching(usual)); err != nil {
		return err
	}
	asked, denied, err := p.compareEvery(ctx, 1, p.deciding())
	if err != nil {
		return err
	}
	p.row(row{
		What:   fmt.Sprintf("decisions on %d objects by %d policies: those that differ from Gatekeeper's", asked, usual),
		Lintel: "0", Reference: fmt.Sprintf("%d denied", denied), Target: "0", Verdict: verdict(0, 0),
	})
	if err := p.compareNearCopies(ctx); err != nil {
		return err
	}
	if err := p.compareBytes(ctx); err != nil {
		return err
	}
	return p.compareClients(ctx)
}

// compareNearCopies: by how much objects differ.
func (p *peers) compareNearCopies(ctx context.Context) error {
	unique, err := p.compare(ctx, "unique Pods", usual, p.workloads.unique, direct, p.everyone())
	if err != nil {
		return err
	}
	p.cpuRow("45 matching, unique Pods", unique.of(nameLintel), unique.of(nameGatekeeper), 1.0/25)
	replicas, err := p.compare(ctx, "replicas of one Deployment", usual, p.workloads.replicas, direct, p.everyone())
	if err != nil {
		return err
	}
	p.cpuRow("45 matching, replicas", replicas.of(nameLintel), replicas.of(nameGatekeeper), 0)
	p.cpuRow("45 matching, replicas", replicas.of(nameLintel), replicas.of(nameEcho), 2)
	for _, each := range []struct {
		name string
		load *workload
	}{{"updates of one field", p.workloads.updates}, {"denied Pods", p.workloads.denied}} {
		c, err := p.compare(ctx, each.name, usual, each.load, direct, p.everyone())
		if err != nil {
			return err
		}
		p.cpuRow("45 matching, "+each.name, c.of(nameLintel), c.of(nameGatekeeper), 0)
	}
	return nil
}

// Entries of the environment of larger Pods, which take about 160 bytes each with
// what the API server notes about them.
const (
	mediumPod = 280
	largePod  = 3140
)

// compareBytes: by the size of the object.
func (p *peers) compareBytes(ctx context.Context) error {
	long := direct
	long.turns, long.length = 3, 2*time.Second
	medium, err := p.compare(ctx, fmt.Sprintf("object of %d KiB", p.workloads.medium.size()>>10), usual, p.workloads.medium, long, p.everyone())
	if err != nil {
		return err
	}
	large, err := p.compare(ctx, fmt.Sprintf("object of %d KiB", p.workloads.large.size()>>10), usual, p.workloads.large, long, p.everyone())
	if err != nil {
		return err
	}
	for _, name := range []string{nameLintel, nameGatekeeper} {
		limit := 1.5
		if name == nameGatekeeper {
			limit = 0
		}
		perByte := func(c *comparison, w *workload) float64 { return c.of(name).cpu() * 1e6 / float64(w.size()) }
		a, b := perByte(large, p.workloads.large), perByte(medium, p.workloads.medium)
		p.row(ratioRow(fmt.Sprintf("CPU per byte, object of %d KiB (reference: of %d KiB), %s", p.workloads.large.size()>>10, p.workloads.medium.size()>>10, name),
			fmt.Sprintf("%.0f ns", a), fmt.Sprintf("%.0f ns", b), a, b, limit))
	}
	return nil
}

// compareClients: a busy cluster, with few and with many parallel clients.
func (p *peers) compareClients(ctx context.Context) error {
	for _, clients := range []int{1, 4, 16} {
		load := pace{clients: clients, turns: 3, length: 3 * time.Second}
		c, err := p.compare(ctx, "mixed load", usual, p.workloads.mixed, load, p.everyone())
		if err != nil {
			return err
		}
		what := fmt.Sprintf("45 matching, mixed load, %s", plural(clients, "client"))
		limit := 0.0
		if clients == 16 {
			limit = 1.0 / 10
		}
		p.percentileRow(what, 99, c.of(nameLintel), c.of(nameGatekeeper), limit)
		if clients == 16 {
			ours, theirs := c.of(nameLintel).resident, c.of(nameGatekeeper).resident
			p.row(ratioRow("resident memory under that load (reference: Gatekeeper)", mebibytes(ours), mebibytes(theirs), float64(ours), float64(theirs), 1.0/2))
		}
	}
	// A rate that Gatekeeper keeps up with.
	c, err := p.compare(ctx, "mixed load", usual, p.workloads.mixed, pace{rate: 15, turns: 3, length: 5 * time.Second}, p.everyone())
	if err != nil {
		return err
	}
	p.percentileRow("45 matching, mixed load, 15 a second", 50, c.of(nameLintel), c.of(nameGatekeeper), 0)
	return nil
}
