package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/test/installation"
)

const (
	// The targets of the part, for replayRecords records of Pods under the usual constraints.
	replayRecords      = 100_000
	replayTime         = 45 * time.Second
	replayMemory       = 150 << 20
	replayRecordBytes  = 1500
	replayRecordingCPU = 1.03
	replayPeers        = 1.0 / 20
)

// replayed is a run of a program about a number of objects.
type replayed struct {
	objects   int
	took, cpu time.Duration
	peak      int64
}

// measureReplay records reviews of Pods, and evaluates the same constraints for the records.
func (b *bench) measureReplay(ctx context.Context) error {
	p := &peers{bench: b}
	var err error
	if p.library, err = readLibrary(); err != nil {
		return err
	}
	if err := p.prepare(ctx, "gator", "kyverno-cli"); err != nil {
		return err
	}
	constraints := p.library.matching(usual)
	if err := p.apply(ctx, peersSource, constraints); err != nil {
		return err
	}
	if err := p.compareRecording(ctx); err != nil {
		return err
	}
	store := filepath.Join(b.folder, "records")
	if err := p.recordPods(ctx, store, p.workloads.unique, b.replayRecords); err != nil {
		return err
	}
	policies := filepath.Join(b.folder, "replay-policies")
	if err := p.writePolicies(policies, constraints); err != nil {
		return err
	}
	ours, err := p.replay(ctx, store, policies, b.replayRecords)
	if err != nil {
		return err
	}
	scale := float64(replayRecords) / float64(ours.objects)
	what := fmt.Sprintf("replay: %d recorded Pods, %d policies", ours.objects, usual)
	b.row(row{
		What: what + ": time, CPU", Lintel: secondsText(ours.took) + ", " + secondsText(ours.cpu),
		Target: fmt.Sprintf("≤ %g s for %d", replayTime.Seconds(), replayRecords), Verdict: verdict(ours.took.Seconds()*scale, replayTime.Seconds()),
	})
	b.row(row{What: what + ": highest resident memory", Lintel: mebibytes(ours.peak), Target: "≤ 150 MiB", Verdict: verdict(float64(ours.peak), replayMemory)})
	b.keep("replay", map[string]int64{"records": int64(ours.objects), "micros": ours.took.Microseconds(), "cpuMicros": ours.cpu.Microseconds(), "peakBytes": ours.peak})
	if err := p.comparePeersOffline(ctx, policies, constraints, ours); err != nil {
		return err
	}
	return b.deleteSources(ctx, peersSource)
}

// compareRecording compares the CPU of reviews by a manager that records one admission in ten with
// that of one that records none. Both run at the same time, and are called in turns.
func (p *peers) compareRecording(ctx context.Context) error {
	say("measuring reviews with and without recording …")
	args := append(p.excluding(), "--audit=false")
	if err := p.restart(ctx, "manager-plain", args...); err != nil {
		return err
	}
	folder := filepath.Join(p.folder, "sampled")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	recording, err := installation.StartManager(ctx, p.cluster, installation.ManagerOptions{
		Program: p.managerProgram, Name: "manager-recording", WebhookURL: p.manager.WebhookURL,
		Args: append(args, recordFlags(folder, "other=0.1")...),
	})
	if err != nil {
		return err
	}
	defer recording.Stop()
	at, err := newEndpoint(recording.WebhookURL+"/validate/fail", recording.PID(), p.authority)
	if err != nil {
		return err
	}
	with, without := &contender{name: "recording", endpoint: at, names: lintelNames}, p.lintelAt("/validate/fail")
	without.name = "not recording"
	for _, w := range []struct {
		name string
		*workload
	}{{"unique Pods", p.workloads.unique}, {"replicas", p.workloads.replicas}} {
		c, err := p.compare(ctx, "one admission in ten recorded, "+w.name, usual, w.workload, pace{clients: 1, turns: 12, length: 1500 * time.Millisecond, least: 3}, []*contender{with, without})
		if err != nil {
			return err
		}
		p.cpuRow("one in ten recorded, "+w.name, c.of(with.name), c.of(without.name), replayRecordingCPU)
	}
	return nil
}

// recordFlags are those of a manager that records to a folder.
func recordFlags(folder, sample string) []string {
	return []string{"--record", "file://" + folder, "--record-sample", sample, "--record-max-rate", fmt.Sprint(1 << 30)}
}

// recordPods sends reviews to a manager that records all of them.
func (p *peers) recordPods(ctx context.Context, folder string, w *workload, count int) error {
	say("recording %d reviews …", count)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if err := p.restart(ctx, "manager-records", append(append(p.excluding(), "--audit=false"), recordFlags(folder, "other=1")...)...); err != nil {
		return err
	}
	const clients = 4
	lintel := p.lintelAt("/validate/fail")
	errs := make([]error, clients)
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for n := i; n < count && errs[i] == nil; n += clients {
				body, allowed := w.next()
				errs[i] = lintel.answers(ctx, body, allowed)
			}
		})
	}
	wait.Wait()
	p.manager.Stop() // stores the last records
	if err := errors.Join(errs...); err != nil {
		return err
	}
	store, err := record.OpenFolder(folder)
	if err != nil {
		return err
	}
	segments, err := store.Segments(ctx, time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	records, size := int64(0), int64(0)
	for _, segment := range segments {
		records, size = records+segment.Records, size+segment.Bytes
	}
	if records != int64(count) {
		return fmt.Errorf("%d of %d reviews are recorded", records, count)
	}
	p.row(row{
		What: fmt.Sprintf("replay: bytes of a compressed record, %d unique Pods of %d bytes", count, w.size()), Lintel: fmt.Sprintf("%d", size/records),
		Target: fmt.Sprintf("≤ %d", replayRecordBytes), Verdict: verdict(float64(size)/float64(records), replayRecordBytes),
	})
	// The parts after this one find a manager.
	return p.restart(ctx, "manager-replay", p.excluding()...)
}

// writePolicies writes constraints with their templates to a folder.
func (p *peers) writePolicies(folder string, constraints []constraint) error {
	files, err := p.library.files(constraints)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// replay runs the command, whose report must have the same decisions as the records.
func (p *peers) replay(ctx context.Context, store, policies string, count int) (replayed, error) {
	say("replaying %d records …", count)
	output, run, err := runMeasured(ctx, count, p.lintelProgram, "replay", "--against", policies, "--name", peersSource, "-o", "json", "file://"+store)
	if err != nil {
		return run, err
	}
	var report struct {
		Summary struct{ Requests, Same int }
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return run, fmt.Errorf("reading the report of the replay: %w", err)
	}
	if report.Summary.Requests != count || report.Summary.Same != count {
		return run, fmt.Errorf("of %d recorded requests, %d are in the report, and %d have the same decision", count, report.Summary.Requests, report.Summary.Same)
	}
	return run, nil
}

// runMeasured runs a program to its end. A program that fails ends the measurement.
func runMeasured(ctx context.Context, objects int, program string, args ...string) ([]byte, replayed, error) {
	var output, problems bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Stdout, command.Stderr = &output, &problems
	run := replayed{objects: objects}
	started := time.Now()
	if err := command.Start(); err != nil {
		return nil, run, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			run.took = time.Since(started)
			if err != nil {
				return nil, run, fmt.Errorf("%s: %w: %.2000s%.2000s", filepath.Base(program), err, problems.Bytes(), output.Bytes())
			}
			usage := command.ProcessState.SysUsage().(*syscall.Rusage)
			run.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			return output.Bytes(), run, nil
		case <-tick.C:
			// The peak in the usage of an ended process also has the memory of its parent.
			if peak, err := peakOf(command.Process.Pid); err == nil {
				run.peak = max(run.peak, peak)
			}
		}
	}
}
