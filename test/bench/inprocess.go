package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	dialect "github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// evaluation is what one review takes where no request is made.
type evaluation struct {
	time   time.Duration
	allocs int64
}

// compareInProcess: the engines alone. Lintel decodes every review and each is of
// another Pod; Gatekeeper's own benchmark is given one Pod, decoded.
func (p *peers) compareInProcess(ctx context.Context) error {
	constraints := p.library.matching(usual)
	say("measuring in process: %d matching policies …", usual)
	ours, err := p.evaluate(constraints)
	if err != nil {
		return err
	}
	theirs, err := p.gatorBench(ctx, constraints)
	if err != nil {
		return err
	}
	const what = "in process, 45 matching (reference: gator bench)"
	p.row(ratioRow("time per review, "+what, fmt.Sprintf("%.3f ms", milliseconds(ours.time)), fmt.Sprintf("%.3f ms", milliseconds(theirs.time)),
		milliseconds(ours.time), milliseconds(theirs.time), 0))
	p.row(ratioRow("allocations per review, "+what, fmt.Sprint(ours.allocs), fmt.Sprint(theirs.allocs), float64(ours.allocs), float64(theirs.allocs), 0))
	return nil
}

// evaluate asks Lintel's engine.
func (p *peers) evaluate(constraints []constraint) (evaluation, error) {
	files, err := p.library.files(constraints)
	if err != nil {
		return evaluation{}, err
	}
	set, err := policyset.Compile(definition.Source{Name: peersSource, Files: files}, dialect.Dialect)
	if err != nil {
		return evaluation{}, err
	}
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	requests := make([][]byte, 500)
	for i := range requests {
		body, _ := p.workloads.unique.next()
		var review struct {
			Request json.RawMessage `json:"request"`
		}
		if err := json.Unmarshal(body, &review); err != nil {
			return evaluation{}, err
		}
		requests[i] = review.Request
	}
	var failure error
	found := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			review, err := admission.NewReview(requests[n%len(requests)])
			if err != nil {
				failure = err
				return
			}
			verdict := snapshot.Validate(b.Context(), review, engine.Options{Cluster: clusterdata.Empty()})
			if verdict.Policies != len(constraints) || len(verdict.Denials) > 0 {
				failure = fmt.Errorf("%d policies were asked, and denied: %v", verdict.Policies, verdict.Denials)
				return
			}
		}
	})
	return evaluation{time.Duration(found.NsPerOp()), found.AllocsPerOp()}, failure
}

// gatorBench asks Gatekeeper's engine, by its own tool.
func (p *peers) gatorBench(ctx context.Context, constraints []constraint) (evaluation, error) {
	folder := filepath.Join(p.folder, "gator")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return evaluation{}, err
	}
	files, err := p.library.files(constraints)
	if err != nil {
		return evaluation{}, err
	}
	body, _ := p.workloads.unique.next()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return evaluation{}, err
	}
	pod, err := yaml.JSONToYAML(review.Request.Object.Raw)
	if err != nil {
		return evaluation{}, err
	}
	files["pod.yaml"] = string(pod)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return evaluation{}, err
		}
	}
	var output, problems bytes.Buffer
	command := exec.CommandContext(ctx, p.programs["gator"], "bench", "--filename", folder, "--engine", "rego", "--iterations", "200", "--memory", "--output", "json")
	command.Stdout, command.Stderr = &output, &problems
	if err := command.Run(); err != nil {
		return evaluation{}, fmt.Errorf("gator bench: %w: %s", err, problems.Bytes())
	}
	var found []struct {
		ConstraintCount, ViolationCount int
		Latencies                       struct{ Mean string }
		MemoryStats                     struct{ AllocsPerReview int64 }
	}
	if err := json.Unmarshal(output.Bytes(), &found); err != nil || len(found) != 1 {
		return evaluation{}, fmt.Errorf("reading what gator bench printed: %w: %s", err, output.Bytes())
	}
	if found[0].ConstraintCount != len(constraints) || found[0].ViolationCount > 0 {
		return evaluation{}, fmt.Errorf("gator bench asked %d constraints and found %d violations", found[0].ConstraintCount, found[0].ViolationCount)
	}
	mean, err := time.ParseDuration(found[0].Latencies.Mean)
	return evaluation{mean, found[0].MemoryStats.AllocsPerReview}, err
}
