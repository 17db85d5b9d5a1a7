package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	yamlBlock     = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")
	shellBlock    = regexp.MustCompile("(?ms)^ *```(?:sh|console)\n(.*?)^ *```$")
	inShell       = regexp.MustCompile(`(?ms)<<END\n(.*?)^END$`)
	repositoryDir = regexp.MustCompile(`\b(?:config|test)/[\w./-]*\w`)
)

// TestManifestsOfOpenVoxPages: the rules admit each manifest of the pages, and each path of the
// repository in a command exists.
func TestManifestsOfOpenVoxPages(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "openvox", "*.md"))
	require.NoError(t, err)
	manifests, paths := 0, 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		blocks := yamlBlock.FindAllStringSubmatch(string(content), -1)
		for _, shell := range shellBlock.FindAllStringSubmatch(string(content), -1) {
			blocks = append(blocks, inShell.FindAllStringSubmatch(shell[1], -1)...)
			for _, path := range repositoryDir.FindAllString(shell[1], -1) {
				paths++
				_, err := os.Stat(filepath.Join(root, path))
				assert.NoError(t, err, "%s names %s", page, path)
			}
		}
		for _, block := range blocks {
			if !strings.Contains(block[1], "apiVersion: openvox.voxpupuli.org/v1alpha1") {
				continue
			}
			manifests++
			got := lintel(t, block[1], "check", "-f", "-")
			assert.Equal(t, exitAllowed, got.code, "%s:\n%s\n%s%s", page, block[1], got.stdout, got.stderr)
		}
	}
	require.Greater(t, manifests, 8)
	require.Greater(t, paths, 20)
}

// TestSamplesOfOpenVoxNeedNoEdit: the commands of the pages apply the samples directly. Only the tag of
// an image depends on the installation.
func TestSamplesOfOpenVoxNeedNoEdit(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "openvox", "*.md"))
	require.NoError(t, err)
	applied := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			if !strings.Contains(line, "config/samples/openvox") {
				continue
			}
			if strings.Contains(line, "kubectl apply") {
				applied++
			}
			if strings.Contains(line, "sed ") {
				assert.Contains(t, line, "|tag: ", "%s edits more than the tag of an image", page)
			}
		}
	}
	require.Greater(t, applied, 8)
}
