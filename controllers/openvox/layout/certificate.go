package layout

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// SamePublic compares two public keys of any type.
func SamePublic(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(b)
}

// EncodeCertificate writes a certificate in PEM.
func EncodeCertificate(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

// FirstCertificate is the first certificate of a chain in PEM: nil where there is none.
func FirstCertificate(text []byte) *x509.Certificate {
	if certificates := puppet.ParseBundle(text); len(certificates) > 0 {
		return certificates[0]
	}
	return nil
}

// IssuerOf is the certificate that has signed another: nil if it is not known.
func IssuerOf(certificate *x509.Certificate, known []*x509.Certificate) *x509.Certificate {
	for _, issuer := range known {
		if bytes.Equal(issuer.RawSubject, certificate.RawIssuer) && certificate.CheckSignatureFrom(issuer) == nil {
			return issuer
		}
	}
	return nil
}

// Serial is the serial number in hexadecimal.
func Serial(certificate *x509.Certificate) string {
	return fmt.Sprintf("%x", certificate.SerialNumber)
}
