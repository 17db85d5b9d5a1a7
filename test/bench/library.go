package main

import (
	"context"
	"fmt"
	"strings"
)

const (
	partLibrary = "library"
	// needsLibrary says how to get what the part measures.
	needsLibrary = "the part library needs a checkout of the public library: git clone https://github.com/open-policy-agent/gatekeeper-library FOLDER, then --library FOLDER"
)

// The cases of the part, as pictures find them.
const (
	publicDenied   = "public library, denied Pods"
	publicAdmitted = "public library, admitted Pods"
)

// measureLibrary compares Lintel with Gatekeeper on templates that neither of us wrote
// for a benchmark: those of the public library, with its sample constraints.
func (b *bench) measureLibrary(ctx context.Context) error {
	if b.public == nil {
		say("%s", needsLibrary)
		b.row(row{What: "public library", Lintel: "left out: no --library"})
		return nil
	}
	if err := b.restart(ctx, "manager-library", b.excluding()...); err != nil {
		return err
	}
	p := &peers{bench: b}
	defer p.stop()
	if err := p.prepare(ctx, "gatekeeper", "gatekeeper-crds"); err != nil {
		return err
	}
	if err := p.comparePublic(ctx); err != nil {
		return err
	}
	if err := p.gatekeeper.clear(ctx); err != nil {
		return err
	}
	return b.deleteSources(ctx, peersSource)
}

// comparePublic: a Pod that says little, under all sample constraints that are about it;
// and one that says all that the benchmarks' own constraints want, under those that
// admit it.
func (p *peers) comparePublic(ctx context.Context) error {
	denied, admitted, err := ofPublic(p.workloads.unique.bodies[0])
	if err != nil {
		return err
	}
	all, err := p.public.choose(ctx, denied.extremes()...)
	if err != nil {
		return err
	}
	some, err := p.public.choose(ctx, admitted.extremes()...)
	if err != nil {
		return err
	}
	p.library = &library{templates: p.public.templates, constraints: all.matching}
	if p.gatekeeper, err = newGatekeeper(ctx, p.bench, p.programs, p.library); err != nil {
		return err
	}
	what := fmt.Sprintf("%d of the %d sample constraints, which match, of which %d deny", len(all.matching), len(p.public.constraints), len(all.denying))
	if len(all.reading) > 0 {
		what += fmt.Sprintf("; left out, because they need other objects of the cluster: %s", strings.Join(sortedKeys(all.reading), ", "))
	}
	if err := p.comparePublicCase(ctx, publicDenied, what, all.matching, denied, denied); err != nil {
		return err
	}
	what = fmt.Sprintf("the %d which match and do not deny", len(some.admitting()))
	if len(some.failing) > 0 {
		what += fmt.Sprintf("; left out as well, because their Rego fails for this Pod: %s", strings.Join(sortedKeys(some.failing), ", "))
	}
	return p.comparePublicCase(ctx, publicAdmitted, what, some.admitting(), admitted, denied)
}

// comparePublicCase installs the constraints in both engines, and compares their decisions on
// the workload and on variations of another Pod, and then their cost. The Pod with many fields
// is not varied: the library's CEL and Rego differ for seccomp profiles that no API server
// accepts.
func (p *peers) comparePublicCase(ctx context.Context, name, what string, constraints []constraint, w, varied *workload) error {
	if err := p.install(ctx, constraints); err != nil {
		return err
	}
	bodies, err := corpus(varied.extremes()[0], p.public.samples)
	if err != nil {
		return err
	}
	bodies = append(bodies, w.extremes()...)
	installed := &library{templates: p.public.templates, constraints: constraints}
	inRego, err := installed.decidable(ctx, bodies)
	if err != nil {
		return err
	}
	if p.corpus, err = p.decidableInCEL(ctx, inRego); err != nil {
		return err
	}
	what += fmt.Sprintf("; without %d objects for which a template's Rego fails, and %d for which its CEL does", len(bodies)-len(inRego), len(inRego)-len(p.corpus))
	asked, denied, err := p.compareEvery(ctx, 1, p.deciding())
	if err != nil {
		return err
	}
	p.row(row{
		What:   fmt.Sprintf("decisions on %d objects, %s (%s): those that differ from Gatekeeper's", asked, name, what),
		Lintel: "0", Reference: fmt.Sprintf("%d denied", denied), Target: "0", Verdict: verdict(0, 0),
	})
	c, err := p.compare(ctx, name, len(constraints), w, direct, p.everyone())
	if err != nil {
		return err
	}
	what = fmt.Sprintf("%s, %d matching", name, len(constraints))
	p.cpuRow(what, c.of(nameLintel), c.of(nameGatekeeper), 1.0/12)
	p.percentileRow(what, 50, c.of(nameLintel), c.of(nameGatekeeper), 0)
	return nil
}

// failedInCEL is what Gatekeeper says where the CEL of a template, which Lintel has no
// part in, cannot be evaluated: the Pod has no spec, or a container no image.
const failedInCEL = "resulted in error: "

// decidableInCEL are the reviews that Gatekeeper decides without such an error.
func (p *peers) decidableInCEL(ctx context.Context, bodies [][]byte) (kept [][]byte, err error) {
	asked := p.gatekeeperAt("/v1/admit")
	for _, body := range bodies {
		found, err := asked.decide(ctx, body)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(found.message, failedInCEL) {
			kept = append(kept, body)
		}
	}
	return kept, nil
}
