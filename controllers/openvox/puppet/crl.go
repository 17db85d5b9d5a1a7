package puppet

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// CRLs are the lists of a CA and those above it.
type CRLs []*x509.RevocationList

// ParseCRLs reads lists in PEM, at least one.
func ParseCRLs(text []byte) (CRLs, error) {
	var lists CRLs
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "X509 CRL" {
			return nil, fmt.Errorf("there is a %.40q among the CRLs", block.Type)
		}
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	if len(lists) == 0 {
		return nil, errors.New("the answer is no CRL")
	}
	return lists, nil
}

// SignedBy checks that one of the certificates of a bundle has signed each list.
func (l CRLs) SignedBy(bundle []byte) error {
	var issuers []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			issuers = append(issuers, certificate)
		}
	}
	for _, list := range l {
		if !signedByOne(list, issuers) {
			return fmt.Errorf("the CRL of %s is signed by none of the CA's certificates", list.Issuer)
		}
	}
	return nil
}

func signedByOne(list *x509.RevocationList, issuers []*x509.Certificate) bool {
	for _, issuer := range issuers {
		if list.CheckSignatureFrom(issuer) == nil {
			return true
		}
	}
	return false
}

// OlderThan says whether a list has been issued before the same issuer's list of others.
func (l CRLs) OlderThan(others CRLs) bool {
	for _, list := range l {
		for _, other := range others {
			if string(list.RawIssuer) != string(other.RawIssuer) {
				continue
			}
			if list.Number != nil && other.Number != nil && list.Number.Cmp(other.Number) != 0 {
				if list.Number.Cmp(other.Number) < 0 {
					return true
				}
				continue
			}
			if list.ThisUpdate.Before(other.ThisUpdate) {
				return true
			}
		}
	}
	return false
}

// Updates are when the youngest list was issued, and when the first one ends.
func (l CRLs) Updates() (this, next time.Time) {
	for _, list := range l {
		if list.ThisUpdate.After(this) {
			this = list.ThisUpdate
		}
		if next.IsZero() || list.NextUpdate.Before(next) {
			next = list.NextUpdate
		}
	}
	return this, next
}

// Revokes says whether one of the lists has a certificate, by its issuer and serial.
func (l CRLs) Revokes(certificate *x509.Certificate) bool {
	for _, list := range l {
		if !bytes.Equal(list.RawIssuer, certificate.RawIssuer) {
			continue
		}
		for _, entry := range list.RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(certificate.SerialNumber) == 0 {
				return true
			}
		}
	}
	return false
}
