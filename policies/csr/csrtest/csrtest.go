// Package csrtest makes certificate requests for tests, wrong ones too.
package csrtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Template is what a request asks for.
type Template struct {
	// Names are OIDs and values of the subject; CommonName is one more, before them.
	CommonName string
	Names      []pkix.AttributeTypeAndValue
	DNSNames   []string
	IPs        []string
	// SANs are further general names, in DER.
	SANs       [][]byte
	Extensions []pkix.Extension
	// Attributes are texts by OID.
	Attributes []Text
	// Key is one on P-256 unless set.
	Key crypto.Signer
	// Forged breaks the signature.
	Forged bool
	// Foreign is an RSA key to ask for, of which there is no private one: the signature is
	// made up.
	Foreign *rsa.PublicKey
}

// Text is an ASN.1 text by an OID.
type Text struct {
	OID   asn1.ObjectIdentifier
	Value string
}

// Extension is an extension that holds a text, as Puppet's agents write it.
func Extension(t testing.TB, oid asn1.ObjectIdentifier, value string) pkix.Extension {
	t.Helper()
	der, err := asn1.MarshalWithParams(value, "utf8")
	require.NoError(t, err)
	return pkix.Extension{Id: oid, Value: der}
}

// Key makes a key on P-256.
func Key(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

type attribute struct {
	ID     asn1.ObjectIdentifier
	Values []any `asn1:"set"`
}

type info struct {
	Version    int
	Subject    pkix.RDNSequence
	PublicKey  asn1.RawValue
	Attributes []any `asn1:"tag:0,set"`
}

type request struct {
	Info      asn1.RawValue
	Algorithm pkix.AlgorithmIdentifier
	Signature asn1.BitString
}

// Make is the request in PEM.
func (tpl Template) Make(t testing.TB) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: tpl.DER(t)})
}

// DER is the request without PEM.
func (tpl Template) DER(t testing.TB) []byte {
	t.Helper()
	key := tpl.Key
	if key == nil {
		key = Key(t)
	}
	var public any = key.Public()
	if tpl.Foreign != nil {
		public = tpl.Foreign
	}
	spki, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	names := tpl.Names
	if tpl.CommonName != "" {
		names = append([]pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: tpl.CommonName}}, names...)
	}
	var subject pkix.RDNSequence
	for _, name := range names {
		subject = append(subject, pkix.RelativeDistinguishedNameSET{name})
	}
	attributes := []any{}
	for _, text := range tpl.Attributes {
		attributes = append(attributes, attribute{text.OID, []any{asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(text.Value)}}})
	}
	extensions := tpl.Extensions
	if san := tpl.san(t); san != nil {
		extensions = append([]pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: san}}, extensions...)
	}
	if len(extensions) > 0 {
		attributes = append(attributes, attribute{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 14}, []any{extensions}})
	}
	signed, err := asn1.Marshal(info{0, subject, asn1.RawValue{FullBytes: spki}, attributes})
	require.NoError(t, err)
	algorithm, signature := sign(t, key, signed)
	if tpl.Foreign != nil {
		algorithm, signature = sha256WithRSA(), bytes.Repeat([]byte{1}, tpl.Foreign.Size())
	}
	if tpl.Forged {
		signature[len(signature)-1] ^= 1
	}
	der, err := asn1.Marshal(request{asn1.RawValue{FullBytes: signed}, algorithm, asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}})
	require.NoError(t, err)
	return der
}

func (tpl Template) san(t testing.TB) []byte {
	t.Helper()
	var names []asn1.RawValue
	for _, name := range tpl.DNSNames {
		names = append(names, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 2, Bytes: []byte(name)})
	}
	for _, address := range tpl.IPs {
		ip := net.ParseIP(address)
		if four := ip.To4(); four != nil {
			ip = four
		}
		names = append(names, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 7, Bytes: ip})
	}
	for _, der := range tpl.SANs {
		names = append(names, asn1.RawValue{FullBytes: der})
	}
	if len(names) == 0 {
		return nil
	}
	der, err := asn1.Marshal(names)
	require.NoError(t, err)
	return der
}

func sign(t testing.TB, key crypto.Signer, text []byte) (pkix.AlgorithmIdentifier, []byte) {
	t.Helper()
	digest := sha256.Sum256(text)
	var oid asn1.ObjectIdentifier
	var signature []byte
	var err error
	switch key.Public().(type) {
	case *rsa.PublicKey:
		signature, err = key.Sign(rand.Reader, digest[:], crypto.SHA256)
		require.NoError(t, err)
		return sha256WithRSA(), signature
	case ed25519.PublicKey:
		oid = asn1.ObjectIdentifier{1, 3, 101, 112}
		signature, err = key.Sign(rand.Reader, text, crypto.Hash(0))
	default:
		oid = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
		signature, err = key.Sign(rand.Reader, digest[:], crypto.SHA256)
	}
	require.NoError(t, err)
	return pkix.AlgorithmIdentifier{Algorithm: oid}, signature
}

func sha256WithRSA() pkix.AlgorithmIdentifier {
	return pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: asn1.NullRawValue}
}
