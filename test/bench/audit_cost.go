package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// pass is one full pass of an audit.
type pass struct {
	cpu  time.Duration
	took time.Duration
	// idle is the resident memory without objects, peak the highest during the pass.
	idle, peak int64
}

func (p pass) above() int64 { return p.peak - p.idle }

// auditCost compares the cost of audits of the same Pods by the same constraints.
type auditCost struct {
	*peers
	constraints []constraint
	pods        *auditPods
	// Passes without objects: the rest of a process that starts and audits.
	lintelIdle, gatekeeperIdle pass
	lintel                     pass
}

// measureAuditCost runs the steps of the comparison on one set of Pods.
func (p *peers) measureAuditCost(ctx context.Context) error {
	var err error
	if p.library, err = readLibrary(); err != nil {
		return err
	}
	c := &auditCost{peers: p, constraints: inDryRun(p.library.matching(usual))}
	if c.pods, err = newAuditPods(p.bench, p.auditObjects); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		c.pods.prepare, c.auditNothing, c.pods.create, c.auditByLintel, c.auditByGatekeeper, c.reviewDuringAudit, c.pods.remove,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return p.gatekeeper.clear(ctx)
}

// auditNothing measures both engines with the constraints and without objects.
func (c *auditCost) auditNothing(ctx context.Context) (err error) {
	say("measuring audits without objects …")
	if err := c.apply(ctx, peersSource, c.constraints); err != nil {
		return err
	}
	if c.lintelIdle, err = c.lintelPass(ctx, 0); err != nil {
		return err
	}
	if c.gatekeeper, err = newGatekeeper(ctx, c.bench, c.programs, c.library); err != nil {
		return err
	}
	c.gatekeeper.auditInterval = auditEvery
	if err := c.gatekeeper.install(ctx, c.constraints); err != nil {
		return err
	}
	c.gatekeeperIdle, err = c.gatekeeperPass(ctx)
	c.gatekeeper.stop()
	return err
}

func (c *auditCost) auditByLintel(ctx context.Context) (err error) {
	if c.lintel, err = c.lintelPass(ctx, c.pods.violations()); err != nil {
		return err
	}
	c.lintel.cpu, c.lintel.idle = c.lintel.cpu-c.lintelIdle.cpu, c.lintelIdle.peak
	return c.reportRows(ctx)
}

func (c *auditCost) auditByGatekeeper(ctx context.Context) error {
	if err := c.gatekeeper.start(ctx); err != nil {
		return err
	}
	theirs, err := c.gatekeeperPass(ctx)
	if err != nil {
		return err
	}
	theirs.idle = c.gatekeeperIdle.peak
	c.gatekeeper.stop()
	c.gatekeeper.auditInterval = 0
	c.passRows(c.pods.count, c.lintel, theirs)
	return nil
}

// auditEvery is the interval of Gatekeeper's audit in the measurement: the pass itself is measured.
const auditEvery = 15 * time.Second

func (p *peers) passRows(objects int, ours, theirs pass) {
	p.row(ratioRow(fmt.Sprintf("audit: CPU of a full pass, %d Pods, %d policies (reference: Gatekeeper)", objects, usual),
		secondsText(ours.cpu), secondsText(theirs.cpu), ours.cpu.Seconds(), theirs.cpu.Seconds(), 1.0/8))
	p.row(ratioRow(fmt.Sprintf("audit: time of a full pass, %d Pods (reference: Gatekeeper)", objects),
		secondsText(ours.took), secondsText(theirs.took), ours.took.Seconds(), theirs.took.Seconds(), 0))
	memory := ratioRow(fmt.Sprintf("audit: highest resident memory of a pass over that without objects, %d Pods (reference: Gatekeeper)", objects),
		mebibytes(ours.above()), mebibytes(theirs.above()), float64(ours.above()), float64(theirs.above()), 0)
	memory.Target, memory.Verdict = "≤ 60 MiB", verdict(float64(ours.above()), 60<<20)
	p.row(memory)
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// lintelPass restarts Lintel and measures until all objects were evaluated and the reports are
// complete. The cost of the start itself is that of a pass without objects.
func (p *peers) lintelPass(ctx context.Context, violations int) (done pass, err error) {
	say("measuring a full pass by Lintel …")
	started := time.Now()
	if err := p.restart(ctx, "manager-audit", p.excluding()...); err != nil {
		return done, err
	}
	if err := p.waitAudited(ctx, peersSource, started, time.Hour); err != nil {
		return done, err
	}
	done.took = time.Since(started)
	err = pollFor(ctx, 2*time.Minute, fmt.Sprintf("reports of %d violations", violations), func() (bool, error) {
		_, counted, err := p.reportedFindings(ctx)
		return counted >= violations, err
	})
	if err != nil {
		return done, err
	}
	// Also without reports, so that a start with objects and one without last equally long.
	if _, err := residentAfter(ctx, p.managerPID); err != nil {
		return done, err
	}
	stat, err := statOf(p.managerPID)
	if err != nil {
		return done, err
	}
	done.cpu = stat.cpu
	done.peak, err = peakOf(p.managerPID)
	return done, err
}

// gatekeeperPass measures one audit, from its first line in the log to the status of the
// constraints.
func (p *peers) gatekeeperPass(ctx context.Context) (done pass, err error) {
	say("measuring a full pass by Gatekeeper …")
	g := p.gatekeeper
	info, err := os.Stat(g.process.log)
	if err != nil {
		return done, err
	}
	var started time.Time
	var begin processStat
	id := ""
	err = pollFor(ctx, 3*time.Hour, "an audit by Gatekeeper", func() (bool, error) {
		lines, err := readLog(g.process.log, info.Size())
		if err != nil {
			return false, err
		}
		if started.IsZero() && slices.ContainsFunc(lines, func(l logged) bool { return l.Event == "audit_started" }) {
			started = time.Now()
			if begin, err = statOf(g.process.pid()); err != nil {
				return false, err
			}
		}
		id = finishedAudit(lines)
		return id != "", nil
	})
	if err != nil {
		return done, err
	}
	done.took = time.Since(started)
	end, err := statOf(g.process.pid())
	if err != nil {
		return done, err
	}
	done.cpu = end.cpu - begin.cpu
	done.peak, err = peakOf(g.process.pid())
	return done, err
}

// reportRows measure the reports of the running manager.
func (c *auditCost) reportRows(ctx context.Context) error {
	bytes, count, err := c.storedBytes(ctx)
	if err != nil {
		return err
	}
	kyverno, err := kyvernoReportBytes(c.pods, c.constraints)
	if err != nil {
		return err
	}
	c.row(ratioRow(fmt.Sprintf("audit: bytes of reports, %d Pods, 1 %% of them violating (reference: Kyverno, a computed lower bound)", c.pods.count),
		fmt.Sprintf("%d in %d objects", bytes, count), fmt.Sprintf("%d in %d objects", kyverno, c.pods.count), float64(bytes), float64(kyverno), 1.0/20))
	c.keep("audit: bytes of reports", map[string]int64{"objects": int64(c.pods.count), "bytes": bytes, "reports": int64(count)})
	taken, err := c.pods.changeUntilReported(ctx, peersSource, changedPods)
	if err != nil {
		return err
	}
	c.keep("audit: a changed object in its report", taken)
	slowest := taken.percentile(100)
	c.row(row{
		What:   fmt.Sprintf("audit: a changed object in its report, %d changes, p50 and slowest (reference: the default interval of Gatekeeper)", len(taken)),
		Lintel: fmt.Sprintf("%s / %s", secondsText(taken.percentile(50)), secondsText(slowest)), Reference: "60 s and a pass",
		Target: "≤ 5 s", Verdict: verdict(slowest.Seconds(), 5),
	})
	return nil
}

// reviewDuringAudit compares the latency of reviews by a manager that has just started, with and
// without audit.
func (p *peers) reviewDuringAudit(ctx context.Context) error {
	with, without := &measured{name: "with audit"}, &measured{name: "without audit"}
	say("measuring reviews with and without audit …")
	load := pace{rate: 40, length: 4 * time.Second}
	for range 4 {
		for _, m := range []*measured{without, with} {
			args := p.excluding()
			if m == without {
				args = append(args, "--audit=false")
			}
			if err := p.restart(ctx, "manager-reviews", args...); err != nil {
				return err
			}
			lintel := p.lintelAt("/validate/fail")
			if _, err := lintel.meet(ctx, p.workloads.unique, pace{clients: 1, length: 500 * time.Millisecond, least: 2}); err != nil {
				return err
			}
			t, err := lintel.meet(ctx, p.workloads.unique, load)
			if err != nil {
				return err
			}
			m.turns = append(m.turns, t)
		}
	}
	p.keepComparison(&comparison{"direct", "reviews while objects are audited", usual, load.String(), []*measured{without, with}})
	p.percentileRow("reviews during a full pass, 40 a second", 99, with, without, 1.1)
	p.percentileRow("reviews during a full pass, 40 a second", 50, with, without, 0)
	return nil
}
