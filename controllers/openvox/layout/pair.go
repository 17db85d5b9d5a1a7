package layout

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// StoredPair returns the certificate in the data of a Secret, or nil unless the data contains a
// certificate with its key.
func StoredPair(data map[string][]byte) *x509.Certificate {
	pair, err := tls.X509KeyPair(data[CertificateFile], data[KeyFile])
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// IssuedBy says whether one of the certificates of a bundle, in PEM, has signed a certificate.
func IssuedBy(certificate *x509.Certificate, bundle []byte) bool {
	return slices.ContainsFunc(puppet.ParseBundle(bundle), func(issuer *x509.Certificate) bool { return certificate.CheckSignatureFrom(issuer) == nil })
}

// authorizationArc begins the OIDs of Puppet's extensions that give rights.
const authorizationArc = "1.3.6.1.4.1.34380.1.3."

// Authorization is the OID of an extension of a certificate that gives rights at Puppet's
// servers: "" where it has none.
func Authorization(certificate *x509.Certificate) string {
	for _, e := range certificate.Extensions {
		if oid := e.Id.String(); strings.HasPrefix(oid, authorizationArc) {
			return oid
		}
	}
	return ""
}
