package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

// The names of cosign's simple signing, see its SIGNATURE_SPEC.
const (
	simpleSigningType   = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// readKey reads a private key, as "cosign generate-key-pair" writes it under a password
// or in PKCS #8 without.
func readKey(file, password string) (crypto.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not in PEM", file)
	}
	content := block.Bytes
	switch block.Type {
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
		if content, err = encrypted.Decrypt(content, []byte(password)); err != nil {
			return nil, fmt.Errorf("%s does not open with the password in COSIGN_PASSWORD: %w", file, err)
		}
	case "PRIVATE KEY":
	default:
		return nil, fmt.Errorf("%s holds a %s: it must be a private key of cosign or in PKCS #8", file, block.Type)
	}
	key, err := x509.ParsePKCS8PrivateKey(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		return key, nil
	case *rsa.PrivateKey:
		return key, nil
	case ed25519.PrivateKey:
		return key, nil
	}
	return nil, fmt.Errorf("%s holds a %T, which cannot sign", file, key)
}

// sign is the image that holds the signature of a digest, made in the same way each time
// where the key allows it.
func sign(key crypto.Signer, repository string, digest v1.Hash) (v1.Image, error) {
	var payload struct {
		Critical struct {
			Identity struct {
				Reference string `json:"docker-reference"`
			} `json:"identity"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
		Optional map[string]string `json:"optional"`
	}
	payload.Critical.Identity.Reference = repository
	payload.Critical.Image.Digest = digest.String()
	payload.Critical.Type = "cosign container image signature"
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	signed, options := text, crypto.SignerOpts(crypto.Hash(0))
	if _, whole := key.(ed25519.PrivateKey); !whole {
		sum := sha256.Sum256(text)
		signed, options = sum[:], crypto.SHA256
	}
	signature, err := key.Sign(nil, signed, options)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return mutate.Append(image, mutate.Addendum{
		Layer:       static.NewLayer(text, simpleSigningType),
		MediaType:   simpleSigningType,
		Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)},
	})
}
