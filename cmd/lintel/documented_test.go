package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/docpage"
)

// documented are the pages whose commands TestDocumentedCommands runs.
var documented = []string{"README.md", "docs/*/*.md"}

// exampleExpiry is a time on the pages that has not come yet: tomorrow stands for it while
// the commands run.
const exampleExpiry = "2026-12-04T17:00:00Z"

var elapsed = regexp.MustCompile(`"elapsed_ms": [0-9.]+`)

// TestDocumentedCommands runs the commands of each page in their order, and compares their
// output. A block with a title is a file of that name; config/samples is the repository's. Only
// commands of this program are run, and only those that need no cluster and no other program.
// -update writes their output into the pages.
func TestDocumentedCommands(t *testing.T) {
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	ran := 0
	for _, pattern := range documented {
		files, err := filepath.Glob(filepath.Join(repository, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if !slices.ContainsFunc(docpage.ParseBlocks(string(text)), func(b docpage.Block) bool { return len(runnable(b)) > 0 }) {
				continue
			}
			name, err := filepath.Rel(repository, file)
			require.NoError(t, err)
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				require.NoError(t, os.Symlink(filepath.Join(repository, "config"), filepath.Join(dir, "config")))
				t.Chdir(dir)
				page, count := runPage(t, name, string(text))
				ran += count
				if page != string(text) {
					require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
				}
			})
		}
	}
	require.Greater(t, ran, 10)
}

// runPage runs the commands of a page in the current folder. It returns the page, with
// -update as the commands print it, and how many they are.
func runPage(t *testing.T, name, text string) (page string, ran int) {
	t.Helper()
	page = text
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	for _, b := range docpage.ParseBlocks(text) {
		if file := b.File(); file != "" {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(b.Text, exampleExpiry, tomorrow)), 0o600))
		}
		for _, c := range runnable(b) {
			ran++
			var printed bytes.Buffer
			run(t.Context(), strings.Fields(c.Text), strings.NewReader(""), &printed, &printed)
			got := strings.ReplaceAll(printed.String(), tomorrow, exampleExpiry)
			switch {
			case matchesPrinted(c.Output, got):
			case *update && !strings.Contains(c.Output, "…\n"):
				shown := "$ " + c.Text + "\n"
				page = strings.Replace(page, indented(b.Indent, shown+c.Output), indented(b.Indent, shown+got), 1)
			default:
				require.Equal(t, c.Output, got, "%s:%d: %s prints something else; go test ./cmd/lintel -run TestDocumentedCommands -update writes it", name, c.Line, c.Text)
			}
		}
	}
	return page, ran
}

// runnable are the commands of a block that this test can run.
func runnable(b docpage.Block) []docpage.Command {
	return slices.DeleteFunc(b.Commands(), func(c docpage.Command) bool {
		words := strings.Fields(c.Text)
		if len(words) < 2 || words[0] != "lintel" || strings.ContainsAny(c.Text, "|<>;&$`#\"'\\") || slices.Contains(words, "--live") {
			return true
		}
		return !slices.Contains([]string{"check", "convert", "why", "prove", "replay", "source"}, words[1]) &&
			(words[1] != "audit" || !slices.Contains(words, "-f")) &&
			(words[1] != "policy" || !slices.Contains(words, "lint") && !slices.Contains(words, "test"))
	})
}

// matchesPrinted compares an output with the one on a page, where a line with an ellipsis
// stands for any lines.
func matchesPrinted(page, got string) bool {
	got, page = elapsed.ReplaceAllString(got, ""), elapsed.ReplaceAllString(page, "")
	var pattern strings.Builder
	for line := range strings.Lines(page) {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString("(?s:.*\n)?")
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(got)
}

// indented puts an indentation in front of every line that is not empty.
func indented(indent, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = indent + line
		}
	}
	return strings.Join(lines, "\n")
}
