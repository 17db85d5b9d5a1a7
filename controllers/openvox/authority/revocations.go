package authority

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

const (
	// maxRecord bounds the compressed record of a CA's revocations, which is in a Secret, and
	// maxRecordText bounds it when it is read.
	maxRecord     = 900 << 10
	maxRecordText = 64 << 20
)

// revocationState is the progress of a revocation.
type revocationState string

const (
	// revocationWanted: the certificate has never been on a CRL.
	revocationWanted revocationState = "wanted"
	// revocationListed: it has been on a CRL. The CA may still have its file.
	revocationListed revocationState = "listed"
	// revocationDone: it has been on a CRL, and the CA has forgotten its file.
	revocationDone revocationState = "done"
)

// Revocation is a certificate that has to be on the CRL of its CA until it expires, because it
// was revoked from here, or is to be.
type Revocation struct {
	Certname string          `json:"certname"`
	Serial   string          `json:"serial"` // in hexadecimal
	NotAfter time.Time       `json:"notAfter"`
	Recorded time.Time       `json:"recorded"`
	State    revocationState `json:"state"`
	// Issuer identifies the key that has signed the certificate. A CertificateAuthority may name
	// another CA later, whose serials are of other certificates.
	Issuer string `json:"issuer"`
	// Fingerprint identifies the certificate: the CA may have another under the certname.
	Fingerprint string `json:"fingerprint"`
	// Forgotten: the CA has no file of the certificate, without which its API cannot revoke it.
	Forgotten bool `json:"forgotten,omitempty"`
}

// NewRevocation is the revocation of a certificate that a CA with this bundle has issued.
func NewRevocation(certificate *x509.Certificate, bundle []byte, now time.Time) Revocation {
	return Revocation{
		Certname: certificate.Subject.CommonName, Serial: layout.Serial(certificate), NotAfter: certificate.NotAfter.UTC(), Recorded: now.UTC().Truncate(time.Second),
		State: revocationWanted, Issuer: issuerID(certificate, puppet.ParseBundle(bundle)), Fingerprint: digest(certificate.Raw),
	}
}

// issuerID identifies the key that has signed a certificate: "" where none of the issuers has.
func issuerID(certificate *x509.Certificate, issuers []*x509.Certificate) string {
	if issuer := layout.IssuerOf(certificate, issuers); issuer != nil {
		return digest(issuer.RawSubjectPublicKeyInfo)
	}
	// Puppet servers encode the issuer in UTF-8, regardless of the encoding in the CA's
	// certificate.
	for _, issuer := range issuers {
		if certificate.CheckSignatureFrom(issuer) == nil {
			return digest(issuer.RawSubjectPublicKeyInfo)
		}
	}
	return ""
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return fmt.Sprintf("%x", sum[:8])
}

// is says whether a certificate is the one that is revoked.
func (r Revocation) is(certificate *x509.Certificate) bool {
	return r.Fingerprint == digest(certificate.Raw)
}

// status is the revocation as the CertificateAuthority reports it.
func (r Revocation) status() v1alpha1.RevokedCertificate {
	return v1alpha1.RevokedCertificate{SerialNumber: r.Serial, Certname: r.Certname, NotAfter: metav1.NewTime(r.NotAfter)}
}

// String names the certificate in messages.
func (r Revocation) String() string {
	if r.Certname == "" {
		return r.Serial
	}
	return fmt.Sprintf("%s (%s)", r.Serial, r.Certname)
}

// listed are the serials on CRLs, by the issuer's key. A CRL that no issuer has signed is left
// out.
type listed map[string]map[string]bool

func newListed(lists puppet.CRLs, bundle []byte) listed {
	all := listed{}
	issuers := puppet.ParseBundle(bundle)
	for _, issuer := range issuers { // a CRL without entries is one, too
		all[digest(issuer.RawSubjectPublicKeyInfo)] = map[string]bool{}
	}
	for _, list := range lists {
		for _, issuer := range issuers {
			if list.CheckSignatureFrom(issuer) != nil {
				continue
			}
			serials := all[digest(issuer.RawSubjectPublicKeyInfo)]
			for _, entry := range list.RevokedCertificateEntries {
				serials[fmt.Sprintf("%x", entry.SerialNumber)] = true
			}
			break
		}
	}
	return all
}

// concerns says whether a certificate is of one of the CA's keys: others are not on its CRLs.
func (l listed) concerns(r Revocation) bool { return l[r.Issuer] != nil }

func (l listed) has(r Revocation) bool { return l[r.Issuer][r.Serial] }

// readRevocations reads the record of a CA.
func (s Secrets) readRevocations(ctx context.Context, ca *v1alpha1.CertificateAuthority) ([]Revocation, error) {
	data, err := s.Owned(ctx, ca, layout.RevocationsSecret(ca.Name))
	if err != nil {
		return nil, err
	}
	return decodeRevocations(layout.RevocationsSecret(ca.Name), data)
}

// ChangeRevocations changes the record of a CA. Certificates that have expired leave it.
func (s Secrets) ChangeRevocations(ctx context.Context, ca *v1alpha1.CertificateAuthority, now time.Time, change func(record []Revocation) []Revocation) error {
	name := layout.RevocationsSecret(ca.Name)
	collides := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, collides, func() error {
		return s.edit(ctx, ca, name, layout.ObjectLabels(ca.Name), func(data map[string][]byte) error {
			record, err := decodeRevocations(name, data)
			if err != nil {
				return err
			}
			record = slices.DeleteFunc(change(record), func(r Revocation) bool { return now.After(r.NotAfter) })
			if len(record) == 0 {
				delete(data, layout.RevocationsFile)
				return nil
			}
			data[layout.RevocationsFile], err = encodeRevocations(record)
			return err
		})
	})
}

func decodeRevocations(name string, data map[string][]byte) ([]Revocation, error) {
	content := data[layout.RevocationsFile]
	if len(content) == 0 {
		return nil, nil
	}
	var record []Revocation
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(reader, maxRecordText)).Decode(&record)
	}
	if err != nil {
		return nil, &unreadableRecord{secret: name, digest: digest(content), cause: err}
	}
	return record, nil
}

// encodeRevocations writes a record. One that no Secret can hold loses entries that are on the
// CRL, those that expire first.
func encodeRevocations(record []Revocation) ([]byte, error) {
	for {
		var content bytes.Buffer
		writer := gzip.NewWriter(&content)
		if err := json.NewEncoder(writer).Encode(record); err != nil {
			return nil, err
		}
		if err := writer.Close(); err != nil {
			return nil, err
		}
		if content.Len() <= maxRecord {
			return content.Bytes(), nil
		}
		isDone := func(r Revocation) bool { return r.State == revocationDone }
		slices.SortStableFunc(record, func(a, b Revocation) int {
			if isDone(a) != isDone(b) {
				return cmp.Compare(b.State, a.State)
			}
			return b.NotAfter.Compare(a.NotAfter)
		})
		kept := len(record) - len(record)/10
		if !isDone(record[kept]) {
			return nil, fmt.Errorf("%d certificates that were revoked from here are not on the CRL, more than a Secret holds", kept)
		}
		record = record[:kept]
	}
}
