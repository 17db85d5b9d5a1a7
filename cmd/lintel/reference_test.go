package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/reference/cli as the commands have it")

const reference = "../../docs/reference/cli"

// heading is one of a page that Cobra wrote, whose title has two signs.
var heading = regexp.MustCompile(`(?m)^#(#+ .*)$`)

// TestReferenceIsCurrent: docs/reference/cli has a page for each command, as its help says.
func TestReferenceIsCurrent(t *testing.T) {
	root := newRootCommand()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	root.DisableAutoGenTag = true // has a date
	asTyped(root)
	want := t.TempDir()
	require.NoError(t, doc.GenMarkdownTree(root, want))
	for name, text := range pages(t, want) {
		title, rest, _ := strings.Cut(heading.ReplaceAllString(text, "$1"), "\n")
		text = title + "\n\n<!-- Written by make generate, from the commands. -->\n" + rest
		require.NoError(t, os.WriteFile(filepath.Join(want, name), []byte(strings.TrimRight(text, "\n")+"\n"), 0o644))
	}
	if *update {
		require.NoError(t, os.RemoveAll(reference))
		require.NoError(t, os.CopyFS(reference, os.DirFS(want)))
	}
	require.Equal(t, pages(t, want), pages(t, reference), "run make generate")
}

// asTyped has the text of a command's help keep its lines, which Markdown would join, and
// its asterisks, which Markdown would read.
func asTyped(cmd *cobra.Command) {
	if cmd.Long != "" {
		cmd.Long = "```text\n" + strings.TrimSpace(cmd.Long) + "\n```"
	}
	for _, sub := range cmd.Commands() {
		asTyped(sub)
	}
}

// pages are the files of a folder, by name.
func pages(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = string(text)
	}
	return found
}
