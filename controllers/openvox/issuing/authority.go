package issuing

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

// errNotInitialized is of a CA in the cluster that is not set up yet.
var errNotInitialized = errors.New("the CA is not set up yet")

// authority is a CA that can be asked.
type authority struct {
	// bundle are the CA's certificates in PEM; nil where no Secret has them.
	bundle []byte
	// anyone asks what anybody may ask.
	anyone *puppet.Client
	// admin signs and revokes; nil where there are no credentials for it.
	admin *puppet.Client
	// admins are the administrators of an in-cluster CA; the first one is admin.
	admins []administrator
	// internal says that it runs in the cluster.
	internal bool
	// server is the CA as anyone reaches it.
	server puppet.Server
	// setup is the Secret in which the setup Job has left a pair; nil of external CAs.
	setup map[string][]byte
	// ca is its object, and revoker revokes certificates at it.
	ca      *v1alpha1.CertificateAuthority
	revoker *revoker
	// waiting is why the CA cannot be asked yet; nil where it can.
	waiting error
}

// administrator signs and revokes with a certificate.
type administrator struct {
	certificate *x509.Certificate
	client      *puppet.Client
}

func (a *authority) close() {
	a.anyone.Close()
	for _, one := range a.admins {
		one.client.Close()
	}
	if len(a.admins) == 0 && a.admin != nil {
		a.admin.Close()
	}
}

// stepAside selects another key pair for signing if the current one uses a certificate that is
// about to be revoked. A revoked certificate could not sign its own successor.
func (a *authority) stepAside(ctx context.Context, certname string, revoked *x509.Certificate) error {
	if !a.administers(revoked) {
		return nil
	}
	why := ""
	for _, one := range a.admins {
		if one.certificate.Equal(revoked) {
			continue
		}
		err := a.stillSigns(ctx, certname, one)
		if err == nil {
			a.admin = one.client
			return nil
		}
		why = fmt.Sprintf(" (of the one with serial %s: %v)", serial(one.certificate), err)
	}
	return &problem{phase: v1alpha1.CertificatePending, reason: reasonWaitingForSigner, wait: retryPending, err: fmt.Errorf(
		"requests are signed with the very certificate that is to be replaced (serial %s), and by no other yet%s; it is replaced once the operator has one of its own", serial(revoked), why)}
}

// administers says whether a certificate is one by which requests are signed.
func (a *authority) administers(certificate *x509.Certificate) bool {
	return slices.ContainsFunc(a.admins, func(one administrator) bool { return one.certificate.Equal(certificate) })
}

// stillSigns returns nil if a key pair can sign, and otherwise the reason why it cannot. A
// revoked certificate may be missing from the stored CRL, and a Puppet server accepts it until
// the server reads its CRL again. The CA stops listing it under its name immediately.
func (a *authority) stillSigns(ctx context.Context, certname string, one administrator) error {
	name := one.certificate.Subject.CommonName
	has, err := a.anyone.Certificate(ctx, name)
	if err == nil && !samePublic(has.PublicKey, one.certificate.PublicKey) {
		err = fmt.Errorf("the CA has another for %s by now (serial %s)", name, serial(has))
	}
	if err != nil {
		return err
	}
	if err := one.client.Status(ctx, certname); !errors.Is(err, puppet.ErrNotFound) {
		return err
	}
	return nil
}

// connect makes the clients of a CA, for the Certificate of a name, whose own pair signs last: it
// may be revoked on the way. Nothing is sent yet.
func connect(ctx context.Context, s secrets, ca *v1alpha1.CertificateAuthority, certificate string) (*authority, error) {
	external := ca.Spec.External
	if external == nil {
		signers := signerSecrets(ca.Name)
		own := slices.Index(signers, layout.TLSSecret(certificate))
		if own >= 0 {
			signers = append(slices.Delete(signers, own, own+1), layout.TLSSecret(certificate))
		}
		return connectInternal(ctx, s, ca, signers...)
	}
	bundle, err := s.value(ctx, ca.Namespace, layout.CASecret(ca), layout.CAFile)
	if err != nil && !external.InsecureSkipVerify {
		return nil, fmt.Errorf("the CA's certificate: %w", err)
	}
	a := &authority{ca: ca, bundle: bundle, server: puppet.Server{URL: external.URL, CA: bundle, Insecure: external.InsecureSkipVerify}}
	if a.anyone, err = puppet.NewClient(a.server); err != nil {
		return nil, err
	}
	if external.TLSSecretRef == "" || bundle == nil {
		return a, nil // never sign at a server that may not be this CA
	}
	admin := puppet.Server{URL: external.URL, CA: bundle}
	if admin.Certificate, err = s.value(ctx, ca.Namespace, external.TLSSecretRef, "tls.crt"); err != nil {
		return nil, fmt.Errorf("the client certificate for the CA: %w", err)
	}
	if admin.Key, err = s.value(ctx, ca.Namespace, external.TLSSecretRef, "tls.key"); err != nil {
		return nil, fmt.Errorf("the client certificate for the CA: %w", err)
	}
	a.admin, err = puppet.NewClient(admin)
	return a, err
}

// errNoCRL is of a CA in the cluster whose Secret has lost the CRL: without it, a pair that is
// revoked could sign.
var errNoCRL = errors.New("the CA's CRL is missing, and is read again")

// connectAsAnyone makes the client of a CA in the cluster that signs nothing.
func connectAsAnyone(ctx context.Context, s secrets, ca *v1alpha1.CertificateAuthority) (*authority, error) {
	bundle, err := s.value(ctx, ca.Namespace, layout.CASecret(ca), layout.CAFile)
	if err != nil {
		return nil, fmt.Errorf("the CA's certificate: %w", err)
	}
	a := &authority{ca: ca, internal: true, bundle: bundle, server: puppet.Server{URL: internalURL(ca), CA: bundle, Quoted: true}}
	a.anyone, err = puppet.NewClient(a.server)
	return a, err
}

// connectInternal makes the clients of a CA in the cluster. The first of the Secrets with
// a pair that counts is the one that signs.
func connectInternal(ctx context.Context, s secrets, ca *v1alpha1.CertificateAuthority, signers ...string) (*authority, error) {
	if !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized) {
		return nil, errNotInitialized
	}
	lists, err := s.read(ctx, ca.Namespace, layout.CRLSecret(ca.Name))
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
	crl, bundle := lists.Data[layout.CRLFile], a.bundle
	if a.setup, err = s.signer(ctx, ca, setupName(ca.Name), bundle, crl); err != nil {
		return nil, err
	}
	if !hasAnswered(ca) {
		a.waiting = errors.New("the CA's server does not answer yet")
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
		a.admins = append(a.admins, administrator{layout.StoredPair(pair), client})
	}
	if len(a.admins) > 0 {
		a.admin = a.admins[0].client
	}
	return a, nil
}

// signer is a pair that may sign. That of the setup Job does not count once its Certificate
// has another: issuing that has revoked it, which CRLs of infrastructure nodes leave out.
func (s secrets) signer(ctx context.Context, ca *v1alpha1.CertificateAuthority, name string, bundle, crl []byte) (map[string][]byte, error) {
	pair, err := s.pair(ctx, ca.Namespace, name, bundle, crl)
	leaf := layout.StoredPair(pair)
	if err != nil || leaf == nil || name != setupName(ca.Name) || leaf.Subject.CommonName == rules.SetupCertname(ca.Name) {
		return pair, err
	}
	certificates, err := CertificatesIn(ctx, s.client, ca.Namespace)
	if err != nil {
		return nil, err
	}
	for i := range certificates {
		c := &certificates[i]
		if c.Spec.AuthorityRef == ca.Name && c.Spec.Certname == leaf.Subject.CommonName && c.Status.SerialNumber != "" && c.Status.SerialNumber != serial(leaf) {
			return nil, nil
		}
	}
	return pair, nil
}

// pair is a Secret with a certificate and its key: nil unless one of the bundle has
// issued it, it has not ended, and the CRL does not revoke it.
func (s secrets) pair(ctx context.Context, namespace, name string, bundle, crl []byte) (map[string][]byte, error) {
	secret, err := s.read(ctx, namespace, name)
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

// obtain requests a certificate for one key and accepts no other: any client that sent a request
// first would otherwise get the name. request is called if no request is pending.
func (a *authority) obtain(ctx context.Context, certname string, public any, request func() ([]byte, error)) (*x509.Certificate, error) {
	if err := a.sign(ctx, certname, public, request); err != nil {
		return nil, err
	}
	certificate, err := a.anyone.Certificate(ctx, certname)
	if err != nil {
		return nil, err
	}
	if samePublic(certificate.PublicKey, public) {
		return certificate, nil
	}
	if a.admin != nil { // exchanged after we had looked
		if _, err := a.revoke(ctx, certname, certificate, true); err != nil {
			return nil, err
		}
	}
	return nil, failure(reasonForeign, "the CA has signed another key under certname %s (serial %s), and the certificate is not stored; %s", certname, serial(certificate), a.byHand(cleanStep, certname, true))
}

// sign has the request of a key wait at the CA, and signs it.
func (a *authority) sign(ctx context.Context, certname string, public any, request func() ([]byte, error)) error {
	waiting, err := a.anyone.Request(ctx, certname)
	if errors.Is(err, puppet.ErrNotFound) {
		text, err := request()
		if err != nil {
			return failure(reasonFailed, "%w", err)
		}
		if err := a.anyone.Submit(ctx, certname, text); err != nil {
			return err
		}
		if waiting, err = a.anyone.Request(ctx, certname); errors.Is(err, puppet.ErrNotFound) {
			return nil // the CA may have signed it automatically: compare the certificate
		} else if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if !samePublic(waiting.PublicKey, public) {
		return failure(reasonForeign, "a request with another key waits at the CA under certname %s, and is not signed; %s", certname, a.byHand(withdrawStep, certname, true))
	}
	if a.admin == nil {
		return &problem{phase: v1alpha1.CertificateWaitingForSigning, reason: reasonWaiting, err: fmt.Errorf(
			"the request waits at the CA, and there is no certificate to sign it with; %s", a.byHand(signStep, certname, true))}
	}
	return a.admin.Sign(ctx, certname)
}

// manualStep is what a user does at a CA.
type manualStep string

const (
	// signStep signs the waiting request, cleanStep revokes the certificate and removes its file,
	// and withdrawStep removes the waiting request.
	signStep     manualStep = "sign"
	cleanStep    manualStep = "clean"
	withdrawStep manualStep = "withdraw"
)

// byHand describes a manual step for a certname. `lintel openvox ca` administers the CA with the
// certificate that Lintel signs with. Images of CAs in the cluster do not contain puppetserver ca.
// protected reports whether a Certificate has the certname.
func (a *authority) byHand(step manualStep, certname string, protected bool) string {
	switch {
	case a.internal && a.admin == nil:
		return "the condition " + v1alpha1.ConditionOperatorSigningReady + " of the CertificateAuthority describes what to do"
	case a.admin == nil && step == signStep:
		return fmt.Sprintf("sign it at the CA: puppetserver ca sign --certname %s", certname)
	case a.admin == nil:
		return fmt.Sprintf("remove it at the CA: puppetserver ca clean --certname %s", certname)
	}
	command := fmt.Sprintf("lintel openvox ca clean %s -n %s --ca %s", certname, a.ca.Namespace, a.ca.Name)
	if step == withdrawStep {
		return "remove it: " + command
	}
	if protected { // the command does not revoke the certificate of a Certificate otherwise
		command += " --force"
	}
	return "if no client uses that certificate any longer, revoke it: " + command
}
