package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/test/installation"
)

// result is the stored result of a run.
type result struct {
	Date     string          `json:"date"`
	Machine  string          `json:"machine"`
	Versions []string        `json:"versions"`
	Review   json.RawMessage `json:"review"` // of the direct calls, as the API server sent it
	Rows     []row           `json:"rows"`
	Hostile  string          `json:"hostilePolicies"`
	Samples  map[string]any  `json:"samples"` // by measurement
	// Comparisons are those with other engines. Their samples are too many to keep
	// here: all of them are in another file.
	Comparisons []*comparison `json:"comparisons,omitempty"`

	all map[string]samples
}

// raw keeps samples for the file of all samples alone.
func (r *result) raw(what string, s samples) {
	if r.all == nil {
		r.all = map[string]samples{}
	}
	r.all[what] = s
}

func (b *bench) row(r row) { b.result.Rows = append(b.result.Rows, r) }

func (b *bench) keep(what string, measured any) {
	if b.result.Samples == nil {
		b.result.Samples = map[string]any{}
	}
	b.result.Samples[what] = measured
}

// describe records where and of what the numbers are.
func (r *result) describe(ctx context.Context, b *bench) error {
	server, err := b.clientset.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	commit := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty")
	commit.Dir = installation.Root()
	revision, err := commit.Output()
	if err != nil {
		revision = []byte("of no commit")
	}
	load, _ := os.ReadFile("/proc/loadavg")
	r.Date = time.Now().UTC().Format(time.DateOnly)
	r.Machine = fmt.Sprintf("%d × %s, %s/%s; load average before measuring %s",
		runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, strings.Join(strings.Fields(string(load))[:min(3, len(strings.Fields(string(load))))], " "))
	r.Versions = []string{"Lintel " + strings.TrimSpace(string(revision)), "Kubernetes " + server.GitVersion, runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if slices.Contains([]string{"github.com/open-policy-agent/opa", "sigs.k8s.io/controller-runtime"}, module.Path) {
				r.Versions = append(r.Versions, module.Path+" "+module.Version)
			}
		}
	}
	r.Review = b.reviews.recorded
	return nil
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func (r *result) heading() string {
	return fmt.Sprintf("%s. %s. %s. The review of the direct calls has %d bytes.", r.Date, r.Machine, strings.Join(r.Versions, ", "), len(r.Review))
}

func (r *result) print(w io.Writer) error {
	fmt.Fprintln(w, r.heading())
	fmt.Fprintln(w)
	if err := printTable(w, r.Rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", r.Hostile)
	return err
}

// write stores the result in docs/benchmarks.
func (r *result) write(name string) error {
	folder := filepath.Join(installation.Root(), "docs", "benchmarks")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, name+".json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if len(r.Comparisons) == 0 {
		return nil
	}
	return r.writeRaw(name)
}

// writeRaw stores the samples of the comparisons, which are megabytes, below .cluster,
// which Git ignores.
func (r *result) writeRaw(name string) error {
	folder := filepath.Join(installation.Root(), ".cluster", "bench")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(r.all)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, name+".samples.json")
	say("every sample of the comparisons is in %s", path)
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
