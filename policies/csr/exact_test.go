package csr_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr"
)

const notDER = "elements that are not part of a certificate request"

func readFolder(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.pem"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	files := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = text
	}
	return files
}

// TestClientsAreRead: requests of OpenSSL (every key type and string type that it writes) and
// of Puppet's agent are read, whether they have attributes or not.
func TestClientsAreRead(t *testing.T) {
	for name, text := range readFolder(t, "valid") {
		t.Run(name, func(t *testing.T) {
			r := csr.Parse(text)
			require.Empty(t, r.Error)
			require.Equal(t, "web1.example.com", r.Subject.CommonName)
			unsupported := r.PublicKey.Type == "" // DSA, Ed448 and keys for PSS only
			require.Equal(t, !unsupported, r.SignatureValid)
			if strings.HasPrefix(name, "openssl-strings") {
				require.Equal(t, "Bücher", r.Subject.Names[1].Value)
				require.Len(t, r.OtherSANs, 3)
				require.Equal(t, "web", *r.Extensions[5].Value)
			}
		})
	}
}

// TestUnsortedSetsAreRead: crypto/x509 does not sort the attributes that it writes.
func TestUnsortedSetsAreRead(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	attribute := func(last int) pkix.AttributeTypeAndValueSET {
		return pkix.AttributeTypeAndValueSET{
			Type: asn1.ObjectIdentifier{1, 2, last},
			Value: [][]pkix.AttributeTypeAndValue{{
				{Type: asn1.ObjectIdentifier{1, 3}, Value: "z"}, {Type: asn1.ObjectIdentifier{1, 2}, Value: "a"},
			}},
		}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "web1.example.com", OrganizationalUnit: []string{"z", "a"}},
		DNSNames: []string{"web1.example.com"},
		//lint:ignore SA1019 there is no other way to write attributes
		Attributes: []pkix.AttributeTypeAndValueSET{attribute(9), attribute(1)},
	}, key)
	require.NoError(t, err)
	r := csr.Parse(encodePEM(der))
	require.Empty(t, r.Error)
	require.Len(t, r.Attributes, 3)
	require.True(t, r.SignatureValid)
}

// TestExtraElements: these requests have a valid signature over what encoding/asn1 ignores.
func TestExtraElements(t *testing.T) {
	for name, text := range readFolder(t, "extra") {
		t.Run(name, func(t *testing.T) {
			block, _ := pem.Decode(text)
			parsed, err := x509.ParseCertificateRequest(block.Bytes)
			require.NoError(t, err)
			require.NoError(t, parsed.CheckSignature())
			require.Contains(t, csr.Parse(text).Error, notDER)
		})
	}
}

// TestExtraElementAnywhere appends an INTEGER to each SEQUENCE and SET of the valid requests,
// those inside the public key and the extensions included: the request is refused, or
// policies see the difference.
func TestExtraElementAnywhere(t *testing.T) {
	tried := 0
	for name, text := range readFolder(t, "valid") {
		original := csr.Parse(text)
		if original.PublicKey.Type == "" {
			continue // nothing is read from a key of another type
		}
		block, _ := pem.Decode(text)
		original.SignatureValid = false
		for where, der := range extended(t, block.Bytes, "request") {
			if parsed, err := x509.ParseCertificateRequest(der); err == nil && parsed.SignatureAlgorithm == x509.UnknownSignatureAlgorithm {
				continue // its signature is never valid
			}
			require.NotEqual(t, original, csr.Parse(encodePEM(der)), "%s: %s", name, where)
			tried++
		}
	}
	require.Greater(t, tried, 200)
}

func encodePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// extended returns copies of an element, each with an INTEGER at the end of one constructed
// element in it, by the path to that element.
func extended(t *testing.T, der []byte, path string) map[string][]byte {
	t.Helper()
	var element asn1.RawValue
	_, err := asn1.Unmarshal(der, &element)
	require.NoError(t, err)
	all := map[string][]byte{}
	encode := func(content []byte) []byte {
		encoded, err := asn1.Marshal(asn1.RawValue{Class: element.Class, Tag: element.Tag, IsCompound: element.IsCompound, Bytes: content})
		require.NoError(t, err)
		return encoded
	}
	if !element.IsCompound {
		// The content of a public key, and of an extension whose value is not a string.
		prefix := 0
		if element.Tag == asn1.TagBitString {
			prefix = 1
		}
		var inner asn1.RawValue
		if element.Tag != asn1.TagBitString && element.Tag != asn1.TagOctetString {
			return all
		}
		if rest, err := asn1.Unmarshal(element.Bytes[prefix:], &inner); err != nil || len(rest) > 0 || !inner.IsCompound {
			return all
		}
		for where, content := range extended(t, element.Bytes[prefix:], path+" content") {
			all[where] = encode(append(element.Bytes[:prefix:prefix], content...))
		}
		return all
	}
	all[path] = encode(append(element.Bytes[:len(element.Bytes):len(element.Bytes)], 2, 1, 0))
	offset := 0
	for i := 0; offset < len(element.Bytes); i++ {
		var child asn1.RawValue
		rest, err := asn1.Unmarshal(element.Bytes[offset:], &child)
		require.NoError(t, err)
		start := offset
		offset = len(element.Bytes) - len(rest)
		if path == "request" && i == 2 {
			continue // the signature: crypto/x509 verifies all of it
		}
		for where, changed := range extended(t, child.FullBytes, fmt.Sprintf("%s.%d", path, i)) {
			content := append(element.Bytes[:start:start], changed...)
			all[where] = encode(append(content, rest...))
		}
	}
	return all
}
