package origin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// ociRegistry is a registry with the repository lintel/policies.
type ociRegistry struct {
	t    *testing.T
	host string
	*remote.Repository
}

func startRegistry(t *testing.T, wrap func(http.Handler) http.Handler) *ociRegistry {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	repository, err := remote.NewRepository(host + "/lintel/policies")
	require.NoError(t, err)
	repository.PlainHTTP = true
	return &ociRegistry{t, host, repository}
}

func (r *ociRegistry) request() Request {
	return withLimits(Request{OCI: &v1alpha1.OCIOrigin{URL: "oci://" + r.host + "/lintel/policies", Insecure: true}})
}

// push pushes layers under a tag.
func (r *ociRegistry) push(tag string, layers ...ocispec.Descriptor) ocispec.Descriptor {
	r.t.Helper()
	manifest, err := oras.PackManifest(r.t.Context(), r, oras.PackManifestVersion1_0, "application/vnd.oci.image.config.v1+json", oras.PackManifestOptions{Layers: layers})
	require.NoError(r.t, err)
	require.NoError(r.t, r.Tag(r.t.Context(), manifest, tag))
	return manifest
}

func (r *ociRegistry) blob(mediaType string, text []byte) ocispec.Descriptor {
	r.t.Helper()
	blob := content.NewDescriptorFromBytes(mediaType, text)
	require.NoError(r.t, r.Push(r.t.Context(), blob, bytes.NewReader(text)))
	return blob
}

func (r *ociRegistry) tarball(files map[string]string) ocispec.Descriptor {
	r.t.Helper()
	var headers []tarFile
	for _, name := range slices.Sorted(maps.Keys(files)) {
		headers = append(headers, tarFile{tar.Header{Name: name, Mode: 0o600, Typeflag: tar.TypeReg}, files[name]})
	}
	return r.blob(ocispec.MediaTypeImageLayerGzip, tarballOf(r.t, headers...))
}

type tarFile struct {
	tar.Header
	text string
}

func tarballOf(t *testing.T, files ...tarFile) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for _, file := range files {
		file.Size = int64(len(file.text))
		require.NoError(t, writer.WriteHeader(&file.Header))
		_, err := writer.Write([]byte(file.text))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

func TestArtifacts(t *testing.T) {
	r := startRegistry(t, nil)
	first := r.push("v1", r.tarball(map[string]string{"/team.rego": module, "/.manifest": "{}", "/data.json": "{}"}))
	second := r.push("latest", r.tarball(map[string]string{"./policies/b.rego": module, "README.md": "x"}), r.tarball(map[string]string{"policies/c.rego": module}))
	for name, c := range map[string]struct {
		ref      v1alpha1.OCIRef
		path     string
		revision string
		files    []string
	}{
		"a bundle of OPA": {v1alpha1.OCIRef{Tag: "v1"}, "", "v1@" + first.Digest.String(), []string{"data.json", "team.rego"}},
		"the latest":      {v1alpha1.OCIRef{}, "", "latest@" + second.Digest.String(), []string{"policies/b.rego", "policies/c.rego"}},
		"a folder":        {v1alpha1.OCIRef{}, "policies", "latest@" + second.Digest.String(), []string{"b.rego", "c.rego"}},
		"a digest":        {v1alpha1.OCIRef{Digest: first.Digest.String(), Tag: "latest"}, "", first.Digest.String(), []string{"data.json", "team.rego"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := r.request()
			request.OCI.Ref, request.OCI.Path = c.ref, c.path
			got, err := fetch(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, c.revision, got.Revision)
			require.Equal(t, c.files, slices.Sorted(maps.Keys(got.Files)))
			request.Known = got.Revision
			again, err := fetch(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, &Answer{Revision: c.revision}, again)
		})
	}
	t.Run("in a process of its own", func(t *testing.T) {
		got, err := fetchApart(t, r.request())
		require.NoError(t, err)
		require.Len(t, got.Files, 2)
	})
}

func TestArtifactsThatAreRefused(t *testing.T) {
	file := func(name, text string) tarFile {
		return tarFile{tar.Header{Name: name, Mode: 0o600, Typeflag: tar.TypeReg}, text}
	}
	link := func(kind byte) tarFile {
		return tarFile{tar.Header{Name: "a.rego", Linkname: "/etc/passwd", Typeflag: kind}, ""}
	}
	for name, c := range map[string]struct {
		layer   []byte
		path    string
		kind    string
		limits  func(*Limits)
		reason  string
		message string
	}{
		"a way out":              {layer: tarballOf(t, file("../a.rego", module)), reason: ReasonContentRefused, message: "leaves its folder"},
		"a way out in between":   {layer: tarballOf(t, file("policies/../../a.rego", module)), reason: ReasonContentRefused, message: "leaves its folder"},
		"a link":                 {layer: tarballOf(t, link(tar.TypeSymlink)), reason: ReasonContentRefused, message: "a.rego is a link"},
		"a hard link":            {layer: tarballOf(t, link(tar.TypeLink)), reason: ReasonContentRefused, message: "a.rego is a link"},
		"a file twice":           {layer: tarballOf(t, file("a.rego", module), file("./a.rego", module)), reason: ReasonContentRefused, message: "a.rego is twice"},
		"no tarball":             {layer: []byte("hello"), reason: ReasonContentRefused, message: "no gzipped tarball that can be read"},
		"a tarball that ends":    {layer: tarballOf(t, file("a.rego", module))[:40], reason: ReasonContentRefused, message: "no gzipped tarball that can be read"},
		"another kind of layer":  {layer: tarballOf(t, file("a.rego", module)), kind: "application/wasm", reason: ReasonContentRefused, message: "has no layer that is a gzipped tarball"},
		"no such folder":         {layer: tarballOf(t, file("a.rego", module)), path: "policies", reason: ReasonNotFound, message: "has no folder policies"},
		"a large file":           {layer: tarballOf(t, file("a.rego", strings.Repeat("#", 101))), limits: func(l *Limits) { l.FileBytes = 100 }, reason: ReasonTooLarge, message: "a.rego has more than 100 bytes"},
		"many files":             {layer: tarballOf(t, file("a", ""), file("b", ""), file("c", "")), limits: func(l *Limits) { l.Entries = 2 }, reason: ReasonTooLarge, message: "more than 2 files"},
		"what unpacks to much":   {layer: tarballOf(t, file("movie.bin", strings.Repeat("\x00", 1<<20))), limits: func(l *Limits) { l.TotalBytes = 1000 }, reason: ReasonTooLarge, message: "unpacks to more than 16000 bytes"},
		"more than is permitted": {layer: tarballOf(t, file("a.rego", module)), limits: func(l *Limits) { l.TransferBytes = 20 }, reason: ReasonTooLarge, message: "sends more than 20 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRegistry(t, nil)
			kind := c.kind
			if kind == "" {
				kind = ocispec.MediaTypeImageLayerGzip
			}
			r.push("latest", r.blob(kind, c.layer))
			request := r.request()
			request.OCI.Path = c.path
			if c.limits != nil {
				c.limits(&request.Limits)
			}
			_, err := fetch(t.Context(), request)
			requireRefused(t, err, c.reason, c.message)
		})
	}
}

func TestNamesInBundles(t *testing.T) {
	for given, want := range map[string]string{
		"policies/a.rego":         "a.rego",
		"./policies/below/a.rego": "below/a.rego",
		"/policies/a.rego":        "a.rego",
		"policies/.hidden.rego":   "",
		"policies/.git/a.rego":    "",
		"other/a.rego":            "",
		"policies":                "",
	} {
		name, err := (&bundle{folder: "policies"}).name(given)
		require.NoError(t, err)
		require.Equal(t, want, name, given)
	}
}

// TestARegistryThatLies serves another content than the digest that was asked for.
func TestARegistryThatLies(t *testing.T) {
	evil := tarballOf(t, tarFile{tar.Header{Name: "evil.rego", Mode: 0o600, Typeflag: tar.TypeReg}, module})
	for what, lie := range map[string]struct{ path, text string }{
		"manifest": {"/manifests/", `{"schemaVersion":2,"layers":[]}`},
		"layer":    {"/blobs/", string(evil)},
	} {
		t.Run(what, func(t *testing.T) {
			lying := false
			r := startRegistry(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
					if !lying || request.Method != http.MethodGet || !strings.Contains(request.URL.Path, lie.path) {
						next.ServeHTTP(w, request)
						return
					}
					w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
					_, _ = io.WriteString(w, lie.text)
				})
			})
			pushed := r.push("latest", r.tarball(map[string]string{"a.rego": module}))
			lying = true
			request := r.request()
			request.OCI.Ref.Digest = pushed.Digest.String()
			got, err := fetch(t.Context(), request)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			require.Nil(t, got)
		})
	}
}

func TestRegistryCredentials(t *testing.T) {
	var locked bool
	r := startRegistry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if user, password, _ := request.BasicAuth(); locked && user+":"+password != "ada:right" {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, request)
		})
	})
	r.push("latest", r.tarball(map[string]string{"a.rego": module}))
	locked = true
	config := func(host, password string) map[string]string {
		return map[string]string{DockerConfigKey: fmt.Sprintf(`{"auths":{%q:{"username":"ada","password":%q,"auth":%q}}}`,
			host, password, base64.StdEncoding.EncodeToString([]byte("ada:"+password)))}
	}
	for name, c := range map[string]struct {
		credentials map[string]string
		reason      string
	}{
		"right":               {config(r.host, "right"), ""},
		"wrong":               {config(r.host, "wrong"), ReasonAuthenticationFailed},
		"of another registry": {config("registry.example.com", "right"), ReasonAuthenticationFailed},
		"none":                {nil, ReasonAuthenticationFailed},
		"something else":      {map[string]string{"password": "right"}, ReasonCredentialsInvalid},
		"broken":              {map[string]string{DockerConfigKey: "{"}, ReasonCredentialsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			request := r.request()
			request.Credentials = secretData(c.credentials)
			_, err := fetch(t.Context(), request)
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			requireRefused(t, err, c.reason, "Secret")
			require.NotContains(t, err.Error(), "right")
		})
	}
}

func TestMissingArtifacts(t *testing.T) {
	r := startRegistry(t, nil)
	_, err := fetch(t.Context(), r.request())
	requireRefused(t, err, ReasonNotFound, "there is no artifact")
	r.push("latest", r.tarball(map[string]string{"a.rego": module}))
	request := r.request()
	request.OCI.Ref.Tag = "v2"
	_, err = fetch(t.Context(), request)
	requireRefused(t, err, ReasonNotFound, "v2")
	for _, url := range []string{"https://registry/x", "oci://registry", "oci://registry/policies:v1", "oci://registry/UPPER"} {
		request.OCI.URL = url
		_, err = fetch(t.Context(), request)
		requireRefused(t, err, ReasonFetchFailed, "spec.oci.url must be")
	}
}

// cosign signs as cosign does with a key.
func (r *ociRegistry) cosign(key crypto.Signer, signed digest.Digest, payload string) {
	r.t.Helper()
	if payload == "" {
		payload = fmt.Sprintf(`{"critical":{"identity":{"docker-reference":"%s/lintel/policies"},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, r.host, signed)
	}
	message, options := []byte(payload), crypto.SignerOpts(crypto.Hash(0))
	if _, isEd25519 := key.(ed25519.PrivateKey); !isEd25519 {
		sum := sha256.Sum256(message)
		message, options = sum[:], crypto.SHA256
	}
	signature, err := key.Sign(rand.Reader, message, options)
	require.NoError(r.t, err)
	layer := r.blob(simpleSigningType, []byte(payload))
	layer.Annotations = map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)}
	r.push(strings.Replace(signed.String(), ":", "-", 1)+".sig", layer)
}

func publicKey(t *testing.T, key crypto.Signer) string {
	t.Helper()
	text, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: text}))
}

func TestCosign(t *testing.T) {
	ada, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	eve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	old, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	other := digest.FromString("another artifact")
	for name, c := range map[string]struct {
		key     crypto.Signer // that signs
		of      digest.Digest // what: this artifact where empty
		payload string
		trusted map[string]string
		reason  string
		message string
	}{
		"ECDSA":               {key: ada, trusted: map[string]string{"ada.pub": publicKey(t, ada)}},
		"Ed25519":             {key: edwards, trusted: map[string]string{"ed.pub": publicKey(t, edwards)}},
		"RSA":                 {key: old, trusted: map[string]string{"rsa.pub": publicKey(t, old)}},
		"one of two":          {key: ada, trusted: map[string]string{"eve.pub": publicKey(t, eve), "ada.pub": publicKey(t, ada)}},
		"another key":         {key: eve, trusted: map[string]string{"ada.pub": publicKey(t, ada)}, reason: ReasonVerificationFailed, message: "none of the trusted keys fits"},
		"no signature":        {trusted: map[string]string{"ada.pub": publicKey(t, ada)}, reason: ReasonVerificationFailed, message: "is not signed: there is no tag sha256-"},
		"of another artifact": {key: ada, of: other, trusted: map[string]string{"ada.pub": publicKey(t, ada)}, reason: ReasonVerificationFailed, message: "its signature is for \"" + other.String()},
		"of something else":   {key: ada, payload: "hello", trusted: map[string]string{"ada.pub": publicKey(t, ada)}, reason: ReasonVerificationFailed, message: "reading the signed payload"},
		"no key":              {key: ada, trusted: map[string]string{"ada": publicKey(t, ada)}, reason: ReasonCredentialsInvalid, message: "no entry that ends in .pub"},
		"a broken key":        {key: ada, trusted: map[string]string{"ada.pub": "x"}, reason: ReasonCredentialsInvalid, message: "ada.pub"},
	} {
		t.Run(name, func(t *testing.T) {
			read := 0
			r := startRegistry(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
					if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/blobs/") {
						read++
					}
					next.ServeHTTP(w, request)
				})
			})
			pushed := r.push("latest", r.tarball(map[string]string{"a.rego": module}))
			if c.key != nil {
				of := pushed.Digest
				payload := c.payload
				if c.of != "" { // under this artifact's tag
					payload = fmt.Sprintf(`{"critical":{"image":{"docker-manifest-digest":%q}}}`, c.of)
				}
				r.cosign(c.key, of, payload)
			}
			request := r.request()
			request.OCI.Verify = &v1alpha1.OCIVerification{Provider: v1alpha1.OCIVerificationCosign}
			request.Keys = secretData(c.trusted)
			got, err := fetch(t.Context(), request)
			if c.reason == "" {
				require.NoError(t, err)
				require.Contains(t, got.Signature, pushed.Digest.String()+" is signed by ")
				require.NotEmpty(t, got.Files)
				return
			}
			requireRefused(t, err, c.reason, c.message)
			require.LessOrEqual(t, read, 1, "no more than the payload of the signature is read")
		})
	}
}
