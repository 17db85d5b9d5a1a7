// Package reference writes the pages of docs/reference that are generated from the code: the
// fields of CRDs, metrics, condition reasons, messages, the values of charts and the library. A field,
// metric or reason without a description fails the test, which names it. The pages of
// commands and of the manager's flags are written by the packages that define them.
package reference

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the pages")

const (
	root   = "../.."
	folder = root + "/docs/reference"
	// limit is the number of bytes of a page, which test/documents checks.
	limit = 12_000
)

// generated are the folders and files that the test owns, as patterns.
var generated = []string{"api", "errors", "conditions", "conditions.md", "helm-values*.md", "library", "metrics*.md"}

// TestReferenceIsCurrent: the pages are as the code has it.
func TestReferenceIsCurrent(t *testing.T) {
	want := pages{}
	want.addAPI(t)
	want.addMetrics(t)
	want.addConditions(t)
	want.addErrors(t)
	want.addHelmValues(t)
	want.addLibrary(t)
	if *update {
		for _, path := range existing(t) {
			require.NoError(t, os.RemoveAll(path))
		}
		for name, text := range want {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
		}
	}
	have := pages{}
	for _, path := range existing(t) {
		require.NoError(t, filepath.WalkDir(path, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			name, _ := filepath.Rel(folder, path)
			have[filepath.ToSlash(name)] = string(text)
			return err
		}))
	}
	assert.Equal(t, want, have, "run make generate")
}

// existing are the paths of the folders and files that match generated.
func existing(t *testing.T) (paths []string) {
	t.Helper()
	for _, pattern := range generated {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	return paths
}

// pages are the texts of pages by their paths below docs/reference.
type pages map[string]string

// section is a part of a page, which is never divided. Its text begins with its heading.
type section struct{ title, text string }

// add writes a page: a title, its source, an introduction and sections.
// What exceeds the limit continues on the pages NAME-2 and so on.
func (p pages) add(t *testing.T, name, title, source, introduction string, sections []section) {
	t.Helper()
	head := fmt.Sprintf("# %s\n\n<!-- Written by make generate, from %s. -->\n\n%s\n", title, source, introduction)
	text, page, number := head, name, 1
	for _, s := range sections {
		if len(text)+len(s.text) > limit-300 && text != head {
			number++
			next := fmt.Sprintf("%s-%d.md", strings.TrimSuffix(name, ".md"), number)
			p[page] = text + fmt.Sprintf("\nThe next page is [%s, part %d](%s).\n", title, number, filepath.Base(next))
			page = next
			head = fmt.Sprintf("# %s, part %d\n\n<!-- Written by make generate, from %s. -->\n\nThe first page is [%s](%s).\n", title, number, source, title, filepath.Base(name))
			text = head
		}
		text += "\n" + s.text
	}
	p[page] = text
	for name, text := range p {
		require.LessOrEqual(t, len(text), limit, "%s is too large for one page", name)
	}
}

// cell is a text for a cell of a table: one line, without HTML of its own.
func cell(text string) string {
	text = strings.TrimSpace(text)
	parts := strings.Split(text, "`")
	for i := range parts {
		if i%2 == 0 { // outside of code
			parts[i] = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", `\*`, "[", `\[`).Replace(parts[i])
		}
	}
	text = strings.Join(parts, "`")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\n\n", "<br>"), "\n- ", "<br>- ")
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
}

// code is a text in a cell as it is.
func code(text string) string {
	if text == "" {
		return ""
	}
	fence := "`"
	if strings.Contains(text, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`) + fence
}

// sentence is a text that begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?:") {
		text += "."
	}
	if !firstWord.MatchString(text) {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// firstWord is a word that a sentence can begin with, unlike a name such as known_hosts or
// spec.replicas.
var firstWord = regexp.MustCompile(`^[a-z]+([ ,;:]|\.( |$))`)

// table is a table of Markdown.
func table(heads []string, rows [][]string) string {
	var b strings.Builder
	b.WriteString("| " + strings.Join(heads, " | ") + " |\n|" + strings.Repeat("---|", len(heads)) + "\n")
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}
