package csr

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
)

func describeKey(parsed *x509.CertificateRequest) PublicKey {
	switch key := parsed.PublicKey.(type) {
	case *rsa.PublicKey:
		return PublicKey{Type: "RSA", Bits: key.N.BitLen(), Exponent: key.E}
	case *ecdsa.PublicKey:
		return PublicKey{Type: "ECDSA", Bits: key.Curve.Params().BitSize}
	case ed25519.PublicKey:
		return PublicKey{Type: "Ed25519", Bits: 8 * len(key)}
	}
	return PublicKey{}
}
