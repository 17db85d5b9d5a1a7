package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const platform = runtime.GOOS + "-" + runtime.GOARCH

// archive is a release of etcd.
func archive(t *testing.T, content string) []byte {
	t.Helper()
	var file bytes.Buffer
	compressed := gzip.NewWriter(&file)
	members := tar.NewWriter(compressed)
	for name, content := range map[string]string{"etcd/README.md": "read me", "etcd/etcd": content} {
		require.NoError(t, members.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, err := members.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, members.Close())
	require.NoError(t, compressed.Close())
	return file.Bytes()
}

func sum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// pins writes the file that pins kubectl and etcd.
func pins(t *testing.T, kubectl, etcd string) string {
	t.Helper()
	content, err := json.Marshal(map[string]release{
		Kubectl: {Version: "v1", URL: "https://kubernetes.test/{os}/{arch}/kubectl", SHA256: map[string]string{platform: kubectl}},
		Etcd:    {Version: "v2", URL: "https://etcd.test/etcd-{platform}.tar.gz", Member: "etcd/etcd", SHA256: map[string]string{platform: etcd}},
	})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "releases.json")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestDownloadsAreKept(t *testing.T) {
	program, tarball := []byte("kubectl"), archive(t, "etcd")
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch r.URL.Path {
		case "/mirror/kubernetes.test/" + runtime.GOOS + "/" + runtime.GOARCH + "/kubectl":
			_, _ = w.Write(program)
		case "/mirror/etcd.test/etcd-" + platform + ".tar.gz":
			_, _ = w.Write(tarball)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	opts := Options{
		From: []Way{Download}, Mirror: server.URL + "/mirror", Cache: t.TempDir(),
		Releases: pins(t, sum(program), sum(tarball)), Progress: NewProgress(&bytes.Buffer{}, time.Hour),
	}
	for range 2 {
		found, err := Resolve(t.Context(), opts, Kubectl, Etcd)
		require.NoError(t, err)
		for name, want := range map[string]string{Kubectl: "kubectl", Etcd: "etcd"} {
			content, err := os.ReadFile(found[name])
			require.NoError(t, err)
			require.Equal(t, want, string(content))
			require.True(t, executable(found[name]))
		}
		require.Equal(t, 2, requests, "what is in the cache is not downloaded again")
	}
}

func TestDownloadsThatAreNotUsed(t *testing.T) {
	program := []byte(strings.Repeat("kubectl ", 1000))
	answers := map[string]struct {
		answer  http.HandlerFunc
		refusal string
	}{
		"a missing file": {http.NotFound, `answered 404 Not Found`},
		"another file": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("malware"))
		}, "has the SHA-256 " + sum([]byte("malware")) + ", want " + sum(program)},
		"a truncated file": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "8000")
			_, _ = w.Write(program[:4000])
		}, "4000 of 8000 bytes arrived: unexpected EOF"},
		"a server that does not answer": {func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, "timeout awaiting response headers"},
		"a download that stalls": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "8000")
			_, _ = w.Write(program[:4000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "4000 of 8000 bytes arrived: nothing arrived for 200ms"},
	}
	for name, test := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.answer)
			defer server.Close()
			d := newDownloader(server.URL)
			d.stall = 200 * time.Millisecond
			d.client.Transport.(*http.Transport).ResponseHeaderTimeout = 200 * time.Millisecond
			dir := t.TempDir()
			releases, err := readReleases(pins(t, sum(program), ""))
			require.NoError(t, err)
			err = d.fetch(t.Context(), NewProgress(&bytes.Buffer{}, time.Hour), Kubectl, releases[Kubectl].on(platform), sum(program), dir)
			require.ErrorContains(t, err, test.refusal)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left, "nothing of it is kept")
		})
	}
}

// TestTheNextWayIsTried has a download with a wrong checksum, and a compiler.
func TestTheNextWayIsTried(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("malware"))
	}))
	defer server.Close()
	root := write(t, map[string]string{
		"kubernetes/go.mod": "module k8s.io/kubernetes\n\ngo 1.26\n", "kubernetes/cmd/kubectl/main.go": "package main\n\nfunc main() {}\n",
		"go.mod": "module example.com/cluster\n\ngo 1.26\n\nrequire k8s.io/kubernetes v0.0.0\n\nreplace k8s.io/kubernetes => ./kubernetes\n",
		"go.sum": "",
	})
	found, said, err := resolved(t, Options{
		Root: root, From: []Way{Download, Build}, Fast: true, Mirror: server.URL, Releases: pins(t, sum([]byte("kubectl")), ""),
	}, Kubectl)
	require.NoError(t, err)
	require.True(t, executable(found[Kubectl]))
	require.Contains(t, said, "not downloading kubectl v1: ")
	require.Contains(t, said, "SHA-256 "+sum([]byte("malware"))+", want "+sum([]byte("kubectl")))
	require.Contains(t, said, "using kubectl: compiled from Go modules")
}

func TestAHostThatDoesNotAnswerIsAskedOnce(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	d := newDownloader(address)
	pin := release{Version: "v1", URL: "https://kubernetes.test/kubectl"}
	for _, want := range []string{"connection refused", "did not answer before"} {
		err := d.fetch(t.Context(), NewProgress(&bytes.Buffer{}, time.Hour), Kubectl, pin, "", t.TempDir())
		require.ErrorContains(t, err, want)
	}
}

func TestReleasesArePinned(t *testing.T) {
	releases, err := readReleases("")
	require.NoError(t, err)
	goMod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	for _, name := range []string{Etcd, APIServer, ControllerManager, Scheduler, Kubectl} {
		pin := releases[name]
		module := "k8s.io/kubernetes "
		if name == Etcd {
			module = "go.etcd.io/etcd/server/v3 "
		}
		require.Contains(t, string(goMod), module+pin.Version, "downloaded and compiled programs are of one version")
		require.Contains(t, pin.URL, pin.Version)
		for _, platform := range []string{"linux-amd64", "linux-arm64"} {
			require.Regexp(t, regexp.MustCompile("^[0-9a-f]{64}$"), pin.SHA256[platform], name)
			require.NotContains(t, pin.on(platform).URL+pin.on(platform).Member, "{")
		}
	}
	for content, want := range map[string]string{"{": "reading the pinned releases", "{}": "it pins nothing"} {
		path := filepath.Join(write(t, map[string]string{"releases.json": content}), "releases.json")
		_, err := readReleases(path)
		require.ErrorContains(t, err, want)
	}
}
