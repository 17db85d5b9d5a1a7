package authority

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// ErrNotInitialized is of a CA in the cluster that is not set up yet.
var ErrNotInitialized = errors.New("the CA is not set up yet")

// Connection is a CA that can be asked.
type Connection struct {
	// Bundle are the CA's certificates in PEM; nil where no Secret has them.
	Bundle []byte
	// Anyone asks what anybody may ask.
	Anyone *puppet.Client
	// Admin signs and revokes; nil where there are no credentials for it.
	Admin *puppet.Client
	// Admins are the administrators of an in-cluster CA; the first one is Admin.
	Admins []Administrator
	// Internal says that it runs in the cluster.
	Internal bool
	// Server is the CA as anyone reaches it.
	Server puppet.Server
	// SetupPair is the Secret in which the setup Job has left a pair; nil of external CAs.
	SetupPair map[string][]byte
	// CA is its object.
	CA *v1alpha1.CertificateAuthority
	// Waiting is why the CA cannot be asked yet; nil where it can.
	Waiting error
}

// Administrator signs and revokes with a certificate.
type Administrator struct {
	// Certificate is the client certificate, and Client presents it.
	Certificate *x509.Certificate
	Client      *puppet.Client
}

// Close closes the connections of all clients.
func (a *Connection) Close() {
	a.Anyone.Close()
	for _, one := range a.Admins {
		one.Client.Close()
	}
	if len(a.Admins) == 0 && a.Admin != nil {
		a.Admin.Close()
	}
}

// stepAside selects another key pair for signing if the current one uses a certificate that is
// about to be revoked. A revoked certificate could not sign its own successor.
func (a *Connection) stepAside(ctx context.Context, certname string, revoked *x509.Certificate) error {
	if !a.administers(revoked) {
		return nil
	}
	why := ""
	for _, one := range a.Admins {
		if one.Certificate.Equal(revoked) {
			continue
		}
		err := a.stillSigns(ctx, certname, one)
		if err == nil {
			a.Admin = one.Client
			return nil
		}
		why = fmt.Sprintf(" (of the one with serial %s: %v)", layout.Serial(one.Certificate), err)
	}
	return &Problem{Phase: v1alpha1.CertificatePending, Reason: ReasonWaitingForSigner, Wait: RetryPending, Err: fmt.Errorf(
		"requests are signed with the very certificate that is to be replaced (serial %s), and by no other yet%s; it is replaced once the operator has one of its own", layout.Serial(revoked), why)}
}

// administers says whether a certificate is one by which requests are signed.
func (a *Connection) administers(certificate *x509.Certificate) bool {
	return slices.ContainsFunc(a.Admins, func(one Administrator) bool { return one.Certificate.Equal(certificate) })
}

// stillSigns returns nil if a key pair can sign, and otherwise the reason why it cannot. A
// revoked certificate may be missing from the stored CRL, and a Puppet server accepts it until
// the server reads its CRL again. The CA stops listing it under its name immediately.
func (a *Connection) stillSigns(ctx context.Context, certname string, one Administrator) error {
	name := one.Certificate.Subject.CommonName
	has, err := a.Anyone.Certificate(ctx, name)
	if err == nil && !layout.SamePublic(has.PublicKey, one.Certificate.PublicKey) {
		err = fmt.Errorf("the CA has another for %s by now (serial %s)", name, layout.Serial(has))
	}
	if err != nil {
		return err
	}
	if err := one.Client.Status(ctx, certname); !errors.Is(err, puppet.ErrNotFound) {
		return err
	}
	return nil
}

// Connect makes the clients of a CA, for the Certificate of a name, whose own pair signs last: it
// may be revoked on the way. Nothing is sent yet.
func Connect(ctx context.Context, s Secrets, ca *v1alpha1.CertificateAuthority, certificate string) (*Connection, error) {
	external := ca.Spec.External
	if external == nil {
		signers := signerSecrets(ca.Name)
		own := slices.Index(signers, layout.TLSSecret(certificate))
		if own >= 0 {
			signers = append(slices.Delete(signers, own, own+1), layout.TLSSecret(certificate))
		}
		return connectInternal(ctx, s, ca, signers...)
	}
	bundle, err := s.Value(ctx, ca.Namespace, layout.CASecret(ca), layout.CAFile)
	if err != nil && !external.InsecureSkipVerify {
		return nil, fmt.Errorf("the CA's certificate: %w", err)
	}
	a := &Connection{CA: ca, Bundle: bundle, Server: puppet.Server{URL: external.URL, CA: bundle, Insecure: external.InsecureSkipVerify}}
	if a.Anyone, err = puppet.NewClient(a.Server); err != nil {
		return nil, err
	}
	if external.TLSSecretRef == "" || bundle == nil {
		return a, nil // never sign at a server that may not be this CA
	}
	admin := puppet.Server{URL: external.URL, CA: bundle}
	if admin.Certificate, err = s.Value(ctx, ca.Namespace, external.TLSSecretRef, "tls.crt"); err != nil {
		return nil, fmt.Errorf("the client certificate for the CA: %w", err)
	}
	if admin.Key, err = s.Value(ctx, ca.Namespace, external.TLSSecretRef, "tls.key"); err != nil {
		return nil, fmt.Errorf("the client certificate for the CA: %w", err)
	}
	a.Admin, err = puppet.NewClient(admin)
	return a, err
}

// errNoCRL is of a CA in the cluster whose Secret has lost the CRL: without it, a pair that is
// revoked could sign.
var errNoCRL = errors.New("the CA's CRL is missing, and is read again")

// connectAsAnyone makes the client of a CA in the cluster that signs nothing.
func connectAsAnyone(ctx context.Context, s Secrets, ca *v1alpha1.CertificateAuthority) (*Connection, error) {
	bundle, err := s.Value(ctx, ca.Namespace, layout.CASecret(ca), layout.CAFile)
	if err != nil {
		return nil, fmt.Errorf("the CA's certificate: %w", err)
	}
	a := &Connection{CA: ca, Internal: true, Bundle: bundle, Server: puppet.Server{URL: internalURL(ca), CA: bundle, Quoted: true}}
	a.Anyone, err = puppet.NewClient(a.Server)
	return a, err
}

// connectInternal makes the clients of a CA in the cluster. The first of the Secrets with
// a pair that counts is the one that signs.
func connectInternal(ctx context.Context, s Secrets, ca *v1alpha1.CertificateAuthority, signers ...string) (*Connection, error) {
	if !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized) {
		return nil, ErrNotInitialized
	}
	lists, err := s.Read(ctx, ca.Namespace, layout.CRLSecret(ca.Name))
	if err != nil {
		return nil, fmt.Errorf("the CA's CRL: %w", err)
	}
	if lists == nil || len(lists.Data[layout.CRLFile]) == 0 {
		return nil, fmt.Errorf("the Secret %s: %w", layout.CRLSecret(ca.Name), errNoCRL)
	}
	a, err := connectAsAnyone(ctx, s, ca)
	if err != nil {
		return nil, err
	}
	crl, bundle := lists.Data[layout.CRLFile], a.Bundle
	if a.SetupPair, err = s.signer(ctx, ca, setupJobName(ca.Name), bundle, crl); err != nil {
		return nil, err
	}
	if !hasAnswered(ca) {
		a.Waiting = errors.New("the CA's server does not answer yet")
	}
	for _, name := range signers {
		pair, err := s.signer(ctx, ca, name, bundle, crl)
		if err != nil {
			return nil, err
		}
		if pair == nil {
			continue
		}
		client, err := puppet.NewClient(puppet.Server{URL: internalURL(ca), CA: bundle, Quoted: true, Certificate: pair[layout.CertificateFile], Key: pair[layout.KeyFile]})
		if err != nil {
			return nil, err
		}
		a.Admins = append(a.Admins, Administrator{layout.StoredPair(pair), client})
	}
	if len(a.Admins) > 0 {
		a.Admin = a.Admins[0].Client
	}
	return a, nil
}

// signer is a pair that may sign. That of the setup Job does not count once its Certificate
// has another: issuing that has revoked it, which CRLs of infrastructure nodes leave out.
func (s Secrets) signer(ctx context.Context, ca *v1alpha1.CertificateAuthority, name string, bundle, crl []byte) (map[string][]byte, error) {
	pair, err := s.pair(ctx, ca.Namespace, name, bundle, crl)
	leaf := layout.StoredPair(pair)
	if err != nil || leaf == nil || name != setupJobName(ca.Name) || leaf.Subject.CommonName == rules.SetupCertname(ca.Name) {
		return pair, err
	}
	certificates, err := layout.CertificatesIn(ctx, s.Client, ca.Namespace)
	if err != nil {
		return nil, err
	}
	for i := range certificates {
		c := &certificates[i]
		if c.Spec.AuthorityRef == ca.Name && c.Spec.Certname == leaf.Subject.CommonName && c.Status.SerialNumber != "" && c.Status.SerialNumber != layout.Serial(leaf) {
			return nil, nil
		}
	}
	return pair, nil
}

// pair is a Secret with a certificate and its key: nil unless one of the bundle has
// issued it, it has not ended, and the CRL does not revoke it.
func (s Secrets) pair(ctx context.Context, namespace, name string, bundle, crl []byte) (map[string][]byte, error) {
	secret, err := s.Read(ctx, namespace, name)
	if err != nil || secret == nil {
		return nil, err
	}
	certificate := layout.StoredPair(secret.Data)
	if certificate == nil || !layout.IssuedBy(certificate, bundle) || time.Now().After(certificate.NotAfter) {
		return nil, nil
	}
	lists, err := puppet.ParseCRLs(crl)
	if err != nil || lists.Revokes(certificate) {
		return nil, nil
	}
	return secret.Data, nil
}

// ManualStep is what a user does at a CA.
type ManualStep string

const (
	// SignStep signs the waiting request, CleanStep revokes the certificate and removes its file,
	// and WithdrawStep removes the waiting request.
	SignStep     ManualStep = "sign"
	CleanStep    ManualStep = "clean"
	WithdrawStep ManualStep = "withdraw"
)

// ByHand describes a manual step for a certname. `lintel openvox ca` administers the CA with the
// certificate that Lintel signs with. Images of CAs in the cluster do not contain puppetserver ca.
// protected reports whether a Certificate has the certname.
func (a *Connection) ByHand(step ManualStep, certname string, protected bool) string {
	switch {
	case a.Internal && a.Admin == nil:
		return "the condition " + v1alpha1.ConditionOperatorSigningReady + " of the CertificateAuthority describes what to do"
	case a.Admin == nil && step == SignStep:
		return fmt.Sprintf("sign it at the CA: puppetserver ca sign --certname %s", certname)
	case a.Admin == nil:
		return fmt.Sprintf("remove it at the CA: puppetserver ca clean --certname %s", certname)
	}
	command := fmt.Sprintf("lintel openvox ca clean %s -n %s --ca %s", certname, a.CA.Namespace, a.CA.Name)
	if step == WithdrawStep {
		return "remove it: " + command
	}
	if protected { // the command does not revoke the certificate of a Certificate otherwise
		command += " --force"
	}
	return "if no client uses that certificate any longer, revoke it: " + command
}
