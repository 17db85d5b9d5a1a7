package binaries

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write creates files under a fresh folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
	}
	return dir
}

func TestCacheNameFollowsEverythingThatIsCompiled(t *testing.T) {
	m := module{name: "x", dir: "x", programs: []program{{"x", ".", plainLinking}}, sources: true}
	name := func(m module, toolchain string, change map[string]string) string {
		files := map[string]string{"x/go.mod": "module x", "x/go.sum": "", "x/main.go": "package main"}
		for path, content := range change {
			files[path] = content
		}
		name, err := m.cacheName(write(t, files), toolchain)
		require.NoError(t, err)
		return name
	}
	same := name(m, "go1", nil)
	require.Equal(t, same, name(m, "go1", nil), "checkouts share by content, not by path")
	require.True(t, strings.HasPrefix(same, "x-"))

	tagged := m
	tagged.tags = "no_zfs"
	linked := m
	linked.programs = []program{{"x", ".", kubernetesLinking}}
	others := []string{
		name(m, "go2", nil),
		name(tagged, "go1", nil),
		name(linked, "go1", nil),
		name(m, "go1", map[string]string{"x/go.mod": "module x // changed"}),
		name(m, "go1", map[string]string{"x/go.sum": "changed"}),
		name(m, "go1", map[string]string{"x/main.go": "package main // changed"}),
		name(m, "go1", map[string]string{"x/more.go": "package main"}),
		name(m, "go1", map[string]string{"x/below/main.go": "package main"}),
	}
	seen := map[string]bool{same: true}
	for _, other := range others {
		require.False(t, seen[other], "two different builds share %s", other)
		seen[other] = true
	}
}

func TestModulesHaveTheFilesTheyNeed(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, m := range allModules {
		_, err := m.cacheName(root, "go1")
		require.NoError(t, err, m.name)
	}
	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(content), "k8s.io/kubernetes "+KubernetesVersion, "the programs must report the version they are")
	staging := strings.Replace(KubernetesVersion, "v1.", "v0.", 1)
	require.Equal(t, 33, strings.Count(string(content), " "+staging+"\n\tk8s.io/")+1, "every staging module is replaced by the same release")
}

func TestResolveFailsWithTheCompilersWords(t *testing.T) {
	root := write(t, map[string]string{
		"certmanager/go.mod":  "module example.com/broken\n\ngo 1.26\n",
		"certmanager/go.sum":  "",
		"certmanager/main.go": "package main\n\nfunc main() { undefined() }\n",
	})
	var said bytes.Buffer
	_, err := Resolve(t.Context(), Options{
		Root: root, Cache: t.TempDir(), Progress: NewProgress(&said, time.Hour),
	}, CertManager)
	require.ErrorContains(t, err, "building cert-manager")
	require.ErrorContains(t, err, "undefined: undefined")
}

func TestResolveKnowsWhatThereIs(t *testing.T) {
	_, err := Resolve(t.Context(), Options{}, Kubectl, "gatekeper")
	require.ErrorContains(t, err, `nothing here is named "gatekeper"; there are etcd, `)
	require.ErrorContains(t, err, Kyverno)
}

func TestTail(t *testing.T) {
	require.Equal(t, "    b\n    c", Tail("a\nb\nc\n", 2))
	require.Equal(t, "    a", Tail("a", 2))
}
