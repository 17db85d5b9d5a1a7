package main

import (
	"context"
	"fmt"
	"time"
)

const (
	nameLintel     = "Lintel"
	nameGatekeeper = "Gatekeeper"
	nameEcho       = "echo"
)

// peersSource holds the constraints that are compared, elsewhereSource those that no
// Pod of the benchmarks has to do with.
const (
	peersSource     = "peers"
	elsewhereSource = "peers-elsewhere"
)

// usual is how many constraints match in the cases that vary something else.
const usual = 45

// direct is the pace of a case that measures the CPU of a review.
var direct = pace{clients: 1, turns: 5, length: time.Second, least: 3}

// comparison is a case as it was measured.
type comparison struct {
	Layer      string      `json:"layer"` // in process, direct, API server
	Case       string      `json:"case"`
	Policies   int         `json:"matchingPolicies"`
	Pace       string      `json:"pace"`
	Contenders []*measured `json:"contenders"`
}

func (c *comparison) of(name string) *measured {
	for _, m := range c.Contenders {
		if m.name == name {
			return m
		}
	}
	panic("nobody of this comparison is named " + name)
}

// peers are the compared engines and their inputs.
type peers struct {
	*bench
	library    *library
	gatekeeper *gatekeeper
	workloads  *workloadSet
	corpus     [][]byte
	valid      [][]byte // of them, what the API server takes for a Pod
	programs   map[string]string
}

// measurePeers compares Lintel with other engines on the same policies.
func (b *bench) measurePeers(ctx context.Context) error {
	if err := b.restart(ctx, "manager-peers", b.excluding()...); err != nil { // a new process does not have the memory of earlier parts
		return err
	}
	p := &peers{bench: b}
	defer p.stop()
	if err := p.start(ctx); err != nil {
		return err
	}
	for _, measure := range []func(context.Context) error{
		p.compareInstalled, p.compareSizes, p.compareUsual, p.compareMutation, p.compareCreation, p.compareSwapped, p.compareInProcess, p.compareKyverno,
	} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	if err := p.gatekeeper.clear(ctx); err != nil {
		return err
	}
	return b.deleteSources(ctx, peersSource)
}

func (p *peers) start(ctx context.Context) (err error) {
	if p.library, err = readLibrary(); err != nil {
		return err
	}
	if err := p.prepare(ctx, "gatekeeper", "gator", "gatekeeper-crds", "kyverno", "kyverno-install"); err != nil {
		return err
	}
	suites, err := sampleSuites()
	if err != nil {
		return err
	}
	example, _ := p.workloads.unique.next()
	if p.corpus, err = corpus(example, suites); err != nil {
		return err
	}
	p.gatekeeper, err = newGatekeeper(ctx, p.bench, p.programs, p.library)
	return err
}

// prepare builds programs of the peers, and records the requests.
func (p *peers) prepare(ctx context.Context, programs ...string) (err error) {
	if p.programs, err = buildPeers(ctx, programs...); err != nil {
		return err
	}
	say("starting the peers …")
	recorded, err := p.record(ctx, strictPod(0), strictPod(mediumPod), strictPod(largePod))
	if err != nil {
		return err
	}
	p.workloads, err = newWorkloads(recorded[0], recorded[1], recorded[2])
	return err
}

// stop ends the processes that start began.
func (p *peers) stop() {
	if p.gatekeeper != nil {
		p.gatekeeper.stop()
	}
}

func (p *peers) lintelAt(path string) *contender {
	return &contender{name: nameLintel, endpoint: p.bench.lintel(path), names: lintelNames}
}

func (p *peers) gatekeeperAt(path string) *contender {
	return &contender{name: nameGatekeeper, endpoint: p.gatekeeper.endpoint(path), names: gatekeeperNames}
}

func (p *peers) nothing() *contender { return &contender{name: nameEcho, endpoint: p.echo, names: nil} }

// everyone are all contenders for validation: Lintel, Gatekeeper and the echo.
func (p *peers) everyone() []*contender {
	return []*contender{p.lintelAt("/validate/fail"), p.gatekeeperAt("/v1/admit"), p.nothing()}
}

// deciding are those of everyone that decide.
func (p *peers) deciding() []*contender { return p.everyone()[:2] }

// apply gives Lintel constraints.
func (p *peers) apply(ctx context.Context, source string, constraints []constraint) error {
	files, err := p.library.files(constraints)
	if err != nil {
		return err
	}
	return p.cluster.ApplySource(ctx, source, files, nil)
}

// compareEvery compares the decisions on every step-th object of the corpus.
func (p *peers) compareEvery(ctx context.Context, step int, contenders []*contender) (asked, denied int, err error) {
	var chosen [][]byte
	for i := 0; i < len(p.corpus); i += step {
		chosen = append(chosen, p.corpus[i])
	}
	say("comparing decisions on %d objects …", len(chosen))
	denied, err = compareDecisions(ctx, chosen, contenders)
	return len(chosen), denied, err
}

// compare measures a case with the given contenders.
func (p *peers) compare(ctx context.Context, name string, policies int, w *workload, pace pace, contenders []*contender) (*comparison, error) {
	say("measuring %s: %d matching policies, %s …", name, policies, pace)
	found, err := inTurns(ctx, contenders, w, pace)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p.keepComparison(&comparison{"direct", name, policies, pace.String(), found}), nil
}

func (p *peers) keepComparison(c *comparison) *comparison {
	p.result.Comparisons = append(p.result.Comparisons, c)
	for _, m := range c.Contenders {
		if late := m.outOfTime(); late > 0 {
			p.row(row{What: fmt.Sprintf("reviews that %s did not decide in time: %s, %d matching policies, %s", m.name, c.Case, c.Policies, c.Pace), Lintel: fmt.Sprintf("%d of %d", late, len(m.latencies()))})
		}
		p.result.raw(fmt.Sprintf("%s, %s, %d policies, %s, %s", c.Layer, c.Case, c.Policies, c.Pace, m.name), m.latencies())
	}
	return c
}

// cpuRow compares the CPU of a review; a limit of 0 means that there is no target.
func (p *peers) cpuRow(what string, ours, reference *measured, limit float64) {
	p.row(ratioRow("CPU per review, "+what+" (reference: "+reference.name+")", cpuText(ours), cpuText(reference), ours.cpu(), reference.cpu(), limit))
}

// cpuText is the CPU of a review, with the turns that were lowest and highest.
func cpuText(m *measured) string {
	low, high := m.spread(turnCPU)
	return fmt.Sprintf("%.3f ms (%.3f–%.3f)", m.cpu(), low, high)
}

func p50Text(m *measured) string {
	low, high := m.spread(turnP50)
	return fmt.Sprintf("%.2f ms (%.2f–%.2f)", milliseconds(m.latencies().percentile(50)), low, high)
}

// percentileRow compares one percentile of the latencies.
func (p *peers) percentileRow(what string, percentile float64, ours, reference *measured, limit float64) {
	mine, its := ours.latencies(), reference.latencies()
	p.row(ratioRow(fmt.Sprintf("p%g, %s (reference: %s)", percentile, what, reference.name), mine.percentiles(), its.percentiles(),
		milliseconds(mine.percentile(percentile)), milliseconds(its.percentile(percentile)), limit))
}
