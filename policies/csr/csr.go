// Package csr reads PKCS#10 certificate requests for policies. It returns everything that a
// request asks for: an ambiguous part is an error, so that a policy and the CA that signs later
// cannot understand a request differently.
package csr

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

// The limits of a request, far above those of CAs: any client may send a request, and policies
// read all of it.
const (
	// MaxBytes is how long its PEM may be.
	MaxBytes = 64 << 10
	// MaxSANs is how many names may be in subjectAltName, and MaxSANBytes how long it may be,
	// in DER.
	MaxSANs     = 1000
	MaxSANBytes = 32 << 10
	// MaxItems is how many names may be in its subject, and how many extensions, attributes
	// and extended usages it may ask for.
	MaxItems = 200
	// MaxOIDParts is how many numbers an OID may have; RFC 5280 wants 20 to be read.
	MaxOIDParts = 64
)

// MaxKeyBits is how large a key may be for its signature to be checked: with the largest
// that fits into MaxBytes that takes seconds.
const MaxKeyBits = 8192

// Request is what policies read as input.csr. Lists are never null.
type Request struct {
	Subject     Subject     `json:"subject"`
	DNSNames    []string    `json:"dnsNames"`
	IPAddresses []string    `json:"ipAddresses"`
	URIs        []string    `json:"uris"`
	Emails      []string    `json:"emails"`
	OtherSANs   []OtherSAN  `json:"otherSans"`
	Extensions  []Extension `json:"extensions"`
	Attributes  []Attribute `json:"attributes"`
	PublicKey   PublicKey   `json:"publicKey"`
	// SignatureValid says that the key has made it; never of a key over MaxKeyBits.
	SignatureValid bool `json:"signatureValid"`
	// IsCA says that a basicConstraints extension asks for a CA.
	IsCA bool `json:"isCA"`
	// Usages are of keyUsage and extendedKeyUsage, by the names that Kubernetes uses.
	Usages []string `json:"usages"`
	// Error says why the request cannot be read. All other fields are empty then.
	Error string `json:"error,omitempty"`
}

// Subject is who the certificate is for.
type Subject struct {
	CommonName string `json:"commonName"` // the last one, where there are several
	Names      []Name `json:"names"`      // all, in their order
}

// Name is one attribute of a subject.
type Name struct {
	OID   string `json:"oid"`
	Name  string `json:"name"` // the short name, or the OID
	Value string `json:"value"`
}

// OtherSAN is a subjectAltName of a type that has no list of its own: otherName,
// x400Address, directoryName, ediPartyName or registeredID.
type OtherSAN struct {
	Type  string `json:"type"`
	Value []byte `json:"value"` // DER
}

// Extension is a requested extension.
type Extension struct {
	OID      string `json:"oid"`
	Name     string `json:"name"` // such as pp_role, or the OID
	Critical bool   `json:"critical"`
	// Value is the text of an extension that holds one ASN.1 string, else null.
	Value *string `json:"value"`
	DER   []byte  `json:"der"`
}

// Attribute is an attribute of the request, extensionRequest included.
type Attribute struct {
	OID  string `json:"oid"`
	Name string `json:"name"`
	// Value is the text of an attribute that holds one ASN.1 string, else null.
	Value *string `json:"value"`
}

// PublicKey is the key that the certificate is for. Type is RSA, ECDSA or Ed25519, else
// empty; Exponent is RSA's.
type PublicKey struct {
	Type     string `json:"type"`
	Bits     int    `json:"bits"`
	Exponent int    `json:"exponent,omitempty"`
}

// Parse reads one PEM block.
func Parse(text []byte) *Request {
	r, err := parseRequest(text)
	if err != nil {
		return Unreadable(err.Error())
	}
	return r
}

// Unreadable is a request of which nothing is known but why.
func Unreadable(why string) *Request {
	r := empty()
	r.Error = why
	return r
}

func empty() *Request {
	return &Request{
		Subject:  Subject{Names: []Name{}},
		DNSNames: []string{}, IPAddresses: []string{}, URIs: []string{}, Emails: []string{}, OtherSANs: []OtherSAN{},
		Extensions: []Extension{}, Attributes: []Attribute{}, Usages: []string{},
	}
}

func parseRequest(text []byte) (*Request, error) {
	der, err := decodePEM(text)
	if err != nil {
		return nil, err
	}
	var outer certificationRequest
	if err := unmarshalExact(der, &outer, "the certificate request"); err != nil {
		return nil, fmt.Errorf("it is not a PKCS#10 certificate request: %w", err)
	}
	r := empty()
	if err := r.readSubject(outer.Info.Subject.FullBytes); err != nil {
		return nil, fmt.Errorf("its subject: %w", err)
	}
	if err := r.readAttributes(outer.Info.RawAttributes); err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if err := r.agrees(parsed); err != nil {
		return nil, err
	}
	if err := checkKeyEncoding(outer.Info.PublicKey.FullBytes, parsed.PublicKey); err != nil {
		return nil, err
	}
	if err := checkSignatureAlgorithm(outer.SignatureAlgorithm.FullBytes, parsed.SignatureAlgorithm); err != nil {
		return nil, err
	}
	r.PublicKey = describeKey(parsed)
	r.SignatureValid = r.PublicKey.Bits <= MaxKeyBits && parsed.CheckSignature() == nil
	return r, nil
}

// agrees compares with what crypto/x509 has read, which signers and clients use.
func (r *Request) agrees(parsed *x509.CertificateRequest) error {
	if len(parsed.DNSNames) != len(r.DNSNames) || len(parsed.IPAddresses) != len(r.IPAddresses) ||
		len(parsed.URIs) != len(r.URIs) || len(parsed.EmailAddresses) != len(r.Emails) {
		return errors.New("its subjectAltName can be read in two ways")
	}
	return nil
}

// decodePEM is strict: what stands around a block, or in its headers, is read by some
// and not by others.
func decodePEM(text []byte) ([]byte, error) {
	if err := atMost(MaxBytes, len(text), "bytes"); err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return nil, errors.New("it does not begin with a PEM block")
	}
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("its PEM block cannot be decoded")
	case bytes.Count(text, []byte("-----BEGIN ")) > 1:
		return nil, errors.New("it has more than one PEM block")
	case len(rest) > 0:
		return nil, errors.New("text follows the PEM block")
	case block.Type != "CERTIFICATE REQUEST" && block.Type != "NEW CERTIFICATE REQUEST":
		return nil, fmt.Errorf("its PEM block is of type %.40q, not CERTIFICATE REQUEST", block.Type)
	case len(block.Headers) > 0:
		return nil, errors.New("its PEM block has headers")
	}
	return block.Bytes, nil
}

// atMost is an error where there is more than is read.
func atMost(most, found int, what string) error {
	if found <= most {
		return nil
	}
	return fmt.Errorf("it has %d %s; at most %d are read", found, what, most)
}

// certificationRequest is CertificationRequest of RFC 2986.
type certificationRequest struct {
	Info               certificationRequestInfo
	SignatureAlgorithm asn1.RawValue
	Signature          asn1.BitString
}

type certificationRequestInfo struct {
	Version       *big.Int
	Subject       asn1.RawValue
	PublicKey     asn1.RawValue
	RawAttributes []asn1.RawValue `asn1:"tag:0"`
}
