package issuing

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"runtime"

	"k8s.io/client-go/util/keyutil"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// keyMaker makes keys, which takes seconds of a processor each: as many at a time as
// there are processors, or they would keep each other and admission waiting.
type keyMaker struct {
	bits  int
	slots chan struct{}
}

func newKeyMaker(bits int) *keyMaker {
	return &keyMaker{bits, make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// make is a new key in PEM. It waits for its turn.
func (m *keyMaker) make(ctx context.Context) ([]byte, error) {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
		return newKey(m.bits)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newKey makes a key in PEM. It takes seconds: never on a worker.
func newKey(bits int) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

// parseKey reads a private key of any kind in PEM.
func parseKey(text []byte) (crypto.Signer, error) {
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T signs nothing", key)
	}
	return signer, nil
}

// newRequest is a request in PEM for what a Certificate wants.
func newRequest(spec v1alpha1.CertificateSpec, key crypto.Signer) ([]byte, error) {
	wanted, err := layout.Extensions(spec)
	if err != nil {
		return nil, err
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: spec.Certname}, ExtraExtensions: wanted}
	template.DNSNames, template.IPAddresses = layout.AltNames(spec)
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}
