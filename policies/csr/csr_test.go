package csr_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
)

func oid(t *testing.T, name string) asn1.ObjectIdentifier {
	t.Helper()
	oid, ok := csr.OID(name)
	require.True(t, ok, name)
	return oid
}

func TestParse(t *testing.T) {
	email, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, Bytes: []byte("a@example.com")})
	require.NoError(t, err)
	uri, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte("spiffe://example.com/a")})
	require.NoError(t, err)
	other, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: []byte{6, 1, 42}})
	require.NoError(t, err)
	ca, err := asn1.Marshal(struct{ CA bool }{true})
	require.NoError(t, err)
	usage, err := asn1.Marshal(asn1.BitString{Bytes: []byte{0x84}, BitLength: 6})
	require.NoError(t, err)
	extended, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 1}, {1, 2, 3}})
	require.NoError(t, err)
	r := csr.Parse(csrtest.Template{
		CommonName: "web1.example.com",
		Names:      []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 10}, Value: "Acme"}},
		DNSNames:   []string{"web1", "*.example.com"}, IPs: []string{"10.0.0.1", "2001:db8::1"}, SANs: [][]byte{email, uri, other},
		Extensions: []pkix.Extension{
			csrtest.Extension(t, oid(t, "pp_role"), "web"),
			{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{1, 2}},
			{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: ca}, {Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: usage},
			{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: extended},
		},
		Attributes: []csrtest.Text{{OID: oid(t, "challengePassword"), Value: "secret"}},
	}.Make(t))
	require.Empty(t, r.Error)
	require.Equal(t, csr.Subject{CommonName: "web1.example.com", Names: []csr.Name{
		{OID: "2.5.4.3", Name: "CN", Value: "web1.example.com"}, {OID: "2.5.4.10", Name: "O", Value: "Acme"},
	}}, r.Subject)
	require.Equal(t, []string{"web1", "*.example.com"}, r.DNSNames)
	require.Equal(t, []string{"10.0.0.1", "2001:db8::1"}, r.IPAddresses)
	require.Equal(t, []string{"a@example.com"}, r.Emails)
	require.Equal(t, []string{"spiffe://example.com/a"}, r.URIs)
	require.Equal(t, []csr.OtherSAN{{Type: "otherName", Value: other}}, r.OtherSANs)
	require.Equal(t, "web", *r.Extensions[1].Value)
	require.Equal(t, "pp_role", r.Extensions[1].Name)
	require.Equal(t, csr.Extension{OID: "1.2.3", Name: "1.2.3", Critical: true, DER: []byte{1, 2}}, r.Extensions[2])
	require.True(t, r.IsCA)
	require.Equal(t, []string{"digital signature", "cert sign", "server auth", "1.2.3"}, r.Usages)
	require.Equal(t, "challengePassword", r.Attributes[0].Name)
	require.Equal(t, "secret", *r.Attributes[0].Value)
	require.Equal(t, csr.PublicKey{Type: "ECDSA", Bits: 256}, r.PublicKey)
	require.True(t, r.SignatureValid)
}

// rsaKey has a modulus of many small primes: one of two would take long to find.
type rsaKey struct {
	public  rsa.PublicKey
	private *big.Int
}

func newRSAKey(t *testing.T, primes int) *rsaKey {
	t.Helper()
	key, order := &rsaKey{public: rsa.PublicKey{N: big.NewInt(1), E: 65537}}, big.NewInt(1)
	for range primes {
		prime, err := rand.Prime(rand.Reader, 512)
		require.NoError(t, err)
		key.public.N.Mul(key.public.N, prime)
		order.Mul(order, prime.Sub(prime, big.NewInt(1)))
	}
	key.private = new(big.Int).ModInverse(big.NewInt(65537), order)
	require.NotNil(t, key.private)
	return key
}

func (k *rsaKey) Public() crypto.PublicKey { return &k.public }

// Sign is RSASSA-PKCS1-v1_5 of a SHA-256 digest.
func (k *rsaKey) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	info := append([]byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}, digest...)
	padded := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, k.public.Size()-3-len(info))...)
	padded = append(append(padded, 0), info...)
	signature := new(big.Int).Exp(new(big.Int).SetBytes(padded), k.private, k.public.N)
	return signature.FillBytes(make([]byte, k.public.Size())), nil
}

// TestLargeKeys: by a key that is larger than any policy takes no signature is checked,
// which takes seconds with the largest.
func TestLargeKeys(t *testing.T) {
	for primes, want := range map[int]bool{8: true, 17: false} {
		r := csr.Parse(csrtest.Template{CommonName: "a", Key: newRSAKey(t, primes)}.Make(t))
		require.Empty(t, r.Error)
		require.Equal(t, "RSA", r.PublicKey.Type)
		require.Equal(t, want, r.PublicKey.Bits <= csr.MaxKeyBits)
		require.Equal(t, want, r.SignatureValid)
	}
}

func TestKeys(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	require.Equal(t, csr.PublicKey{Type: "RSA", Bits: 1024, Exponent: 65537}, csr.Parse(csrtest.Template{CommonName: "a", Key: small}.Make(t)).PublicKey)
	require.Equal(t, csr.PublicKey{Type: "Ed25519", Bits: 256}, csr.Parse(csrtest.Template{CommonName: "a", Key: edwards}.Make(t)).PublicKey)
	require.False(t, csr.Parse(csrtest.Template{CommonName: "a", Forged: true}.Make(t)).SignatureValid)
}

// TestUnreadable: what two readers may read differently is read by none.
func TestUnreadable(t *testing.T) {
	good := csrtest.Template{CommonName: "a"}.Make(t)
	block, _ := pem.Decode(good)
	withNUL, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte("a\x00b")})
	require.NoError(t, err)
	encode := func(der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	san := func(der ...byte) []byte {
		return csrtest.Template{CommonName: "a", Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: der}}}.Make(t)
	}
	twice := csrtest.Extension(t, oid(t, "pp_role"), "web")
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"nothing":             {nil, "does not begin with a PEM block"},
		"garbage":             {[]byte("garbage"), "does not begin with a PEM block"},
		"text before":         {append([]byte("subject=a\n"), good...), "does not begin with a PEM block"},
		"text behind":         {append(bytes.Clone(good), "more"...), "text follows"},
		"two blocks":          {append(bytes.Clone(good), good...), "more than one PEM block"},
		"bad block, good":     {append([]byte("-----BEGIN X-----\n!\n-----END X-----\n"), good...), "more than one PEM block"},
		"no end":              {good[:len(good)-20], "cannot be decoded"},
		"headers":             {bytes.Replace(good, []byte("REQUEST-----\n"), []byte("REQUEST-----\nProc-Type: 4\n\n"), 1), "has headers"},
		"certificate":         {bytes.ReplaceAll(good, []byte("CERTIFICATE REQUEST"), []byte("CERTIFICATE")), `of type "CERTIFICATE"`},
		"huge":                {bytes.Repeat([]byte("A"), csr.MaxBytes+1), "at most 65536 are read"},
		"no request":          {encode([]byte{0x30, 0x00}), "not a PKCS#10"},
		"trailing bytes":      {encode(append(bytes.Clone(block.Bytes), 0)), "bytes follow the certificate request"},
		"NUL in the name":     {csrtest.Template{Names: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: asn1.RawValue{FullBytes: withNUL}}}}.Make(t), "CN holds a NUL byte"},
		"number as name":      {csrtest.Template{Names: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: 5}}}.Make(t), "CN is not a text"},
		"NUL in a DNS name":   {csrtest.Template{CommonName: "a", DNSNames: []string{"a\x00.evil"}}.Make(t), "outside printable ASCII"},
		"international name":  {csrtest.Template{CommonName: "a", DNSNames: []string{"bücher.example"}}.Make(t), "outside printable ASCII"},
		"odd address":         {san(0x30, 0x05, 0x87, 3, 1, 2, 3), "an IP address has 3 bytes"},
		"unknown kind of SAN": {san(0x30, 0x02, 0x89, 0), "of type 9"},
		"universal SAN":       {san(0x30, 0x02, 0x04, 0), "of no type that there is"},
		"bytes behind SAN":    {san(0x30, 0x00, 0x00), "bytes follow its value"},
		"extension twice":     {csrtest.Template{CommonName: "a", Extensions: []pkix.Extension{twice, twice}}.Make(t), "duplicate"},
		"usage bit 9":         {csrtest.Template{CommonName: "a", Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: []byte{3, 3, 5, 0, 0x20}}}}.Make(t), "keyUsage"},
	} {
		t.Run(name, func(t *testing.T) {
			r := csr.Parse(c.text)
			require.Contains(t, r.Error, c.want)
			require.False(t, r.SignatureValid)
			require.Empty(t, r.Subject.CommonName)
		})
	}
}

// TestBounds: a request at a limit is read, and one that exceeds it by one is refused with an
// error that names the limit.
func TestBounds(t *testing.T) {
	number := func(i int) asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, i} }
	for words, c := range map[string]struct {
		most int
		// make asks for so many.
		make func(tpl *csrtest.Template, many int)
	}{
		"its extension subjectAltName: it has 1001 names; at most 1000 are read": {csr.MaxSANs, func(tpl *csrtest.Template, many int) {
			tpl.SANs = slices.Repeat([][]byte{{0xa0, 3, 6, 1, 42}}, many)
		}},
		// One name, with eight bytes of types and lengths.
		"its extension subjectAltName: it has 32769 bytes; at most 32768 are read": {csr.MaxSANBytes, func(tpl *csrtest.Template, many int) {
			tpl.DNSNames = []string{strings.Repeat("a", many-8)}
		}},
		"its extensionRequest: it has 201 extensions; at most 200 are read": {csr.MaxItems, func(tpl *csrtest.Template, many int) {
			for i := range many {
				tpl.Extensions = append(tpl.Extensions, pkix.Extension{Id: number(i), Value: []byte{}})
			}
		}},
		"it has 201 attributes; at most 200 are read": {csr.MaxItems, func(tpl *csrtest.Template, many int) {
			for i := range many {
				tpl.Attributes = append(tpl.Attributes, csrtest.Text{OID: number(i)})
			}
		}},
		"its extension extendedKeyUsage: it has 201 usages; at most 200 are read": {csr.MaxItems, func(tpl *csrtest.Template, many int) {
			der, err := asn1.Marshal(slices.Repeat([]asn1.ObjectIdentifier{number(1)}, many))
			require.NoError(t, err)
			tpl.Extensions = []pkix.Extension{{Id: oid(t, "extendedKeyUsage"), Value: der}}
		}},
		"its subject: it has 201 names; at most 200 are read": {csr.MaxItems, func(tpl *csrtest.Template, many int) {
			tpl.CommonName = ""
			tpl.Names = slices.Repeat([]pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "a"}}, many)
		}},
		"an attribute: an OID has 65 parts; at most 64 are read": {csr.MaxOIDParts, func(tpl *csrtest.Template, many int) {
			tpl.Attributes = []csrtest.Text{{OID: slices.Repeat(asn1.ObjectIdentifier{1}, many)}}
		}},
	} {
		for over, want := range []string{"", words} {
			tpl := csrtest.Template{CommonName: "a"}
			c.make(&tpl, c.most+over)
			require.Equal(t, want, csr.Parse(tpl.Make(t)).Error, "%d", c.most+over)
		}
	}
}

func TestNamesOfOIDs(t *testing.T) {
	for name, want := range map[string]string{
		"pp_uuid": "1.3.6.1.4.1.34380.1.1.1", "pp_preshared_key": "1.3.6.1.4.1.34380.1.1.4", "pp_role": "1.3.6.1.4.1.34380.1.1.13",
		"pp_owner": "1.3.6.1.4.1.34380.1.1.26", "pp_authorization": "1.3.6.1.4.1.34380.1.3.1", "pp_auth_token": "1.3.6.1.4.1.34380.1.3.2",
		"pp_cli_auth": "1.3.6.1.4.1.34380.1.3.39", "challengePassword": "1.2.840.113549.1.9.7",
	} {
		require.Equal(t, want, oid(t, name).String())
	}
	_, known := csr.OID("pp_nothing")
	require.False(t, known)
}

// FuzzParse: a request is read completely or not at all, and a request that is read can be
// written.
func FuzzParse(f *testing.F) {
	good := csrtest.Template{CommonName: "a", DNSNames: []string{"b"}, IPs: []string{"::1"}, Attributes: []csrtest.Text{{OID: asn1.ObjectIdentifier{1, 2}, Value: "x"}}}
	f.Add(good.DER(f))
	f.Fuzz(func(t *testing.T, der []byte) {
		r := csr.Parse(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(text), ":null,\"ipAddresses\"")
		if r.Error != "" {
			require.Empty(t, r.DNSNames)
			require.False(t, r.SignatureValid)
		}
		for _, name := range append(r.DNSNames, r.Subject.CommonName) {
			require.False(t, strings.ContainsRune(name, 0))
		}
	})
}
