package csr

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
)

// checkKeyEncoding refuses a public key that crypto/x509 encodes in another way: the parts of
// a key that it does not read are not described to policies, but are signed.
func checkKeyEncoding(der []byte, key crypto.PublicKey) error {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		PublicKey asn1.BitString
	}
	if err := unmarshalExact(der, &info, "its public key"); err != nil {
		return err
	}
	encoded, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil // DSA and unknown algorithms: the key has no type in input.csr
	}
	return sameEncoding(der, encoded, "its public key")
}

var oidPSS = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}

// pssParameters is RSASSA-PSS-params of RFC 4055, with the fields that crypto/x509 requires.
type pssParameters struct {
	Hash         pkix.AlgorithmIdentifier `asn1:"explicit,tag:0"`
	MGF          pkix.AlgorithmIdentifier `asn1:"explicit,tag:1"`
	SaltLength   int                      `asn1:"explicit,tag:2"`
	TrailerField int                      `asn1:"optional,explicit,tag:3,default:1"`
}

// checkSignatureAlgorithm refuses parameters that crypto/x509 ignores: only RSASSA-PSS has any.
func checkSignatureAlgorithm(der []byte, algorithm x509.SignatureAlgorithm) error {
	const what = "its signature algorithm"
	var identifier pkix.AlgorithmIdentifier
	if err := unmarshalExact(der, &identifier, what); err != nil {
		return err
	}
	parameters := identifier.Parameters.FullBytes
	switch {
	case len(parameters) == 0:
		return nil
	case !identifier.Algorithm.Equal(oidPSS):
		return sameEncoding(parameters, asn1.NullBytes, what)
	case algorithm == x509.UnknownSignatureAlgorithm:
		return nil // parameters that crypto/x509 does not support, such as SHA-1
	}
	var pss pssParameters
	if err := unmarshalExact(parameters, &pss, what); err != nil {
		return err
	}
	var hash pkix.AlgorithmIdentifier
	return unmarshalExact(pss.MGF.Parameters.FullBytes, &hash, what)
}

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
