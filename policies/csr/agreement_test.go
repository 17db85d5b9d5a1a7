package csr

import (
	"crypto/x509"
	"encoding/asn1"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoNameIsReadByOneReaderAlone: signers read requests with crypto/x509.
func TestNoNameIsReadByOneReaderAlone(t *testing.T) {
	for name, parsed := range map[string]x509.CertificateRequest{
		"a DNS name":     {DNSNames: []string{"a"}},
		"an IP address":  {IPAddresses: []net.IP{net.IPv4zero}},
		"a URI":          {URIs: []*url.URL{{}}},
		"an email":       {EmailAddresses: []string{"a@example.com"}},
		"no names again": {},
	} {
		err := empty().agrees(&parsed)
		if name == "no names again" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "can be read in two ways", name)
	}
	ours := &Request{DNSNames: []string{"a"}, Emails: []string{"a@example.com"}}
	require.Error(t, ours.agrees(&x509.CertificateRequest{DNSNames: []string{"a"}}))
	require.NoError(t, ours.agrees(&x509.CertificateRequest{DNSNames: []string{"a"}, EmailAddresses: []string{"a@example.com"}}))
}

// TestOneListOfExtensions: of several, a signer may take any.
func TestOneListOfExtensions(t *testing.T) {
	none, err := asn1.Marshal([]rawExtension{})
	require.NoError(t, err)
	value := asn1.RawValue{FullBytes: none}
	require.NoError(t, empty().readExtensions([]asn1.RawValue{value}))
	for _, values := range [][]asn1.RawValue{nil, {value, value}} {
		require.ErrorContains(t, empty().readExtensions(values), "values, not one")
	}
}

// TestARequestForACAStaysOne, independent of other extensions.
func TestARequestForACAStaysOne(t *testing.T) {
	r := empty()
	for _, isCA := range []bool{false, true, false} {
		der, err := asn1.Marshal(struct {
			IsCA bool `asn1:"optional"`
		}{isCA})
		require.NoError(t, err)
		require.NoError(t, r.readBasicConstraints(der))
	}
	require.True(t, r.IsCA)
}
