package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// A policy is a file, 500 policies are two sources, and both are swapped.
	swapPolicies  = 500
	swapPerSource = 250
	// swapForPods of the policies match the Pods that are asked about.
	swapForPods  = 10
	swapRate     = 200 // requests a second
	swapDuration = 20 * time.Second
	swapInterval = time.Second
)

func swapSourceName(i int) string { return fmt.Sprintf("swap-%d", i) }

// swapFiles are the policies of one source; every text differs between revisions.
func swapFiles(source, revision int) map[string]string {
	others := []string{"ConfigMap", "Secret", "Service", "ServiceAccount"}
	files := map[string]string{}
	for i := source * swapPerSource; i < (source+1)*swapPerSource; i++ {
		kind := others[i%len(others)]
		if i%(swapPolicies/swapForPods) == 0 {
			kind = "Pod"
		}
		files[fmt.Sprintf("p%03d.rego", i)] = fmt.Sprintf(`# METADATA
# title: Policy %[1]d
# custom:
#   match:
#     kinds: [{group: "", kind: %[2]s}]
#     operations: [CREATE, UPDATE]
package bench.p%03[1]d

import rego.v1

deny contains msg if {
	some name, value in input.request.object.metadata.labels
	name == "bench-%[1]d"
	value == "revision-%[3]d"
	msg := sprintf("%%s has the label %%s", [input.name, name])
}
`, i, kind, revision)
	}
	return files
}

// measureSwaps compares one load with and without policies being replaced.
func (b *bench) measureSwaps(ctx context.Context) error {
	say("measuring 500 policies, left alone and swapped …")
	for source := range swapPolicies / swapPerSource {
		if err := b.cluster.ApplySource(ctx, swapSourceName(source), swapFiles(source, 0), nil); err != nil {
			return err
		}
	}
	lintel := b.lintel("/validate/fail")
	for _, e := range []*endpoint{lintel, b.echo} {
		if _, err := e.closedLoop(ctx, b.reviews, 4, 500); err != nil {
			return err
		}
	}
	// The echo has the same load at the same time: its delays are those of the machine.
	quiet, quietEcho, err := b.steadyLoad(ctx, lintel)
	if err != nil {
		return err
	}

	swapping, cancel := context.WithTimeout(ctx, swapDuration)
	defer cancel()
	var background sync.WaitGroup
	var swaps, served int
	var swapErr error
	background.Go(func() { swaps, swapErr = b.swap(swapping) })
	background.Go(func() { served = b.countServed(swapping) })
	swapped, swappedEcho, err := b.steadyLoad(ctx, lintel)
	background.Wait()
	if err := errors.Join(err, swapErr); err != nil {
		return err
	}

	b.keep("500 policies, left alone", quiet)
	b.keep("500 policies, left alone, echo", quietEcho)
	b.keep("500 policies, swapped", swapped)
	b.keep("500 policies, swapped, echo", swappedEcho)
	what := fmt.Sprintf("500 policies, %d swaps of both sources in %s, %d snapshots served, %d requests/s", swaps, swapDuration, served, swapRate)
	failed := row{
		What: what + ": failed requests", Lintel: fmt.Sprintf("%d of %d", swapped.Failed, len(swapped.Latencies)+swapped.Failed),
		Reference: fmt.Sprintf("%d (left alone)", quiet.Failed), Target: "0", Verdict: verdict(float64(swapped.Failed), 0),
	}
	if swapped.FirstFailure != "" {
		failed.Verdict += ": " + swapped.FirstFailure
	}
	b.row(failed)
	p999 := func(s *steady) float64 { return milliseconds(s.Latencies.percentile(99.9)) }
	b.row(ratioRow("… p99.9, swapped (reference: left alone)", fmt.Sprintf("%.2f ms", p999(swapped)), fmt.Sprintf("%.2f ms", p999(quiet)), p999(swapped), p999(quiet), 2))
	b.row(ratioRow("… p50 / p99 / p99.9, swapped (reference: left alone)", swapped.Latencies.percentiles(), quiet.Latencies.percentiles(),
		milliseconds(swapped.Latencies.percentile(50)), milliseconds(quiet.Latencies.percentile(50)), 0))
	b.row(ratioRow("… the same of the echo, beside it", swappedEcho.Latencies.percentiles(), quietEcho.Latencies.percentiles(),
		p999(swappedEcho), p999(quietEcho), 0))
	perSwap := func(swapped, quiet time.Duration) float64 {
		return milliseconds(swapped-quiet) / float64(max(swaps, 1))
	}
	b.row(row{
		What:   "… CPU of one swap of both sources: the manager, and the children that compile for it",
		Lintel: fmt.Sprintf("%.0f ms + %.0f ms", perSwap(swapped.CPU, quiet.CPU), perSwap(swapped.ChildCPU, quiet.ChildCPU)),
	})
	return b.deleteSources(ctx, swapSourceName(0), swapSourceName(1))
}

// steady is what a load at a fixed rate met.
type steady struct {
	// Latencies are from when a request was due, so that one that waits for others
	// counts its waiting.
	Latencies    samples `json:"latenciesMicros"`
	Failed       int     `json:"failed"`
	FirstFailure string  `json:"firstFailure,omitempty"`
	// CPU is what the server process took, and ChildCPU what its children did.
	CPU      time.Duration `json:"cpuNanos"`
	ChildCPU time.Duration `json:"childCPUNanos"`
}

// steadyLoad sends requests to Lintel and the echo in turns.
func (b *bench) steadyLoad(ctx context.Context, lintel *endpoint) (ofLintel, ofEcho *steady, err error) {
	before, err := endpointStats(lintel, b.echo)
	if err != nil {
		return nil, nil, err
	}
	found := []*steady{{}, {}}
	var wait sync.WaitGroup
	var mu sync.Mutex
	start := time.Now()
	for i := range int(2 * swapRate * swapDuration / time.Second) {
		due := start.Add(time.Duration(i) * time.Second / (2 * swapRate))
		time.Sleep(time.Until(due))
		e, s := []*endpoint{lintel, b.echo}[i%2], found[i%2]
		wait.Go(func() {
			err := e.admitted(ctx, b.reviews.next())
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if s.Failed++; s.FirstFailure == "" {
					s.FirstFailure = err.Error()
				}
				return
			}
			s.Latencies = append(s.Latencies, took)
		})
	}
	wait.Wait()
	after, err := endpointStats(lintel, b.echo)
	if err != nil {
		return nil, nil, err
	}
	for i := range found {
		found[i].CPU, found[i].ChildCPU = after[i].cpu-before[i].cpu, after[i].children-before[i].children
	}
	return found[0], found[1], nil
}

// endpointStats are the processes of endpoints.
func endpointStats(endpoints ...*endpoint) (stats []processStat, err error) {
	for _, e := range endpoints {
		stat, err := statOf(e.pid)
		if err != nil {
			return nil, err
		}
		stats = append(stats, stat)
	}
	return stats, nil
}

// swap replaces every policy once an interval until ctx ends.
func (b *bench) swap(ctx context.Context) (swaps int, err error) {
	ticker := time.NewTicker(swapInterval)
	defer ticker.Stop()
	for {
		var wait sync.WaitGroup
		errs := make([]error, swapPolicies/swapPerSource)
		for source := range errs {
			wait.Go(func() { errs[source] = b.replaceSource(ctx, source, swaps+1) })
		}
		wait.Wait()
		if ctx.Err() != nil {
			return swaps, nil
		}
		if err := errors.Join(errs...); err != nil {
			return swaps, fmt.Errorf("swapping policies: %w", err)
		}
		swaps++
		select {
		case <-ctx.Done():
			return swaps, nil
		case <-ticker.C:
		}
	}
}

func (b *bench) replaceSource(ctx context.Context, source, revision int) error {
	// A patch: status is written meanwhile, and an update would meet conflicts.
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"inline": map[string]any{"files": swapFiles(source, revision)}}})
	if err != nil {
		return err
	}
	_, err = b.dynamic.Resource(policySources).Patch(ctx, swapSourceName(source), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

var servedDigest = regexp.MustCompile(`lintel_snapshot_info\{digest="([^"]+)"\} 1`)

// countServed counts the snapshots that were seen live until ctx ends.
func (b *bench) countServed(ctx context.Context) int {
	seen := map[string]bool{}
	for ctx.Err() == nil {
		if response, err := http.Get(b.manager.Metrics + "/metrics"); err == nil {
			text, _ := io.ReadAll(response.Body)
			response.Body.Close()
			for _, match := range servedDigest.FindAllStringSubmatch(strings.TrimSpace(string(text)), -1) {
				seen[match[1]] = true
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	return max(len(seen)-1, 0) // the first was there before
}
