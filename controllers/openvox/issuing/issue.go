package issuing

import (
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

const (
	retryError = 15 * time.Second
	// longestCheck is how long a certificate that is good is left alone at most.
	longestCheck = 12 * time.Hour
	// renewalCooldown keeps a renewBefore that is longer than a certificate lives from
	// renewing without end.
	renewalCooldown = time.Hour
	// longestAhead is how long a certificate that is not valid yet is left alone at most.
	longestAhead = 5 * time.Minute

	reasonWaiting       = "WaitingForManualSigning"
	reasonFailed        = "SigningFailed"
	reasonRenewalFailed = "RenewalFailed"
	reasonForeign       = "ForeignRequest"
	reasonTaken         = "CertnameTaken"
	reasonNoAuthority   = "WaitingForAuthority"
	reasonNotYetValid   = "NotYetValid"
	// reasonMounted means that Pods of another object have the Secret of the Certificate of the CA's
	// server. The message names the object.
	reasonMounted = "MountedElsewhere"
)

// run is one attempt.
func (i *issuance) run(ctx context.Context) outcome {
	certificate, renewing, err := i.ensure(ctx)
	if err == nil {
		return outcome{
			phase: v1alpha1.CertificateSigned, reason: authority.ReasonSigned, certificate: certificate, events: i.events,
			message: "the certificate is in Secret " + layout.TLSSecret(i.certificate.Name), wait: i.nextCheck(certificate),
		}
	}
	out := failed(err, v1alpha1.CertificateError, i.events)
	if renewing != nil { // the old one still serves
		out.phase, out.certificate, out.message = v1alpha1.CertificateRenewing, renewing, "renewing: "+out.message
		if out.reason != reasonNotYetValid && out.reason != authority.ReasonWaitingForSigner {
			out.reason = reasonRenewalFailed
		}
	}
	return out
}

// ensure returns the valid stored certificate, or an error and the certificate that remains in
// use until it is replaced.
func (i *issuance) ensure(ctx context.Context) (good, renewing *x509.Certificate, err error) {
	data, err := i.secrets.Owned(ctx, i.certificate, layout.TLSSecret(i.certificate.Name))
	if err != nil {
		return nil, nil, err
	}
	stored := layout.StoredPair(data)
	// Ignore the certificate of another CA: the server and its certificate would wait for each
	// other.
	if stored == nil || i.authority.Waiting != nil && !layout.IssuedBy(stored, i.authority.Bundle) {
		if adopted, err := i.adopt(ctx, stored); err != nil || adopted != nil {
			return adopted, nil, err
		}
	}
	if i.authority.Waiting != nil && stored == nil {
		return nil, nil, &authority.Problem{Phase: v1alpha1.CertificatePending, Reason: reasonNoAuthority, Err: i.authority.Waiting}
	}
	if stored == nil {
		good, err = i.issue(ctx, nil)
		return good, nil, err
	}
	if difference := i.outdated(stored); difference != "" {
		i.tell(false, "CertificateRenewalTriggered", "the certificate is issued again: %s", difference)
		good, err = i.issue(ctx, stored)
		return good, stored, err
	}
	if !i.due(stored, data) {
		return stored, nil, nil
	}
	i.tell(false, "CertificateRenewalTriggered", "the certificate ends at %s", stored.NotAfter.UTC().Format(time.RFC3339))
	good, err = i.renew(ctx, stored, data)
	return good, stored, err
}

// adopt stores the certificate that the setup Job has created for the CA's server, if it matches
// the desired one: that server cannot request its first certificate from the CA. The certificate
// administers the CA, so no other object gets it. had is the certificate of another CA that it
// replaces.
func (i *issuance) adopt(ctx context.Context, had *x509.Certificate) (*x509.Certificate, error) {
	if !i.server {
		return nil, nil
	}
	pair := layout.StoredPair(i.authority.SetupPair)
	if pair == nil || layout.Difference(pair, i.certificate.Spec) != "" || i.now().After(pair.NotAfter) {
		return nil, nil
	}
	if known := i.certificate.Status.SerialNumber; known != "" && known != layout.Serial(pair) && (had == nil || known != layout.Serial(had)) {
		return nil, nil // it has been replaced since
	}
	if by, err := mountedBy(ctx, i.secrets.Client, i.certificate); err != nil || by != "" {
		return nil, cmp.Or(err, failure(reasonMounted, "%s has Secret %s in its Pods, into which a pair would come by which the CA is administered; have it name another Certificate in spec.certificateRef, or name another for the CA's server",
			by, layout.TLSSecret(i.certificate.Name)))
	}
	return i.store(ctx, pair, i.authority.SetupPair[layout.KeyFile], nil, "CertificateAdopted")
}

// outdated is why a stored certificate is not the one that is wanted.
func (i *issuance) outdated(stored *x509.Certificate) string {
	if i.authority.Bundle != nil && !layout.IssuedBy(stored, i.authority.Bundle) {
		return "another CA has issued it"
	}
	return i.differs(stored)
}

// differs says what a certificate has otherwise than is wanted: "" where nothing. Rights
// are the CA's own server's.
func (i *issuance) differs(certificate *x509.Certificate) string {
	if oid := layout.Authorization(certificate); oid != "" && !i.server {
		return fmt.Sprintf("its extension %s gives rights, which no Certificate has but that of the CA's own server", oid)
	}
	return layout.Difference(certificate, i.certificate.Spec)
}

// lastRenewal is a key of our Secret, for users of the Secret see only those they know.
const lastRenewal = "last-renewal-time"

func (i *issuance) due(stored *x509.Certificate, data map[string][]byte) bool {
	if i.now().Before(i.renewAt(stored)) {
		return false
	}
	last, err := time.Parse(time.RFC3339, string(data[lastRenewal]))
	return err != nil || i.now().Sub(last) >= renewalCooldown || i.now().After(stored.NotAfter)
}

func (i *issuance) renewAt(stored *x509.Certificate) time.Time {
	before, err := layout.Duration(v1alpha1.Duration(i.certificate.Spec.RenewBefore), 60*24*time.Hour)
	if err != nil {
		before = 60 * 24 * time.Hour
	}
	return stored.NotAfter.Add(-before)
}

func (i *issuance) nextCheck(stored *x509.Certificate) time.Duration {
	half := i.renewAt(stored).Sub(i.now()) / 2
	if half <= 0 {
		return renewalCooldown
	}
	return min(max(half, time.Second), longestCheck)
}

// renew renews a certificate for its existing key, or issues a new one if the CA cannot renew.
func (i *issuance) renew(ctx context.Context, stored *x509.Certificate, data map[string][]byte) (*x509.Certificate, error) {
	why := "the certificate cannot be renewed, or allowAutoRenewal is false"
	if i.autoRenews && i.now().Before(stored.NotAfter) {
		renewed, err := i.renewed(ctx, stored, data)
		if err == nil {
			return i.store(ctx, renewed, data[layout.KeyFile], stored, "CertificateRenewed")
		}
		if !errors.Is(err, puppet.ErrNoRenewal) {
			return nil, err
		}
		why = err.Error()
	}
	i.whyReissued = why
	return i.issue(ctx, stored)
}

// renewed returns the next certificate for the stored key: one that the CA has already signed,
// if its answer was lost or not valid yet, or a new one.
func (i *issuance) renewed(ctx context.Context, stored *x509.Certificate, data map[string][]byte) (*x509.Certificate, error) {
	has, err := i.authority.Anyone.Certificate(ctx, i.certificate.Spec.Certname)
	if err == nil && i.follows(has, stored) == nil {
		return has, i.counts(has)
	}
	server := i.authority.Server
	server.Certificate, server.Key = data[layout.CertificateFile], data[layout.KeyFile]
	own, err := puppet.NewClient(server)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	key, err := parseKey(data[layout.KeyFile])
	if err != nil {
		return nil, err
	}
	request, err := newRequest(i.certificate.Spec, key)
	if err != nil {
		return nil, err
	}
	renewed, err := own.Renew(ctx, request)
	if err != nil {
		return nil, err
	}
	if err := i.follows(renewed, stored); err != nil {
		return nil, failure(reasonRenewalFailed, "the CA has not renewed the certificate: %w", err)
	}
	return renewed, i.counts(renewed)
}

// follows checks that a certificate may take the place of the stored one, with its key.
func (i *issuance) follows(next, stored *x509.Certificate) error {
	switch {
	case !layout.SamePublic(next.PublicKey, stored.PublicKey):
		return errors.New("it is for another key")
	case i.authority.Bundle != nil && !layout.IssuedBy(next, i.authority.Bundle):
		return errors.New("it is signed by none of the CA's certificates")
	case !next.NotAfter.After(stored.NotAfter):
		return fmt.Errorf("it ends at %s, no later than the one before", next.NotAfter.UTC().Format(time.RFC3339))
	}
	if difference := i.differs(next); difference != "" {
		return errors.New(difference)
	}
	return nil
}

// counts checks that a certificate is one now. One that is not yet is stored when it is.
func (i *issuance) counts(certificate *x509.Certificate) error {
	now := i.now()
	if now.After(certificate.NotAfter) {
		return failure(reasonFailed, "the CA has signed a certificate that has ended already, at %s: its clock or the cluster's is wrong", certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	if early := certificate.NotBefore.Sub(now); early > 0 {
		return &authority.Problem{Phase: v1alpha1.CertificatePending, Reason: reasonNotYetValid, Wait: min(early+time.Second, longestAhead), Err: fmt.Errorf(
			"the certificate counts from %s only, and is stored then: the CA's clock is ahead of the cluster's", certificate.NotBefore.UTC().Format(time.RFC3339))}
	}
	return nil
}

// issue gets a new certificate for a new key, which waits in a Secret of its own
// until then. old is the certificate that it replaces: nil where none is stored.
func (i *issuance) issue(ctx context.Context, old *x509.Certificate) (*x509.Certificate, error) {
	if err := i.forgetOutdated(ctx, old); err != nil {
		return nil, err
	}
	certname := i.certificate.Spec.Certname
	has, err := i.authority.Anyone.Certificate(ctx, certname)
	if err != nil && !errors.Is(err, puppet.ErrNotFound) {
		return nil, err // create no key for a CA that does not answer
	}
	keyPEM, key, err := i.pendingKey(ctx)
	if err != nil {
		return nil, err
	}
	if has != nil && layout.SamePublic(has.PublicKey, key.Public()) {
		return i.accept(ctx, has, keyPEM, old)
	}
	if has != nil {
		if err := i.clean(ctx, has, old); err != nil {
			return nil, err
		}
	}
	if err := i.withdrawForeign(ctx, key); err != nil {
		return nil, err
	}
	certificate, err := i.obtain(ctx, certname, key.Public(), func() ([]byte, error) { return newRequest(i.certificate.Spec, key) })
	if err != nil {
		return nil, err
	}
	return i.accept(ctx, certificate, keyPEM, old)
}

// pendingKey is the key for which a certificate is asked.
func (i *issuance) pendingKey(ctx context.Context) ([]byte, crypto.Signer, error) {
	name := pendingSecret(i.certificate.Name)
	data, err := i.secrets.Owned(ctx, i.certificate, name)
	if err != nil {
		return nil, nil, err
	}
	if key, err := parseKey(data[layout.KeyFile]); err == nil {
		return data[layout.KeyFile], key, nil
	}
	text, err := i.keys.make(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := i.secrets.Keep(ctx, i.certificate, name, i.labels(), map[string][]byte{layout.KeyFile: text, generationKey: []byte(i.generation())}); err != nil {
		return nil, nil, err
	}
	key, err := parseKey(text)
	return text, key, err
}

// accept stores a certificate for the pending key.
func (i *issuance) accept(ctx context.Context, certificate *x509.Certificate, keyPEM []byte, old *x509.Certificate) (*x509.Certificate, error) {
	if i.authority.Bundle != nil && !layout.IssuedBy(certificate, i.authority.Bundle) {
		return nil, failure(reasonFailed, "the certificate is signed by none of the CA's certificates")
	}
	if difference := i.differs(certificate); difference != "" {
		return nil, failure(reasonFailed, "the CA has not signed what was asked for: %s", difference)
	}
	if err := i.counts(certificate); err != nil {
		return nil, err
	}
	stored, err := i.store(ctx, certificate, keyPEM, old, authority.ReasonSigned)
	if err != nil {
		return nil, err
	}
	return stored, i.secrets.Remove(ctx, i.certificate, pendingSecret(i.certificate.Name))
}

// store replaces the old certificate with the new one in a single write.
func (i *issuance) store(ctx context.Context, certificate *x509.Certificate, keyPEM []byte, old *x509.Certificate, reason string) (*x509.Certificate, error) {
	data := map[string][]byte{layout.CertificateFile: layout.EncodeCertificate(certificate), layout.KeyFile: keyPEM}
	if old != nil {
		data[lastRenewal] = []byte(i.now().UTC().Format(time.RFC3339))
	}
	err := i.secrets.Keep(ctx, i.certificate, layout.TLSSecret(i.certificate.Name), i.labels(), data)
	if err != nil {
		return nil, err
	}
	i.tell(false, reason, "the certificate of %s is valid until %s", i.certificate.Spec.Certname, certificate.NotAfter.UTC().Format(time.RFC3339))
	return certificate, nil
}
