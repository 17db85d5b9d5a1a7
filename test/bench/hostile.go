package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/lintel-policy/lintel/test/installation"
)

// measureHostile runs the test of policies that try to hold or fill the process; its table is
// copied unchanged.
func (b *bench) measureHostile(ctx context.Context) error {
	say("asking hostile policies …")
	command := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", "^TestHostilePolicies$", "-v", "./policies/engine")
	command.Dir = installation.Root()
	output, err := command.CombinedOutput()
	b.result.Hostile = hostileTable(string(output))
	r := row{What: "hostile policies", Lintel: "all stopped", Target: "all stopped", Verdict: "met"}
	if rows := strings.Count(b.result.Hostile, "\n") - 1; rows > 0 {
		r.What = fmt.Sprintf("%d hostile policies", rows)
	}
	if err != nil {
		r.Lintel, r.Verdict = "not all", fmt.Sprintf("missed: %d failed", strings.Count(string(output), "    --- FAIL: "))
	}
	b.row(r)
	return ctx.Err()
}

// hostileTable is the table in the test's output, from its header on.
func hostileTable(output string) string {
	var table strings.Builder
	inside := false
	for line := range strings.Lines(output) {
		switch {
		case strings.HasPrefix(line, "policy ") && strings.Contains(line, "peak memory"):
			inside = true
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "==="), strings.HasPrefix(line, "PASS"), strings.HasPrefix(line, "FAIL"):
			inside = false
		}
		if inside {
			table.WriteString(line)
		}
	}
	return table.String()
}
