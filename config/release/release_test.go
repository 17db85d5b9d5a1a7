package main

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	spdxjson "github.com/spdx/tools-golang/json"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var hello = program{Image: "hello", Path: "./cmd/hello", Description: "Says which version it is"}

// checkout is a module with a program and a commit.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for file, content := range map[string]string{
		"go.mod": "module github.com/lintel-policy/lintel\n\ngo 1.26.0\n",
		"cmd/internal/version/version.go": `package version

var version, commit string

func Of() (string, string) { return version, commit }
`,
		"LICENSE": "Apache License\n",
		"cmd/hello/main.go": `package main

import (
	"fmt"

	"github.com/lintel-policy/lintel/cmd/internal/version"
)

func main() { fmt.Println(version.Of()) }
`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(content), 0o644))
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "--message", "First"},
	} {
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return folder
}

func makeHello(t *testing.T, platforms ...string) (*maker, made) {
	t.Helper()
	m := &maker{Folder: checkout(t), Version: "v1.2.3", Systems: []string{"linux"}}
	require.NoError(t, m.prepare(t.Context(), platforms, io.Discard))
	all, err := m.all(t.Context(), []program{hello})
	require.NoError(t, err)
	return m, all[0]
}

var (
	helloOnce  sync.Once
	helloMaker *maker
	helloMade  made
)

// sharedHello is one for tests that change nothing in it: it is in memory.
func sharedHello(t *testing.T) (*maker, made) {
	t.Helper()
	helloOnce.Do(func() { helloMaker, helloMade = makeHello(t, "linux/amd64", "linux/arm64") })
	require.NotNil(t, helloMaker, "the test that came first could not make it")
	return helloMaker, helloMade
}

func TestImageRunsAnywhere(t *testing.T) {
	_, image := sharedHello(t)
	manifest, err := image.index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 2)
	assert.Equal(t, "v1.2.3", manifest.Annotations["org.opencontainers.image.version"])
	for i, architecture := range []string{"amd64", "arm64"} {
		assert.Equal(t, architecture, manifest.Manifests[i].Platform.Architecture)
		one, err := image.index.Image(manifest.Manifests[i].Digest)
		require.NoError(t, err)
		config, err := one.ConfigFile()
		require.NoError(t, err)
		assert.Equal(t, architecture, config.Architecture)
		assert.Equal(t, user, config.Config.User)
		assert.Equal(t, []string{"/hello"}, config.Config.Entrypoint)
		assert.Equal(t, "Apache-2.0", config.Config.Labels["org.opencontainers.image.licenses"])
		files := unpack(t, one)
		assert.Len(t, files, 5, "nothing but the program, its users and a folder for temporary files")
		if architecture == runtime.GOARCH {
			program := filepath.Join(t.TempDir(), "hello")
			require.NoError(t, os.WriteFile(program, files["hello"], 0o755))
			out, err := exec.Command(program).Output()
			require.NoError(t, err)
			assert.Regexp(t, `^v1\.2\.3 [0-9a-f]{40}\n$`, string(out))
		}
	}
}

// TestImageWithTheRaceDetector: its program runs without libraries, and reports data races.
func TestImageWithTheRaceDetector(t *testing.T) {
	t.Parallel()
	folder := checkout(t)
	racing := "package main\n\nfunc main() {\n\tn, done := 0, make(chan bool)\n\tgo func() { n++; close(done) }()\n\tn++\n\t<-done\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cmd/hello/main.go"), []byte(racing), 0o644))
	m := &maker{Folder: folder, Version: "v1.2.3", Systems: []string{runtime.GOOS}, Race: true}
	require.NoError(t, m.prepare(t.Context(), []string{runtime.GOOS + "/" + runtime.GOARCH}, io.Discard))
	file, err := m.build(t.Context(), hello, m.platforms[0], t.TempDir())
	require.NoError(t, err)
	program, err := elf.Open(file)
	require.NoError(t, err)
	defer program.Close()
	libraries, err := program.ImportedLibraries()
	require.NoError(t, err)
	assert.Empty(t, libraries)
	out, err := exec.Command(file).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "WARNING: DATA RACE")
}

func unpack(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	r := tar.NewReader(mutate.Extract(image))
	for {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		assert.Zero(t, header.Uid)
		files[strings.Trim(header.Name, "/")], err = io.ReadAll(r)
		require.NoError(t, err)
	}
}

func TestImagesAreTheSameToTheByte(t *testing.T) {
	digests := map[string]bool{}
	for i, build := range []func(*testing.T) (*maker, made){
		sharedHello, func(t *testing.T) (*maker, made) { return makeHello(t, "linux/amd64", "linux/arm64") },
	} {
		m, image := build(t)
		folder := filepath.Join(t.TempDir(), "layout")
		require.NoError(t, writeLayout(folder, []made{image}, m.Version))
		index, err := os.ReadFile(filepath.Join(folder, "index.json"))
		require.NoError(t, err)
		digests[string(index)] = true
		if i == 0 {
			require.ErrorContains(t, writeLayout(folder, []made{image}, m.Version), "exists: remove it")
		}
		read, err := layout.ImageIndexFromPath(folder)
		require.NoError(t, err)
		require.NoError(t, validate.Index(read))
	}
	assert.Len(t, digests, 1)
}

func TestSBOMNamesTheModules(t *testing.T) {
	_, image := sharedHello(t)
	manifest, err := image.index.IndexManifest()
	require.NoError(t, err)
	described, err := image.sboms[0].Manifest()
	require.NoError(t, err)
	assert.Equal(t, manifest.Manifests[0].Digest, described.Subject.Digest)

	layers, err := image.sboms[0].Layers()
	require.NoError(t, err)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	var document spdx.Document
	require.NoError(t, spdxjson.ReadInto(content, &document))
	require.NoError(t, spdxlib.ValidateDocument(&document))
	var packages []string
	for _, p := range document.Packages {
		packages = append(packages, p.PackageName+" "+p.PackageVersion)
	}
	assert.Equal(t, []string{
		"hello v1.2.3", "github.com/lintel-policy/lintel v1.2.3", "stdlib " + strings.TrimPrefix(runtime.Version(), "go"),
	}, packages)
}

func TestPushedImagesHaveSBOMsAndSignatures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []registry.Option
	}{
		{"with the referrers API", []registry.Option{registry.WithReferrersSupport(true)}},
		{"without", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(registry.New(append(tt.options, registry.Logger(log.New(io.Discard, "", 0)))...))
			defer server.Close()
			_, image := sharedHello(t)
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			require.NoError(t, err)
			host := strings.TrimPrefix(server.URL, "http://")
			pushed, err := pusher{Key: key, Insecure: true}.push(t.Context(), host+"/lintel", "v1.2.3", image)
			require.NoError(t, err)

			reference, err := name.NewDigest(pushed, name.Insecure)
			require.NoError(t, err)
			tagged, err := remote.Index(reference.Context().Tag("v1.2.3"))
			require.NoError(t, err)
			digest, err := tagged.Digest()
			require.NoError(t, err)
			assert.Equal(t, reference.DigestStr(), digest.String())

			manifest, err := tagged.IndexManifest()
			require.NoError(t, err)
			referrers, err := remote.Referrers(reference.Context().Digest(manifest.Manifests[0].Digest.String()))
			require.NoError(t, err)
			found, err := referrers.IndexManifest()
			require.NoError(t, err)
			require.Len(t, found.Manifests, 1)
			assert.Equal(t, sbomType, found.Manifests[0].ArtifactType)

			signature, err := remote.Image(reference.Context().Tag("sha256-" + digest.Hex + ".sig"))
			require.NoError(t, err)
			signed, err := signature.Manifest()
			require.NoError(t, err)
			layer, err := signature.LayerByDigest(signed.Layers[0].Digest)
			require.NoError(t, err)
			content, err := layer.Uncompressed()
			require.NoError(t, err)
			text, err := io.ReadAll(content)
			require.NoError(t, err)
			assert.Contains(t, string(text), digest.String())
			raw, err := base64.StdEncoding.DecodeString(signed.Layers[0].Annotations[signatureAnnotation])
			require.NoError(t, err)
			sum := sha256.Sum256(text)
			assert.True(t, ecdsa.VerifyASN1(&key.PublicKey, sum[:], raw))
		})
	}
}

func TestKeys(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	sealed, err := encrypted.Encrypt(pkcs8, []byte("open"))
	require.NoError(t, err)
	_, signing, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	short, err := x509.MarshalPKCS8PrivateKey(signing)
	require.NoError(t, err)
	for _, tt := range []struct {
		name, kind string
		content    []byte
		password   string
		problem    string
	}{
		{"cosign's", "ENCRYPTED SIGSTORE PRIVATE KEY", sealed, "open", ""},
		{"cosign's, wrong password", "ENCRYPTED SIGSTORE PRIVATE KEY", sealed, "shut", "does not open with the password in COSIGN_PASSWORD"},
		{"PKCS #8", "PRIVATE KEY", pkcs8, "", ""},
		{"Ed25519", "PRIVATE KEY", short, "", ""},
		{"a certificate", "CERTIFICATE", pkcs8, "", "holds a CERTIFICATE: it must be a private key"},
		{"broken", "PRIVATE KEY", []byte("broken"), "", "asn1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: tt.kind, Bytes: tt.content}), 0o600))
			key, err := readKey(file, tt.password)
			if tt.problem != "" {
				require.ErrorContains(t, err, tt.problem)
				return
			}
			require.NoError(t, err)
			_, err = sign(key, "registry.example/hello", v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)})
			require.NoError(t, err)
		})
	}
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	_, err = readKey(file, "")
	require.ErrorContains(t, err, "is not in PEM")
}

func TestWhatIsAskedForIsCheckedFirst(t *testing.T) {
	folder := checkout(t)
	changed := checkout(t)
	require.NoError(t, os.WriteFile(filepath.Join(changed, "more.txt"), nil, 0o644))
	for _, tt := range []struct {
		name    string
		args    []string
		problem string
	}{
		{"no version", []string{"push", "r.example", "--source", folder}, "which version is it?"},
		{"a version without v", []string{"push", "r.example", "--source", folder, "--version", "1.2.3"}, `the version "1.2.3" is none`},
		{"build metadata, which no tag can have", []string{"push", "r.example", "--source", folder, "--version", "v1.2.3+4"}, "is none"},
		{"another system", []string{"image", "x", "--source", folder, "--platform", "windows/amd64"}, `"windows/amd64" is no platform that this is made for: say such as linux/amd64; the systems are linux`},
		{"a race detector elsewhere", []string{"image", "x", "--source", folder, "--race"}, `--platform: Invalid value "linux/amd64,linux/arm64": with --race, only the platform of this machine, ` + runtime.GOOS + "/" + runtime.GOARCH},
		{"changes", []string{"push", "r.example", "--source", changed, "--version", "v1.2.3"}, "changes that are not committed"},
		{"downloads of nowhere", []string{"downloads", "x", "--source", folder, "--version", "v1.2.3"}, "where it will be"},
		{"downloads of no version", []string{"downloads", "x", "--source", folder, "--url", "https://downloads.example"}, "which version it is"},
		{"downloads for nobody", []string{"downloads", "x", "--source", folder, "--version", "v1.2.3", "--url", "https://downloads.example", "--platform", "plan9/amd64"}, "the systems are linux, darwin, windows"},
		{"no checkout", []string{"image", "x", "--source", t.TempDir()}, "which must be a checkout"},
		{"no key", []string{"push", "r.example", "--source", folder, "--version", "v1.2.3", "--key", "missing"}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := newCommand()
			cmd.SetArgs(tt.args)
			cmd.SetErr(&bytes.Buffer{})
			require.ErrorContains(t, cmd.ExecuteContext(t.Context()), tt.problem)
		})
	}
}
