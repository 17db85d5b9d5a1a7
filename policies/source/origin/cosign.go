package origin

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
)

// The names of cosign's simple signing, see its SIGNATURE_SPEC.
const (
	simpleSigningType   = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	// maxSignatures bounds how many are tried.
	maxSignatures = 64
)

// cosignKey is a trusted key and the name of its entry in the Secret.
type cosignKey struct {
	name string
	key  crypto.PublicKey
}

// verifyCosign says which trusted key has signed an artifact. The signatures are at the
// tag that is made of the artifact's digest.
func (a *artifacts) verifyCosign(ctx context.Context, signed digest.Digest) (string, error) {
	keys, err := readCosignKeys(a.request.Keys)
	if err != nil {
		return "", err
	}
	tag := strings.Replace(signed.String(), ":", "-", 1) + ".sig"
	found, err := a.Resolve(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return "", refuse(ReasonVerificationFailed, "%s is not signed: there is no tag %s; sign it with cosign sign --key, as simple signing", signed, tag)
	}
	if err != nil {
		return "", a.describe(err)
	}
	manifest, err := a.manifest(ctx, found)
	if err != nil {
		return "", err
	}
	reason := errors.New("its signature has no layer of the type " + simpleSigningType)
	for _, layer := range manifest.Layers[:min(len(manifest.Layers), maxSignatures)] {
		if layer.MediaType != simpleSigningType {
			continue
		}
		key, err := a.verifySignature(ctx, layer, signed, keys)
		if err == nil {
			return fmt.Sprintf("%s is signed by %s", signed, key), nil
		}
		reason = err
	}
	return "", refuse(ReasonVerificationFailed, "%s is not signed by a trusted key: %v", signed, reason)
}

// verifySignature checks one signature: of what, and by whom.
func (a *artifacts) verifySignature(ctx context.Context, layer ocispec.Descriptor, signed digest.Digest, keys []cosignKey) (string, error) {
	signature, err := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
	if err != nil || len(signature) == 0 {
		return "", errors.New("its signature is not in base64")
	}
	text, err := a.read(ctx, layer)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(keys, func(k cosignKey) bool { return hasSigned(k.key, text, signature) })
	if i < 0 {
		return "", errors.New("none of the trusted keys fits its signature")
	}
	var payload struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if err := json.Unmarshal(text, &payload); err != nil {
		return "", fmt.Errorf("reading the signed payload: %w", err)
	}
	if payload.Critical.Image.Digest != signed.String() {
		return "", fmt.Errorf("its signature is for %q", payload.Critical.Image.Digest)
	}
	return keys[i].name, nil
}

// readCosignKeys reads the entries whose names end in .pub.
func readCosignKeys(entries map[string][]byte) ([]cosignKey, error) {
	var keys []cosignKey
	for name, text := range entries {
		if !strings.HasSuffix(name, ".pub") {
			continue
		}
		block, _ := pem.Decode(text)
		if block == nil {
			return nil, refuse(ReasonCredentialsInvalid, "entry %s of the Secret with keys is not in PEM", name)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, refuse(ReasonCredentialsInvalid, "entry %s of the Secret with keys is not a public key: %v", name, err)
		}
		keys = append(keys, cosignKey{name, key})
	}
	if len(keys) == 0 {
		return nil, refuse(ReasonCredentialsInvalid, "the Secret that verify.secretRef names has no entry that ends in .pub: add cosign.pub")
	}
	return keys, nil
}

func hasSigned(key crypto.PublicKey, text, signature []byte) bool {
	sum := sha256.Sum256(text)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum[:], signature)
	case ed25519.PublicKey:
		return ed25519.Verify(key, text, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	}
	return false
}
