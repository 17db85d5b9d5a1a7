package sidecar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// SignatureAlgorithm is the algorithm of the signatures of bundles.
const SignatureAlgorithm = "ES256"

// signaturesFile is where OPA looks for the signature of a bundle.
const signaturesFile = ".signatures.json"

// Signed is a bundle that OPA loads only with its own public key: each bundle has a key
// pair of its own, whose private key is discarded once the bundle is signed. An OPA that is
// started with PublicKey therefore refuses every other bundle, older ones included.
type Signed struct {
	// Bundle is the gzipped tar archive.
	Bundle []byte
	// KeyID is derived from PublicKey, which is in PEM.
	KeyID, PublicKey string
}

// Sign packs the files of a composition into a bundle of a revision and signs it for a
// scope, which the verifier has to name.
func Sign(files map[string]string, revision, scope string) (*Signed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key pair of bundle %s: %w", revision, err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encoding the public key of bundle %s: %w", revision, err)
	}
	sum := sha256.Sum256(public)
	// Not a number, as which the parser of `opa run --set` would read some digests.
	out := &Signed{
		KeyID:     "key-" + hex.EncodeToString(sum[:16]),
		PublicKey: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	}
	contents, err := bundleContents(files, revision)
	if err != nil {
		return nil, err
	}
	signatures, err := signaturesOf(contents, key, out.KeyID, scope)
	if err != nil {
		return nil, fmt.Errorf("signing bundle %s: %w", revision, err)
	}
	contents[signaturesFile] = signatures
	out.Bundle, err = archive(contents)
	return out, err
}

// bundleContents are the files of a bundle without its signature.
func bundleContents(files map[string]string, revision string) (map[string][]byte, error) {
	version := ast.RegoV1.Int()
	// The bundle owns all of data: OPA's API then changes none of it.
	manifest, err := json.Marshal(bundle.Manifest{Revision: revision, Roots: &[]string{""}, RegoVersion: &version})
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest of bundle %s: %w", revision, err)
	}
	contents := map[string][]byte{bundle.ManifestExt: manifest}
	for path, text := range files {
		contents[path] = []byte(text)
	}
	return contents, nil
}

// signaturesOf is .signatures.json, in the format of OPA: a JWT that lists the digest of
// every file.
func signaturesOf(contents map[string][]byte, key *ecdsa.PrivateKey, keyID, scope string) ([]byte, error) {
	hasher, err := bundle.NewSignatureHasher(bundle.SHA256)
	if err != nil {
		return nil, err
	}
	payload := bundle.DecodedSignature{Scope: scope}
	for _, path := range slices.Sorted(maps.Keys(contents)) {
		var value any = contents[path]
		if bundle.IsStructuredDoc(path) {
			if err := json.Unmarshal(contents[path], &value); err != nil {
				return nil, err
			}
		}
		digest, err := hasher.HashFile(value)
		if err != nil {
			return nil, fmt.Errorf("hashing %s: %w", path, err)
		}
		payload.Files = append(payload.Files, bundle.NewFile(path, hex.EncodeToString(digest), bundle.SHA256.String()))
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	headers := jws.NewHeaders()
	if err := headers.Set(jws.KeyIDKey, keyID); err != nil {
		return nil, err
	}
	token, err := jws.Sign(text, jws.WithKey(jwa.ES256(), key, jws.WithProtectedHeaders(headers)))
	if err != nil {
		return nil, err
	}
	return json.Marshal(bundle.SignaturesConfig{Signatures: []string{string(token)}})
}

// archive is a gzipped tar archive that depends on nothing but its contents.
func archive(contents map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	files := tar.NewWriter(compressed)
	for _, path := range slices.Sorted(maps.Keys(contents)) {
		header := &tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o444, Size: int64(len(contents[path])), Format: tar.FormatPAX}
		if err := files.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", path, err)
		}
		if _, err := files.Write(contents[path]); err != nil {
			return nil, fmt.Errorf("packing %s: %w", path, err)
		}
	}
	if err := errors.Join(files.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// ServerArguments are the arguments of an OPA that answers by the bundle in a file, and by
// no other.
func (s *Signed) ServerArguments(file, scope string) []string {
	arguments := []string{"run", "--server"}
	for _, setting := range []string{
		"bundles.policies.resource=file://" + file,
		"bundles.policies.signing.keyid=" + s.KeyID,
		"bundles.policies.signing.scope=" + scope,
		"keys." + s.KeyID + ".algorithm=" + SignatureAlgorithm,
		"keys." + s.KeyID + ".key=" + s.PublicKey,
	} {
		arguments = append(arguments, "--set="+setting)
	}
	return arguments
}

const (
	// bundleOverhead is what a bundle takes without files, and fileOverhead what a file
	// takes in addition to its text and twice its path: the header of the archive, and the
	// entry in the signature.
	bundleOverhead = 4 << 10
	fileOverhead   = 256
)

// SignedSize is an upper bound of the bytes that the bundle of these files takes.
func SignedSize(files map[string]string) int {
	size := bundleOverhead
	for path, text := range files {
		size += fileOverhead + 2*len(path) + len(text)
	}
	return size
}
