package restriction

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// readPair reads the policies of one folder of testdata/pairs, which may be of any
// domain.
func readPair(t testing.TB, dir string) (parent, child *sidecar.Policy) {
	read := func(level sidecar.Level, file string) *sidecar.Policy {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		name := strings.Fields(string(text))[1]
		domain := sidecar.Domain{Name: name[strings.LastIndex(name, ".")+1:], Packages: []string{name}}
		p, err := sidecar.Parse(sidecar.Source{Level: level, Name: file, Domain: domain, Content: string(text)})
		require.NoError(t, err)
		return p
	}
	return read("enterprise", "parent.rego"), read("team", "child.rego")
}

func pairFolders(t testing.TB) []string {
	folders, err := filepath.Glob("testdata/pairs/*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(folders), 15)
	return folders
}

// TestPairsOfTheGuide finds every pair, as it is and with its verdict, in the table of
// docs/reference/restriction-pairs.md.
func TestPairsOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/reference/restriction-pairs.md")
	require.NoError(t, err)
	lines := strings.Split(string(guide), "\n")
	for _, folder := range pairFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			parent, child := readPair(t, folder)
			verdict := Analyze(t.Context(), child, []*sidecar.Policy{parent})
			row := fmt.Sprintf("| %s | %s | %s | %s |", filepath.Base(folder), cell(parent), cell(child), verdict.Outcome)
			assert.True(t, slices.Contains(lines, row), "docs/reference/restriction-pairs.md lacks this row:\n%s\n%s", row, verdict.Explain(child))
		})
	}
}

// cell writes a policy as a table does: a line for each rule.
func cell(p *sidecar.Policy) string {
	var rules []string
	depth := 0
	for line := range strings.SplitSeq(p.Content, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "import ") {
			continue
		}
		switch last := len(rules) - 1; {
		case depth == 0:
			rules = append(rules, line)
		case strings.HasSuffix(rules[last], "{") || strings.HasPrefix(line, "}"):
			rules[last] += " " + line
		default:
			rules[last] += "; " + line
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
	}
	return "`" + strings.ReplaceAll(strings.Join(rules, "`<br>`"), "|", "¦") + "`"
}

// BenchmarkProve takes the pairs of the guide one after the other, parsed.
func BenchmarkProve(b *testing.B) {
	type pair struct{ parent, child *sidecar.Policy }
	var pairs []pair
	for _, folder := range pairFolders(b) {
		parent, child := readPair(b, folder)
		pairs = append(pairs, pair{parent, child})
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		p := pairs[i%len(pairs)]
		took = append(took, Analyze(b.Context(), p.child, []*sidecar.Policy{p.parent}).Elapsed)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}
