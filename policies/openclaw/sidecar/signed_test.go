package sidecar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/opaserver"
)

// served is a running OPA.
type served struct {
	api, file string
	log       *opaserver.Log
}

// serveBundle starts an OPA as a gateway does, for a signed bundle, with some content in its file.
func serveBundle(t *testing.T, binary string, signed *Signed, content []byte) served {
	t.Helper()
	s := served{api: opaserver.FreeAddress(t), file: filepath.Join(t.TempDir(), "bundle.tar.gz")}
	if content != nil {
		require.NoError(t, os.WriteFile(s.file, content, 0o600))
	}
	s.log = opaserver.Start(t, binary, s.api, append(signed.ServerArguments(s.file, "here"), "--addr="+s.api, "--log-level=info")...)
	return s
}

// packed are the files of a bundle by path.
func packed(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	files := map[string][]byte{}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		files[header.Name], err = io.ReadAll(reader)
		require.NoError(t, err)
	}
}

// edited is a bundle after a change of its files.
func edited(t *testing.T, content []byte, edit func(files map[string][]byte)) []byte {
	t.Helper()
	files := packed(t, content)
	edit(files)
	out, err := archive(files)
	require.NoError(t, err)
	return out
}

// readBundle reads a bundle with the OPA that Lintel itself is built with.
func readBundle(signed *Signed, content []byte) (bundle.Bundle, error) {
	keys := map[string]*bundle.KeyConfig{signed.KeyID: {Key: signed.PublicKey, Algorithm: SignatureAlgorithm}}
	return bundle.NewReader(bytes.NewReader(content)).
		WithBundleVerificationConfig(bundle.NewVerificationConfig(keys, signed.KeyID, "here", nil)).Read()
}

// TestOnlyTheSignedBundleIsLoaded: an OPA answers by the bundle whose public key is in its
// arguments. It loads no other when it starts, and none at all afterwards.
func TestOnlyTheSignedBundleIsLoaded(t *testing.T) {
	t.Parallel()
	binary := opaserver.Build(t, Version)
	const path = "lintel/answers/models.rego"
	denies := map[string]string{path: "package openclaw.enterprise.models\n\nallow := false\n"}
	allows := map[string]string{path: "package openclaw.enterprise.models\n\nallow := true\n"}
	sign := func(files map[string]string, scope string) *Signed {
		signed, err := Sign(files, "2", scope)
		require.NoError(t, err)
		return signed
	}
	signed, older := sign(denies, "here"), sign(allows, "here")
	const decision = "openclaw/enterprise/models/allow"

	elsewhere := *sign(allows, "elsewhere")
	for name, c := range map[string]struct {
		trusts  *Signed
		content []byte
		why     string
	}{
		"edited": {signed, edited(t, signed.Bundle, func(files map[string][]byte) { files[path] = []byte(allows[path]) }), "digest mismatch"},
		"added":  {signed, edited(t, signed.Bundle, func(files map[string][]byte) { files["evil.rego"] = []byte(allows[path]) }), "not included in bundle signature"},
		"taken away": {signed, edited(t, signed.Bundle, func(files map[string][]byte) { delete(files, path) }),
			"specified in bundle signatures but not found"},
		"another manifest": {signed, edited(t, signed.Bundle, func(files map[string][]byte) { files[".manifest"] = []byte(`{"revision": "3"}`) }), "digest mismatch"},
		"unsigned":         {signed, edited(t, signed.Bundle, func(files map[string][]byte) { delete(files, signaturesFile) }), "missing .signatures.json file"},
		"truncated":        {signed, signed.Bundle[:len(signed.Bundle)/2], "unexpected EOF"},
		"older":            {signed, older.Bundle, "failed to verify"},
		"of another scope": {&elsewhere, elsewhere.Bundle, "scope mismatch"},
		"missing":          {signed, nil, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.content != nil {
				_, err := readBundle(c.trusts, c.content)
				require.Error(t, err, "the OPA of Lintel refuses it, too")
			}
			opa := serveBundle(t, binary, c.trusts, c.content)
			require.Eventually(t, func() bool { return strings.Contains(opa.log.String(), "Bundle load failed") }, time.Minute, 10*time.Millisecond)
			require.Contains(t, opa.log.String(), c.why)
			require.Equal(t, http.StatusInternalServerError, opaserver.Status(opa.api, "/health?bundles"))
			require.Nil(t, opaserver.Ask(t, opa.api, decision, `{}`), "without a bundle there is no answer")
		})
	}
	t.Run("as it was signed", func(t *testing.T) {
		t.Parallel()
		read, err := readBundle(signed, signed.Bundle)
		require.NoError(t, err)
		require.Equal(t, "2", read.Manifest.Revision)
		opa := serveBundle(t, binary, signed, signed.Bundle)
		active := func() bool { return opaserver.Status(opa.api, "/health?bundles") == http.StatusOK }
		require.Eventually(t, active, time.Minute, 10*time.Millisecond)
		for name, content := range map[string][]byte{
			"an edit":         edited(t, signed.Bundle, func(files map[string][]byte) { files[path] = []byte(allows[path]) }),
			"an older bundle": older.Bundle,
		} {
			require.NoError(t, os.WriteFile(opa.file, content, 0o600))
			// An OPA that starts with that file has tried it by the time it is healthy; the
			// one that runs has not.
			other := opaserver.FreeAddress(t)
			log := opaserver.Start(t, binary, other, append(signed.ServerArguments(opa.file, "here"), "--addr="+other)...)
			require.Eventually(t, func() bool { return strings.Contains(log.String(), "Bundle load failed") }, time.Minute, 10*time.Millisecond, name)
			require.JSONEq(t, "false", string(opaserver.Ask(t, opa.api, decision, `{}`)), name)
			require.True(t, active(), name)
		}
		// Its API changes nothing that the bundle owns.
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+opa.api+"/v1/policies/evil", strings.NewReader("package openclaw.enterprise.models\n\nallow := true\n"))
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
	})
}

// TestBundlesAreDeterministic: without the signature, which no two keys share.
func TestBundlesAreDeterministic(t *testing.T) {
	t.Parallel()
	files := map[string]string{"b.rego": "package b", "a.rego": "package a"}
	pack := func() []byte {
		signed, err := Sign(files, "1", "here")
		require.NoError(t, err)
		return edited(t, signed.Bundle, func(files map[string][]byte) { delete(files, signaturesFile) })
	}
	require.Equal(t, pack(), pack())
	require.ElementsMatch(t, []string{".manifest", "a.rego", "b.rego"}, func() (names []string) {
		for name := range maps.Keys(packed(t, pack())) {
			names = append(names, name)
		}
		return names
	}())
}

// TestSignedSize: a bundle never takes more than SignedSize says, however badly its text
// compresses.
func TestSignedSize(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(size int) string {
		text := make([]byte, size)
		for i := range text {
			text[i] = byte(random.IntN(256))
		}
		return string(text)
	}
	for _, c := range []struct{ files, size int }{{1, 1 << 20}, {100, 1000}, {5000, 20}} {
		files := map[string]string{}
		for i := range c.files {
			files[fmt.Sprintf("lintel/policies/models/team/%x/%x.rego", noise(20), i)] = noise(c.size)
		}
		signed, err := Sign(files, strings.Repeat("r", 64), strings.Repeat("s", 400))
		require.NoError(t, err)
		require.Less(t, len(signed.Bundle), SignedSize(files), "%d files of %d bytes", c.files, c.size)
	}
}
