package puppet

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Version is of an answer with CRLs, by which the CA is asked for newer ones.
type Version struct{ tag, modified string }

// ErrNotModified is of a CA that has no newer CRLs than those of a Version.
var ErrNotModified = errors.New("the CRL is the one that is known")

// CRL is the CA's list of revoked certificates in PEM, the whole chain, unless it is
// that of a version that is known: then the error is ErrNotModified.
func (c *Client) CRL(ctx context.Context, known Version) ([]byte, Version, error) {
	request, err := c.request(ctx, http.MethodGet, "certificate_revocation_list/ca", nil)
	if err != nil {
		return nil, Version{}, fmt.Errorf("fetching the CRL: %w", err)
	}
	if known.tag != "" {
		request.Header.Set("If-None-Match", known.tag)
	}
	if known.modified != "" {
		request.Header.Set("If-Modified-Since", known.modified)
	}
	header, text, err := c.send(request)
	if status, ok := errors.AsType[*StatusError](err); ok && known != (Version{}) && status.Code == http.StatusNotModified {
		return nil, known, ErrNotModified
	}
	if err != nil {
		return nil, Version{}, fmt.Errorf("fetching the CRL: %w", err)
	}
	return text, versionOf(header), nil
}

// versionOf reads what a CA says of its CRL. Puppet's says nothing and compares with the
// date of its file, which for files of whole seconds may be a moment behind.
func versionOf(header http.Header) Version {
	version := Version{header.Get("ETag"), header.Get("Last-Modified")}
	if date, err := http.ParseTime(header.Get("Date")); err == nil && version == (Version{}) {
		version.modified = date.Add(-time.Minute).UTC().Format(http.TimeFormat)
	}
	return version
}

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
			return nil, errors.New("something else stands among the CRLs")
		}
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	if len(lists) == 0 {
		return nil, errors.New("the answer is not a CRL")
	}
	return lists, nil
}

// SignedBy checks that one of the certificates of a bundle has signed each list.
func (l CRLs) SignedBy(bundle []byte) error {
	issuers := ParseBundle(bundle)
	for _, list := range l {
		if !slices.ContainsFunc(issuers, func(issuer *x509.Certificate) bool { return list.CheckSignatureFrom(issuer) == nil }) {
			return fmt.Errorf("the CRL of %s is signed by none of the CA's certificates", list.Issuer)
		}
	}
	return nil
}

// ParseBundle reads the certificates of a PEM bundle, and skips other blocks.
func ParseBundle(text []byte) (certificates []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return certificates
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			certificates = append(certificates, certificate)
		}
	}
}

// Follows checks that lists may take the place of those of the same CA that came before:
// none is older, none has ended where the one before has not, and none is missing of those
// that the bundle still counts.
func (l CRLs) Follows(before CRLs, bundle []byte, now time.Time) error {
	for _, had := range before {
		found := false
		for _, list := range l {
			if bytes.Equal(list.RawIssuer, had.RawIssuer) {
				found = true
				if olderThan(list, had) {
					return fmt.Errorf("the CRL of %s is older (%s) than the one before (%s)", list.Issuer, identify(list), identify(had))
				}
				if ended(list, now) && !ended(had, now) {
					return fmt.Errorf("the CRL of %s has ended at %s, and the one before has not", list.Issuer, list.NextUpdate.UTC().Format(time.RFC3339))
				}
			}
		}
		if !found && bundle != nil && (CRLs{had}).SignedBy(bundle) == nil {
			return fmt.Errorf("the CRL of %s is missing, which was there before", had.Issuer)
		}
	}
	return nil
}

// ended says whether a list counts no longer; one that names no end always does.
func ended(list *x509.RevocationList, now time.Time) bool {
	return !list.NextUpdate.IsZero() && !now.Before(list.NextUpdate)
}

// olderThan goes by the number, and by the date where that says nothing.
func olderThan(list, had *x509.RevocationList) bool {
	if list.Number != nil && had.Number != nil && list.Number.Cmp(had.Number) != 0 {
		return list.Number.Cmp(had.Number) < 0
	}
	return list.ThisUpdate.Before(had.ThisUpdate)
}

func identify(list *x509.RevocationList) string {
	issued := list.ThisUpdate.UTC().Format(time.RFC3339)
	if list.Number == nil {
		return "of " + issued
	}
	return fmt.Sprintf("number %s of %s", list.Number, issued)
}

// Lost are the entries of lists that came before and that the list of the same issuer no
// longer has, as "issuer serial" in hexadecimal.
func (l CRLs) Lost(before CRLs) (lost []string) {
	has := map[string]bool{}
	entry := func(list *x509.RevocationList, e x509.RevocationListEntry) string {
		return fmt.Sprintf("%x %x", list.RawIssuer, e.SerialNumber)
	}
	for _, list := range l {
		for _, e := range list.RevokedCertificateEntries {
			has[entry(list, e)] = true
		}
	}
	for _, had := range before {
		if !slices.ContainsFunc(l, func(list *x509.RevocationList) bool { return bytes.Equal(list.RawIssuer, had.RawIssuer) }) {
			continue
		}
		for _, e := range had.RevokedCertificateEntries {
			if one := entry(had, e); !has[one] {
				lost = append(lost, one)
			}
		}
	}
	return lost
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
	isEntry := func(e x509.RevocationListEntry) bool { return e.SerialNumber.Cmp(certificate.SerialNumber) == 0 }
	return slices.ContainsFunc(l, func(list *x509.RevocationList) bool {
		return bytes.Equal(list.RawIssuer, certificate.RawIssuer) && slices.ContainsFunc(list.RevokedCertificateEntries, isEntry)
	})
}

// HasSerial reports whether one of the lists contains a serial in hexadecimal, from any issuer.
func (l CRLs) HasSerial(serial string) bool {
	return slices.ContainsFunc(l, func(list *x509.RevocationList) bool {
		return slices.ContainsFunc(list.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool { return fmt.Sprintf("%x", e.SerialNumber) == serial })
	})
}
