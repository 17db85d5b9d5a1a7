package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lintel-policy/lintel/test/installation"
)

// withoutMemo starts a manager that evaluates every policy for every review.
var withoutMemo = []string{}

const (
	nameLintel     = "Lintel"
	nameWithout    = "Lintel without memo"
	nameGatekeeper = "Gatekeeper"
	nameEcho       = "echo"
)

const peersSource = "peers"

// direct is the pace of a case in which the CPU of a review is what is asked for.
var direct = pace{clients: 1, turns: 5, length: time.Second, least: 5}

// peers is what is compared.
type peers struct {
	*bench
	library    *library
	gatekeeper *gatekeeper
	without    *installation.Manager // a second replica
	workloads  *workloads
	corpus     [][]byte
	programs   map[string]string
}

// measurePeers compares Lintel with other engines on the same policies.
func (b *bench) measurePeers(ctx context.Context) (err error) {
	p := &peers{bench: b}
	defer p.stop()
	if err := p.start(ctx); err != nil {
		return err
	}
	for _, measure := range []func(context.Context) error{p.compareWithGatekeeper} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *peers) start(ctx context.Context) (err error) {
	if p.programs, err = buildPeers(ctx); err != nil {
		return err
	}
	say("starting the peers …")
	if p.library, err = readLibrary(); err != nil {
		return err
	}
	recorded, err := p.record(ctx, strictPod(0), strictPod(300), strictPod(3000))
	if err != nil {
		return err
	}
	if p.workloads, err = newWorkloads(recorded[0], recorded[1], recorded[2]); err != nil {
		return err
	}
	example, _ := p.workloads.unique.next()
	if p.corpus, err = corpus(example); err != nil {
		return err
	}
	p.without, err = installation.StartManager(ctx, p.cluster, installation.ManagerOptions{
		Program: p.managerProgram, Name: "manager-1", WebhookURL: p.manager.WebhookURL, Args: append(withoutMemo, p.excluding()...),
	})
	if err != nil {
		return err
	}
	p.gatekeeper, err = newGatekeeper(ctx, p.bench, p.programs, p.library)
	return err
}

func (p *peers) stop() {
	if p.gatekeeper != nil {
		p.gatekeeper.stop()
	}
	if p.without != nil {
		p.without.Stop()
	}
}

// contenders are Lintel, in both ways, Gatekeeper and the echo.
func (p *peers) contenders() (lintel, without, theirs, nothing *contender, err error) {
	ours, err := newEndpoint(p.manager.WebhookURL+"/validate/fail", p.managerPID, p.authority)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	second, err := newEndpoint(p.without.WebhookURL+"/validate/fail", p.without.PID(), p.authority)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	other, err := p.gatekeeper.endpoint("/v1/admit")
	return &contender{nameLintel, ours, lintelNames, false}, &contender{nameWithout, second, lintelNames, false},
		&contender{nameGatekeeper, other, gatekeeperNames, false}, &contender{nameEcho, p.echo, nil, true}, err
}

// install gives both engines the same constraints.
func (p *peers) install(ctx context.Context, constraints []constraint) error {
	files, err := p.library.files(constraints)
	if err != nil {
		return err
	}
	if err := p.cluster.ApplySource(ctx, peersSource, files, nil); err != nil {
		return err
	}
	return p.gatekeeper.install(ctx, constraints)
}

func (p *peers) compareWithGatekeeper(ctx context.Context) error {
	if err := p.install(ctx, p.library.matching(45)); err != nil {
		return err
	}
	lintel, without, theirs, nothing, err := p.contenders()
	if err != nil {
		return err
	}
	say("comparing decisions on %d objects …", len(p.corpus))
	denied, err := compareDecisions(ctx, p.corpus, []*contender{lintel, without, theirs})
	if err != nil {
		return err
	}
	p.row(row{What: "decisions", Lintel: fmt.Sprintf("%d of %d", denied, len(p.corpus))})
	found, err := inTurns(ctx, []*contender{lintel, without, theirs, nothing}, p.workloads.unique, direct)
	if err != nil {
		return err
	}
	for _, m := range found {
		p.row(row{What: m.name, Lintel: fmt.Sprintf("%.3f ms", m.cpu()), Reference: m.latencies().percentiles()})
	}
	return nil
}
