package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lintel-policy/lintel/test/installation"
)

// proveRounds is how often each pair is proved.
const proveRounds = 5

// measureProve runs `lintel prove` on the pairs of the documentation, which are of the
// size of the product document's examples. The time is that of the whole process.
func (b *bench) measureProve(ctx context.Context) error {
	say("measuring lintel prove …")
	pairs, err := filepath.Glob(filepath.Join(installation.Root(), "policies", "scope", "testdata", "pairs", "*"))
	if err != nil || len(pairs) == 0 {
		return fmt.Errorf("there are no pairs to prove: %w", err)
	}
	var processes samples
	var slowest float64
	verdicts := map[string]int{}
	for range proveRounds {
		for _, pair := range pairs {
			start := time.Now()
			output, err := exec.CommandContext(ctx, filepath.Join(b.folder, "bin", "lintel"), "prove", "--domain", proveDomain(pair), "-o", "json",
				"--parent", filepath.Join(pair, "parent.rego"), "--child", filepath.Join(pair, "child.rego")).Output()
			if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() == 2) {
				return fmt.Errorf("proving %s: %w", filepath.Base(pair), err)
			}
			processes = append(processes, time.Since(start))
			var answer struct {
				Verdict   string  `json:"verdict"`
				ElapsedMS float64 `json:"elapsed_ms"`
			}
			if err := json.Unmarshal(output, &answer); err != nil {
				return fmt.Errorf("proving %s: %w", filepath.Base(pair), err)
			}
			verdicts[answer.Verdict]++
			slowest = max(slowest, answer.ElapsedMS)
		}
	}
	b.keep("lintel prove", processes)
	median := milliseconds(processes.percentile(50))
	b.row(row{
		What:   fmt.Sprintf("lintel prove on %d pairs (%d proved, %d counterexamples, %d unknown), the process: median", len(pairs), verdicts["proved"]/proveRounds, verdicts["counterexample"]/proveRounds, verdicts["unknown"]/proveRounds),
		Lintel: fmt.Sprintf("%.1f ms", median), Target: "≤ 50 ms", Verdict: verdict(median, 50),
	})
	b.row(row{What: "… the slowest analysis of all", Lintel: fmt.Sprintf("%.1f ms", slowest), Target: "≤ 5000 ms", Verdict: verdict(slowest, 5000)})
	return nil
}

// proveDomain is the domain of a pair, as its parent's package says.
func proveDomain(pair string) string {
	text, err := os.ReadFile(filepath.Join(pair, "parent.rego"))
	if err != nil {
		return ""
	}
	return domainOf(string(text))
}
