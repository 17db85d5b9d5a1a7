package openvox

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

func (s *session) crl(ctx context.Context) (puppet.CRLs, error) {
	text, _, err := s.admin.CRL(ctx, puppet.Version{})
	if err != nil {
		return nil, err
	}
	lists, err := puppet.ParseCRLs(text)
	if err == nil {
		err = lists.SignedBy(s.bundle)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CRL: %w", err)
	}
	return lists, nil
}

// onCRL says whether the CRL of the key that has signed a certificate lists it. Puppet servers
// write the issuer's name in another encoding than the CA's certificate may have.
func onCRL(lists puppet.CRLs, certificate *x509.Certificate, bundle []byte) bool {
	for _, issuer := range puppet.ParseBundle(bundle) {
		if certificate.CheckSignatureFrom(issuer) != nil {
			continue
		}
		for _, list := range lists {
			if list.CheckSignatureFrom(issuer) == nil && slices.ContainsFunc(list.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
				return e.SerialNumber.Cmp(certificate.SerialNumber) == 0
			}) {
				return true
			}
		}
	}
	return false
}

// fingerprint is the SHA-256 of a certificate or request as a CA writes it.
func fingerprint(der []byte) string {
	return strings.ToUpper(strings.ReplaceAll(fmt.Sprintf("% x", sha256.Sum256(der)), " ", ":"))
}
