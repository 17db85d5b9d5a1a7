// Package documents holds what the documents say of the repository against the
// repository: links lead somewhere, the list of rooms is complete, and the pictures of the
// ways through the code name functions that are there and call each other.
package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// ignored are the folders that .gitignore names: their content is not checked.
var ignored = regexp.MustCompile(`^(\.git|bin|\.cluster|\.tools/venv)$`)

// sources are the files of the repository whose names have an ending. They are found without
// Git, so that Go's test cache knows which folders the result depends on.
func sources(t *testing.T, ending string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && ignored.MatchString(name) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(name, ending) {
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return string(text)
}

var (
	fence   = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```[ ]*$")
	span    = regexp.MustCompile("``[^\n]*?``|`[^`\n]*`")
	title   = regexp.MustCompile(`(?m)^# `)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names by which the headings of a page are linked, as GitHub makes them.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		words := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(match[1], "$1")
		names[strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(words), ""), " ", "-")] = true
	}
	return names
}

// withoutCode is a text whose code is blank, with all its lines.
func withoutCode(text string) string {
	blank := func(code string) string { return strings.Repeat("\n", strings.Count(code, "\n")) }
	return span.ReplaceAllString(fence.ReplaceAllStringFunc(text, blank), "")
}

// TestLinks follows each link of each page that leads into the repository.
func TestLinks(t *testing.T) {
	followed := 0
	for _, page := range sources(t, ".md") {
		for i, line := range strings.Split(withoutCode(read(t, page)), "\n") {
			for _, match := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(match[1], "#")
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				followed++
				file := page
				if target != "" {
					file = filepath.Join(filepath.Dir(page), target)
				}
				if _, err := os.Stat(filepath.Join(root, file)); !assert.NoError(t, err, "%s:%d: the link %s leads to no file", page, i+1, match[1]) {
					continue
				}
				if anchor != "" && strings.HasSuffix(file, ".md") {
					assert.True(t, anchors(read(t, file))[anchor], "%s:%d: the link %s leads to a heading that %s does not have", page, i+1, match[1], file)
				}
			}
		}
	}
	assert.Greater(t, followed, 100)
}

// pageLimit is the number of bytes of a page of the documentation.
const pageLimit = 12_000

// TestPages: each page of the documentation has one title, in its first line, is in a folder
// and is not too large to read in one go. The navigation of the site is built from that.
func TestPages(t *testing.T) {
	for _, page := range sources(t, ".md") {
		if !strings.HasPrefix(page, "docs/") || strings.HasPrefix(page, "docs/benchmarks/") {
			continue
		}
		text := read(t, page)
		assert.LessOrEqual(t, len(text), pageLimit, "%s: divide the page, or move a part of it", page)
		assert.True(t, strings.HasPrefix(text, "# "), "%s:1: begin with a title, such as # Sign a request", page)
		assert.Len(t, title.FindAllString(withoutCode(text), -1), 1, "%s: a page has one title; other headings begin with ##", page)
		assert.True(t, strings.Count(page, "/") > 1 || page == "docs/index.md", "%s: move the page to a folder of docs", page)
	}
}

// continued are generated pages that the page before leads to.
var continued = regexp.MustCompile(`-\d+\.md$`)

// TestIndexes: the first page of a folder links to each other page, so that a reader finds it,
// and so that the navigation of the site has an order.
func TestIndexes(t *testing.T) {
	pages := sources(t, ".md")
	for _, page := range pages {
		index := filepath.Join(filepath.Dir(page), "index.md")
		if !strings.HasPrefix(page, "docs/") || page == index || !slices.Contains(pages, index) || continued.MatchString(page) {
			continue
		}
		linked := regexp.MustCompile(`\]\(` + regexp.QuoteMeta(filepath.Base(page)) + `[)#]`)
		assert.True(t, linked.MatchString(read(t, index)), "%s has no link to %s: add one", index, filepath.Base(page))
	}
}

// TestRooms compares the list of docs/development/packages.md with the packages there are.
func TestRooms(t *testing.T) {
	page := read(t, "docs/development/packages.md")
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^([a-z][\w/<>-]*)/ {2,}\S`).FindAllStringSubmatch(page, -1) {
		listed[match[1]] = true
		if folder, _, variable := strings.Cut(match[1], "/<"); variable {
			match[1] = folder
		}
		_, err := os.Stat(filepath.Join(root, match[1]))
		assert.NoError(t, err, "docs/development/packages.md lists %s", match[1])
	}
	require.Greater(t, len(listed), 20)
	variable := regexp.MustCompile(`^(api|policies/rules)/.+`)
	for _, folder := range packages(t) {
		parent := filepath.Dir(folder)
		assert.True(t, listed[folder] || listed[parent] || variable.MatchString(folder),
			"docs/development/packages.md lists neither %s nor the folder above it", folder)
	}
}

// packages are the folders with Go code of the product.
func packages(t *testing.T) []string {
	var folders []string
	for _, file := range sources(t, ".go") {
		folder := filepath.Dir(file)
		room, _, _ := strings.Cut(folder, "/")
		if slices.Contains([]string{"api", "cmd", "webhooks", "controllers", "policies"}, room) &&
			!strings.HasSuffix(file, "_test.go") && !strings.Contains(folder, "testdata") && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}
