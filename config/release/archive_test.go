package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

const downloadURL = "https://downloads.example/v1.2.3"

// makeDownloads makes those of a small program, for this machine and two others.
func makeDownloads(t *testing.T) (folder string) {
	t.Helper()
	m := &maker{Folder: checkout(t), Version: "v1.2.3", Systems: []string{"linux", "darwin", "windows"}}
	require.NoError(t, m.prepare(t.Context(), []string{"linux/" + runtime.GOARCH, "darwin/arm64", "windows/amd64"}, io.Discard))
	folder = filepath.Join(t.TempDir(), "downloads")
	// As krew has it, a plugin is named after its manifest.
	small := program{Image: "lintel", Path: hello.Path, Description: hello.Description}
	require.NoError(t, m.writeDownloads(t.Context(), small, downloadURL+"/", folder))
	require.ErrorContains(t, m.writeDownloads(t.Context(), small, downloadURL, folder), "a folder that must be new")
	return folder
}

// TestDownloads: the archives have the sums that are listed, and krew installs them.
func TestDownloads(t *testing.T) {
	folder := makeDownloads(t)
	t.Run("sums", func(t *testing.T) { testSums(t, folder) })
	t.Run("krew manifest", func(t *testing.T) { testKrewManifest(t, folder) })
	t.Run("krew installs", func(t *testing.T) { testKrewInstalls(t, folder) })
}

func testSums(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "sha256sums.txt"))
	require.NoError(t, err)
	sums := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, sums, 3)
	var files []string
	for _, line := range sums {
		sum, file, ok := strings.Cut(line, "  ")
		require.True(t, ok)
		content, err := os.ReadFile(filepath.Join(folder, file))
		require.NoError(t, err)
		assert.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(content)))
		files = append(files, file)
	}
	assert.Equal(t, []string{"lintel_v1.2.3_linux_" + runtime.GOARCH + ".tar.gz", "lintel_v1.2.3_darwin_arm64.tar.gz", "lintel_v1.2.3_windows_amd64.tar.gz"}, files)
	for file, program := range map[string]string{files[0]: "lintel", files[2]: "lintel.exe"} {
		assert.Equal(t, map[string]int64{program: 0o755, "LICENSE": 0o644}, modes(t, filepath.Join(folder, file)))
	}

	again, err := os.ReadFile(filepath.Join(makeDownloads(t), "sha256sums.txt"))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again), "the same to the byte")
}

// modes are those of the files in an archive.
func modes(t *testing.T, archive string) map[string]int64 {
	t.Helper()
	file, err := os.Open(archive)
	require.NoError(t, err)
	defer file.Close()
	content, err := gzip.NewReader(file)
	require.NoError(t, err)
	found := map[string]int64{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err == io.EOF {
			return found
		}
		require.NoError(t, err)
		found[header.Name] = header.Mode
	}
}

func testKrewManifest(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "krew.yaml"))
	require.NoError(t, err)
	var plugin index.Plugin
	require.NoError(t, yaml.UnmarshalStrict(text, &plugin))
	assert.Equal(t, "v1.2.3", plugin.Spec.Version)
	require.Len(t, plugin.Spec.Platforms, 3)
	for _, platform := range plugin.Spec.Platforms {
		file := strings.TrimPrefix(platform.URI, downloadURL+"/")
		content, err := os.ReadFile(filepath.Join(folder, file))
		require.NoError(t, err, platform.URI)
		assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(content)), platform.Sha256)
		labels := platform.Selector.MatchLabels
		assert.Contains(t, file, "_"+labels["os"]+"_"+labels["arch"]+".")
		assert.Contains(t, modes(t, filepath.Join(folder, file)), platform.Bin)
	}
}

// testKrewInstalls: krew itself checks the manifest and installs the plugin.
func testKrewInstalls(t *testing.T, folder string) {
	root, manifest := t.TempDir(), filepath.Join(t.TempDir(), "lintel.yaml")
	text, err := os.ReadFile(filepath.Join(folder, "krew.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(manifest, text, 0o644))
	install := exec.CommandContext(t.Context(), "go", "tool", "krew", "install", "--manifest", manifest,
		"--archive", filepath.Join(folder, "lintel_v1.2.3_linux_"+runtime.GOARCH+".tar.gz"))
	install.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_NO_UPGRADE_CHECK=1")
	output, err := install.CombinedOutput()
	require.NoError(t, err, string(output))
	assert.Contains(t, string(output), "Installed plugin: lintel")
	ran, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kubectl-lintel")).Output()
	require.NoError(t, err)
	assert.Regexp(t, `^v1\.2\.3 [0-9a-f]{40}\n$`, string(ran))
}
