package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented are the pages whose commands TestDocumentedCommands runs.
var documented = []string{"README.md", "docs/tutorials/*.md", "docs/how-to/*.md", "docs/reference/*.md", "docs/concepts/*.md"}

// block is a fenced block of a page: its line, its indentation, its info string, and its text
// without indentation.
type block struct {
	line               int
	indent, info, text string
}

// command is a command of a console block, with the output that the page shows.
type command struct {
	line          int
	text, printed string
}

var (
	fenceOf   = regexp.MustCompile("^( *)```(.*)$")
	titleOf   = regexp.MustCompile(`title="([^"]+)"`)
	elapsedOf = regexp.MustCompile(`"elapsed_ms": [0-9.]+`)
)

// TestDocumentedCommands runs the commands of each page in their order, and compares what
// they print. A block with a title is a file of that name; config/samples is the
// repository's. Only commands of this program are run, and only those that need no cluster
// and no other program. -update writes what they print into the pages.
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
			blocks := blocksOf(string(text))
			if !slices.ContainsFunc(blocks, func(b block) bool { return len(runnable(b)) > 0 }) {
				continue
			}
			name, err := filepath.Rel(repository, file)
			require.NoError(t, err)
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				require.NoError(t, os.Symlink(filepath.Join(repository, "config"), filepath.Join(dir, "config")))
				t.Chdir(dir)
				page := string(text)
				for _, b := range blocks {
					if title := titleOf.FindStringSubmatch(b.info); title != nil {
						require.NoError(t, os.MkdirAll(filepath.Dir(title[1]), 0o755))
						require.NoError(t, os.WriteFile(title[1], []byte(b.text), 0o600))
					}
					for _, c := range runnable(b) {
						ran++
						var printed bytes.Buffer
						run(t.Context(), strings.Fields(c.text), strings.NewReader(""), &printed, &printed)
						got := printed.String()
						if matchesPrinted(c.printed, got) {
							continue
						}
						if *update && !strings.Contains(c.printed, "…\n") {
							page = strings.Replace(page, indented(b.indent, "$ "+c.text+"\n"+c.printed), indented(b.indent, "$ "+c.text+"\n"+got), 1)
							continue
						}
						require.Equal(t, c.printed, got, "%s:%d: %s prints something else; go test ./cmd/lintel -run TestDocumentedCommands -update writes it", name, c.line, c.text)
					}
				}
				if *update && page != string(text) {
					require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
				}
			})
		}
	}
	require.Greater(t, ran, 10)
}

// blocksOf are the fenced blocks of a page.
func blocksOf(page string) []block {
	var blocks []block
	var open *block
	for i, line := range strings.Split(page, "\n") {
		fence := fenceOf.FindStringSubmatch(line)
		switch {
		case open == nil && fence != nil:
			open = &block{line: i + 1, indent: fence[1], info: fence[2]}
		case open != nil && fence != nil:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, open.indent) + "\n"
		}
	}
	return blocks
}

// runnable are the commands of a console block that this test can run.
func runnable(b block) []command {
	if !strings.HasPrefix(b.info, "console") {
		return nil
	}
	var commands []command
	for i, line := range strings.SplitAfter(b.text, "\n") {
		if text, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, command{line: b.line + 1 + i, text: strings.TrimSuffix(text, "\n")})
		} else if len(commands) > 0 {
			commands[len(commands)-1].printed += line
		}
	}
	return slices.DeleteFunc(commands, func(c command) bool {
		words := strings.Fields(c.text)
		if len(words) < 2 || words[0] != "lintel" || strings.ContainsAny(c.text, "|<>;&$`#\"'\\") || slices.Contains(words, "--live") {
			return true
		}
		offline := slices.Contains([]string{"check", "why", "prove", "source"}, words[1]) ||
			words[1] == "policy" && slices.Contains(words, "lint") || words[1] == "policy" && slices.Contains(words, "test")
		return !offline
	})
}

// matchesPrinted compares an output with the one on a page, where a line with an ellipsis
// stands for any lines.
func matchesPrinted(page, got string) bool {
	got, page = elapsedOf.ReplaceAllString(got, ""), elapsedOf.ReplaceAllString(page, "")
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
