package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPushLibrary: the library and each bundle are artifacts of their own, signed, and the same
// each time.
func TestPushLibrary(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	m := &maker{Folder: "../..", Version: "v1.2.3"}
	push := pusher{Key: key, Insecure: true}
	target := strings.TrimPrefix(server.URL, "http://") + "/lintel"
	references, err := push.pushLibrary(t.Context(), target, m)
	require.NoError(t, err)
	bundles, err := filepath.Glob("../../config/library/bundles/*.yaml")
	require.NoError(t, err)
	require.Len(t, references, len(bundles)+1)
	again, err := push.pushLibrary(t.Context(), target, m)
	require.NoError(t, err)
	assert.Equal(t, references, again)

	whole := filesOf(t, target+"/library:v1.2.3")
	assert.Contains(t, whole, "bundles/cost.yaml")
	assert.Contains(t, whole, "networking/ingress_tls/ingress_tls.rego")
	baseline := filesOf(t, target+"/library/pod-security-baseline:v1.2.3")
	for _, file := range []string{
		"bundles/pod-security-baseline.yaml", "shared/pods.rego", "pod-security/sysctls/sysctls.rego", "pod-security/sysctls/sysctls_test.rego",
		"pod-security/sysctls/bad.yaml",
	} {
		assert.Contains(t, baseline, file)
	}
	for file := range baseline {
		assert.NotContains(t, file, "networking/")
		assert.NotContains(t, file, ".go")
	}
	digest, err := name.NewDigest(references[0], name.Insecure)
	require.NoError(t, err)
	_, err = remote.Image(digest.Context().Tag(strings.Replace(digest.DigestStr(), ":", "-", 1) + ".sig"))
	require.NoError(t, err, "the artifact is signed")
}

// filesOf are the files of the artifact of a tag.
func filesOf(t *testing.T, reference string) map[string]bool {
	t.Helper()
	tag, err := name.NewTag(reference, name.Insecure)
	require.NoError(t, err)
	image, err := remote.Image(tag)
	require.NoError(t, err)
	manifest, err := image.Manifest()
	require.NoError(t, err)
	require.Len(t, manifest.Layers, 1)
	assert.Equal(t, "application/vnd.oci.image.layer.v1.tar+gzip", string(manifest.Layers[0].MediaType))
	assert.Equal(t, "v1.2.3", manifest.Annotations["org.opencontainers.image.version"])
	layer, err := image.LayerByDigest(manifest.Layers[0].Digest)
	require.NoError(t, err)
	compressed, err := layer.Compressed()
	require.NoError(t, err)
	unzipped, err := gzip.NewReader(compressed)
	require.NoError(t, err)
	files := map[string]bool{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		files[header.Name] = true
	}
}

func TestBundleOfAMissingPolicy(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, libraryFolder, "bundles"), 0o755))
	m := &maker{Folder: folder}
	_, err := m.libraryArtifacts()
	require.ErrorContains(t, err, "the library has no bundles")
	require.NoError(t, os.WriteFile(filepath.Join(folder, libraryFolder, "bundles/all.yaml"), []byte("policies: [missing]\n"), 0o600))
	_, err = m.libraryArtifacts()
	require.ErrorContains(t, err, `bundles/all.yaml: the library has no policy "missing"`)
}
