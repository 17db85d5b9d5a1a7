package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"
)

const ownLibrary = "../../config/library"

func TestPolicySearch(t *testing.T) {
	t.Parallel()
	got := lintel(t, "", "policy", "search", "hostPID", "--library", ownLibrary)
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stdout, "POLICY")
	assert.Contains(t, got.stdout, "host_namespaces")
	assert.NotContains(t, got.stdout, "sysctls")
	got = lintel(t, "", "policy", "search", "sysctl", "-o", "json", "--library", ownLibrary)
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stdout, `"folder": "pod-security/sysctls"`)
	got = lintel(t, "", "policy", "search", "no such words", "--library", ownLibrary)
	assert.Equal(t, exitDenied, got.code)
	assert.Equal(t, "no policy contains these words\n", got.stdout)
	got = lintel(t, "", "policy", "search", "no such words", "-o", "json", "--library", ownLibrary)
	assert.Equal(t, "[]\n", got.stdout)
}

func TestPolicyShow(t *testing.T) {
	t.Parallel()
	got := lintel(t, "", "policy", "show", "sysctls", "--library", ownLibrary)
	assert.Equal(t, 0, got.code, got.stderr)
	for _, want := range []string{"Severity:  high\n", "pod-security-baseline", "Remedy:    Remove the sysctl", "\nDenied:\n  apiVersion: v1\n", "\nAdmitted:\n", "  Pod Security Standards: https://"} {
		assert.Contains(t, got.stdout, want)
	}
	got = lintel(t, "", "policy", "show", "pod-security-baseline", "--library", ownLibrary)
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stdout, "Pod Security, baseline\n")
	assert.Contains(t, got.stdout, "privileged_containers")
	got = lintel(t, "", "policy", "show", "--library", ownLibrary)
	assert.Contains(t, got.stdout, "pod-security-restricted")
	for _, name := range []string{"sysctls", "pod-security-baseline", ""} {
		got = lintel(t, "", append(strings.Fields("policy show "+name), "-o", "json", "--library", ownLibrary)...)
		assert.Equal(t, 0, got.code, got.stderr)
		assert.Contains(t, got.stdout, `"title": "`)
	}
	got = lintel(t, "", "policy", "show", "sysctl", "--library", ownLibrary)
	assert.Equal(t, exitError, got.code)
	assert.Equal(t, "lintel: the library has neither a policy nor a bundle \"sysctl\"; did you mean sysctls?\n", got.stderr)
}

// TestPolicyAdd: a cluster would accept the folder, and its policies deny.
func TestPolicyAdd(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "policies")
	got := lintel(t, "", "policy", "add", "pod-security-baseline", "-o", folder, "--library", ownLibrary)
	require.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stdout, "12 policies in "+folder)
	lint := lintel(t, "", "policy", "lint", "-p", folder)
	assert.Equal(t, 0, lint.code, lint.stdout+lint.stderr)
	check := lintel(t, "", "check", "-p", folder, "-f", ownLibrary+"/pod-security/sysctls/bad.yaml")
	assert.Equal(t, exitDenied, check.code)
	assert.Contains(t, check.stdout, "which is not safe")

	got = lintel(t, "", "policy", "add", "volume_types", "sysctls", "-o", folder, "--library", ownLibrary)
	assert.Equal(t, 0, got.code, "files that are equal are kept: %s", got.stderr)
	edited := filepath.Join(folder, "pod-security/sysctls/sysctls.rego")
	require.NoError(t, os.WriteFile(edited, []byte("package library.sysctls\n"), 0o600))
	got = lintel(t, "", "policy", "add", "run_as_non_root", "sysctls", "-o", folder, "--library", ownLibrary)
	assert.Equal(t, exitError, got.code)
	assert.Contains(t, got.stderr, "lintel: pod-security/sysctls/sysctls.rego in "+folder+" differ from the library, so nothing is written: replace them with --overwrite")
	assert.NoDirExists(t, filepath.Join(folder, "pod-security/run_as_non_root"))
	got = lintel(t, "", "policy", "add", "sysctls", "-o", folder, "--overwrite", "--library", ownLibrary)
	assert.Equal(t, 0, got.code, got.stderr)
	text, err := os.ReadFile(edited)
	require.NoError(t, err)
	assert.Contains(t, string(text), "# METADATA")
}

func TestBadLibraries(t *testing.T) {
	t.Parallel()
	other := folder(t, map[string]string{"p.rego": denyAll})
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no library":       {[]string{"search"}, "lintel: this build of lintel is not a release, so it has no library of its own: specify --library PATH"},
		"missing folder":   {[]string{"search", "--library", "nothing"}, "nothing"},
		"another folder":   {[]string{"search", "--library", other}, "reading the library " + other + ": the library has no policies: a policy is in a file CATEGORY/NAME/NAME.rego"},
		"key of a folder":  {[]string{"show", "--library", other, "--key", "k"}, "--key, --registry-config and --insecure are for libraries in a registry"},
		"no registry":      {[]string{"show", "--library", "oci://127.0.0.1:1/library:v1", "--insecure"}, "fetching the library oci://127.0.0.1:1/library:v1: "},
		"without network":  {[]string{"show", "--library", "oci://127.0.0.1:1/library:v1", "--insecure"}, "without a network, specify another one with --library, such as the path of a folder"},
		"no repository":    {[]string{"show", "--library", "oci://registry.example.com"}, `--library: invalid value "oci://registry.example.com": write oci://registry/repository:tag`},
		"no digest":        {[]string{"show", "--library", "oci://registry.example.com/a@v1"}, "--library: invalid value"},
		"no key":           {[]string{"show", "--library", "oci://127.0.0.1:1/library", "--key", "nothing"}, "reading the public key: open nothing"},
		"no config":        {[]string{"show", "--library", "oci://127.0.0.1:1/library", "--registry-config", "nothing"}, "reading the credentials of registries: open nothing"},
		"nothing to add":   {[]string{"add", "-o", "x"}, "no policies: specify names of policies or bundles"},
		"no output":        {[]string{"add", "sysctls"}, "no folder: specify one with -o"},
		"unknown to add":   {[]string{"add", "syctls", "-o", t.TempDir(), "--library", ownLibrary}, `neither a policy nor a bundle "syctls"; did you mean sysctls?`},
		"output is a file": {[]string{"add", "sysctls", "-o", "main.go", "--library", ownLibrary}, "creating the folder: mkdir main.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lintel(t, "", append([]string{"policy"}, test.args...)...)
			assert.Equal(t, exitError, got.code)
			assert.Empty(t, got.stdout)
			assert.Contains(t, got.stderr, test.want)
		})
	}
}

// TestLibraryOfARegistry: the library comes from an artifact by tag or digest, and only if it is
// signed when a key is specified.
func TestLibraryOfARegistry(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	name := strings.TrimPrefix(server.URL, "http://") + "/lintel/library"
	digest := pushFolder(t, name, "v1.2.3", ownLibrary)
	for _, reference := range []string{name + ":v1.2.3", name + "@" + digest, name + ":v1.2.3@" + digest} {
		got := lintel(t, "", "policy", "add", "sysctls", "-o", t.TempDir(), "--insecure", "--library", "oci://"+reference)
		assert.Equal(t, 0, got.code, got.stderr)
	}
	got := lintel(t, "", "policy", "search", "--insecure", "--library", "oci://"+name+":v9")
	assert.Equal(t, exitError, got.code)
	assert.Contains(t, got.stderr, "the library oci://"+name+":v9 does not exist in the registry: specify another one with --library")

	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	require.NoError(t, err)
	key := filepath.Join(t.TempDir(), "cosign.pub")
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600))
	search := []string{"policy", "search", "--insecure", "--key", key, "--library", "oci://" + name + ":v1.2.3"}
	got = lintel(t, "", search...)
	assert.Equal(t, exitError, got.code)
	assert.Contains(t, got.stderr, "is not signed")
	assert.Empty(t, got.stdout)

	signArtifact(t, name, digest, private)
	got = lintel(t, "", search...)
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stdout, "sysctls")
}

// signArtifact signs an artifact as cosign does.
func signArtifact(t *testing.T, repository, digest string, key *ecdsa.PrivateKey) {
	t.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"image":{"docker-manifest-digest":%q}}}`, digest)
	sum := sha256.Sum256(payload)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	require.NoError(t, err)
	target, err := remote.NewRepository(repository)
	require.NoError(t, err)
	target.PlainHTTP = true
	layer, err := oras.PushBytes(t.Context(), target, "application/vnd.dev.cosign.simplesigning.v1+json", payload)
	require.NoError(t, err)
	layer.Annotations = map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)}
	manifest, err := oras.PackManifest(t.Context(), target, oras.PackManifestVersion1_0, "", oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	require.NoError(t, err)
	require.NoError(t, target.Tag(t.Context(), manifest, strings.Replace(digest, ":", "-", 1)+".sig"))
}

// pushFolder pushes a folder as a tarball, and returns the digest of the artifact.
func pushFolder(t *testing.T, repository, tag, folder string) string {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	require.NoError(t, archive.AddFS(os.DirFS(folder)))
	require.NoError(t, archive.Close())
	require.NoError(t, compressed.Close())
	target, err := remote.NewRepository(repository)
	require.NoError(t, err)
	target.PlainHTTP = true
	layer, err := oras.PushBytes(t.Context(), target, ocispec.MediaTypeImageLayerGzip, buffer.Bytes())
	require.NoError(t, err)
	manifest, err := oras.PackManifest(t.Context(), target, oras.PackManifestVersion1_0, "", oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	require.NoError(t, err)
	require.NoError(t, target.Tag(t.Context(), manifest, tag))
	return manifest.Digest.String()
}
