package issuing

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

const (
	// reasonDenied means that the policies no longer permit a request.
	reasonDenied = "PolicyDenied"
	// reasonRefused means that the CA rejects the request.
	reasonRefused = "RefusedByAuthority"
	// reasonNameInUse means that another request for the certname is being signed.
	reasonNameInUse = "WaitingForAnotherRequest"
	// reasonReissued means that a certificate was revoked and issued again.
	reasonReissued = "CertificateReissued"

	// retryNameInUse is how long they wait at a time.
	retryNameInUse = 2 * time.Second
)

// signer signs requests of other components at their CAs. It trusts nothing about them: neither
// that the CA has received exactly this request, nor that its certname is free.
type signer struct {
	client  client.Client
	secrets authority.Secrets
	admit   builtin.Admitter
	revoker *authority.Revoker
	names   *certnames
}

// application is an approved request.
type application struct {
	authority client.ObjectKey
	object    client.Object // the input of the rules
	request   []byte        // in PEM
	// succeeds reports whether the request is the successor of the given certificate: a
	// certificate of another owner is never replaced.
	succeeds func(ctx context.Context, has *x509.Certificate) (bool, error)
}

// sign is one attempt. phase is CertificateError where another cannot end otherwise.
func (s signer) sign(ctx context.Context, a application) outcome {
	attempt := &signing{application: a, revoker: s.revoker}
	certificate, err := s.obtain(ctx, attempt)
	if err == nil {
		return outcome{phase: v1alpha1.CertificateSigned, certificate: certificate, bundle: attempt.Bundle, events: attempt.events}
	}
	return failed(err, v1alpha1.CertificatePending, attempt.events)
}

// waiting is a step that is tried again.
func waiting(reason, format string, args ...any) error {
	return &authority.Problem{Phase: v1alpha1.CertificatePending, Reason: reason, Err: fmt.Errorf(format, args...)}
}

func (s signer) obtain(ctx context.Context, attempt *signing) (*x509.Certificate, error) {
	ca := &v1alpha1.CertificateAuthority{}
	if err := s.client.Get(ctx, attempt.application.authority, ca); apierrors.IsNotFound(err) {
		return nil, waiting(reasonNoAuthority, "there is no CertificateAuthority %s", attempt.application.authority)
	} else if err != nil {
		return nil, err
	}
	verdict, err := s.admit(ctx, attempt.object)
	if err != nil {
		return nil, err
	}
	if verdict.Denied() {
		return nil, failure(reasonDenied, "%s", verdict.Message())
	}
	block, _ := pem.Decode(attempt.application.request) // the rules have found it good
	if block == nil {
		return nil, failure(reasonDenied, "spec.request is no PEM")
	}
	if attempt.request, err = x509.ParseCertificateRequest(block.Bytes); err != nil {
		return nil, failure(reasonDenied, "spec.request: %w", err)
	}
	if attempt.Connection, err = authority.Connect(ctx, s.secrets, ca, ""); err != nil {
		return nil, waiting(reasonNoAuthority, "CertificateAuthority %s: %w", ca.Name, err)
	}
	defer attempt.Close()
	if attempt.Waiting != nil {
		return nil, waiting(reasonNoAuthority, "CertificateAuthority %s: %w", ca.Name, attempt.Waiting)
	}
	release, free := s.names.take(attempt.application.authority, attempt.certname())
	if !free {
		return nil, &authority.Problem{Phase: v1alpha1.CertificatePending, Reason: reasonNameInUse, Wait: retryNameInUse, Err: fmt.Errorf("another request for this certname is being signed: %s", attempt.certname())}
	}
	defer release()
	return attempt.run(ctx)
}

// signing is one attempt at one CA.
type signing struct {
	application
	*authority.Connection
	revoker *authority.Revoker
	request *x509.CertificateRequest
	events  []object.Event
}

func (s *signing) certname() string { return s.request.Subject.CommonName }

func (s *signing) run(ctx context.Context) (*x509.Certificate, error) {
	has, err := s.Anyone.Certificate(ctx, s.certname())
	if errors.Is(err, puppet.ErrNotFound) {
		return s.issue(ctx)
	}
	if err != nil {
		return nil, err
	}
	next, err := s.succeeds(ctx, has)
	if err == nil && !next {
		next, err = s.revoker.WasRevoked(ctx, s.CA, has)
	}
	switch {
	case err != nil:
		return nil, err
	case next:
		if err := s.makeRoom(ctx, has); err != nil {
			return nil, err
		}
		return s.issue(ctx)
	case !layout.SamePublic(has.PublicKey, s.request.PublicKey):
		return nil, failure(reasonTaken, "the CA has a certificate for %s already (serial %s), and this request is not its renewal; %s, and then create another request",
			s.certname(), layout.Serial(has), s.ByHand(authority.CleanStep, s.certname(), false))
	}
	return s.accept(has)
}

// makeRoom revokes the certificate that the request is to replace: a CA takes none for a
// certname that has one.
func (s *signing) makeRoom(ctx context.Context, has *x509.Certificate) error {
	pending, err := s.Anyone.Request(ctx, s.certname())
	if err == nil && !layout.SamePublic(pending.PublicKey, s.request.PublicKey) {
		return s.foreign() // revoking would give the name away
	}
	if err != nil && !errors.Is(err, puppet.ErrNotFound) {
		return err
	}
	if s.Admin == nil {
		return waiting(reasonWaiting, "the CA has the certificate that is to be renewed (serial %s), and there is no certificate to revoke it with; %s",
			layout.Serial(has), s.ByHand(authority.CleanStep, s.certname(), false))
	}
	listed, err := s.revoker.Revoke(ctx, s.Connection, s.certname(), has, true)
	if err != nil {
		return err
	}
	if !listed {
		s.events = append(s.events, object.Event{Warning: true, Reason: authority.ReasonUnconfirmed, Message: authority.Unconfirmed(s.certname(), has)})
		return nil
	}
	s.events = append(s.events, object.Event{Warning: true, Reason: reasonReissued, Message: fmt.Sprintf("the certificate of %s (serial %s) is revoked and issued again, for the CA renews none for another key: neither is valid in between",
		s.certname(), layout.Serial(has))})
	return nil
}

// issue signs exactly this request, byte for byte: another request for the same key might
// contain more than the rules have reviewed.
func (s *signing) issue(ctx context.Context) (*x509.Certificate, error) {
	pending, err := s.submit(ctx)
	if err != nil {
		return nil, err
	}
	if pending {
		if s.Admin == nil {
			return nil, waiting(reasonWaiting, "the request waits at the CA, and there is no certificate to sign it with; %s", s.ByHand(authority.SignStep, s.certname(), false))
		}
		if err := s.Admin.Sign(ctx, s.certname()); err != nil {
			return nil, s.refused(ctx, err)
		}
	}
	certificate, err := s.Anyone.Certificate(ctx, s.certname())
	if err != nil {
		return nil, err
	}
	if layout.SamePublic(certificate.PublicKey, s.request.PublicKey) {
		return s.accept(certificate)
	}
	if pending { // exchanged after we had looked: it is our signature that it has
		if _, err := s.revoker.Revoke(ctx, s.Connection, s.certname(), certificate, true); err != nil {
			return nil, err
		}
	}
	return nil, waiting(reasonForeign, "the CA has signed another key under certname %s (serial %s), and the certificate is not returned; %s", s.certname(), layout.Serial(certificate), s.ByHand(authority.CleanStep, s.certname(), false))
}

// submit sends the request to the CA. pending is false if the CA has signed it immediately, or
// has signed another request.
func (s *signing) submit(ctx context.Context) (pending bool, err error) {
	found, err := s.Anyone.Request(ctx, s.certname())
	if err == nil && !bytes.Equal(found.Raw, s.request.Raw) && layout.SamePublic(found.PublicKey, s.request.PublicKey) {
		if s.Admin == nil {
			return false, waiting(reasonForeign, "another request for the same key waits at the CA under certname %s; %s", s.certname(), s.ByHand(authority.WithdrawStep, s.certname(), false))
		}
		if err := s.Admin.Withdraw(ctx, s.certname()); err != nil {
			return false, err
		}
		err = puppet.ErrNotFound
	}
	if errors.Is(err, puppet.ErrNotFound) {
		if err := s.Anyone.Submit(ctx, s.certname(), s.application.request); err != nil {
			return false, s.refused(ctx, err)
		}
		if found, err = s.Anyone.Request(ctx, s.certname()); errors.Is(err, puppet.ErrNotFound) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	if !bytes.Equal(found.Raw, s.request.Raw) {
		return false, s.foreign()
	}
	return true, nil
}

func (s *signing) foreign() error {
	return waiting(reasonForeign, "a request with another key waits at the CA under certname %s, and is not signed; %s", s.certname(), s.ByHand(authority.WithdrawStep, s.certname(), false))
}

// refused ends an attempt permanently if the CA has rejected the request itself. The request is
// withdrawn, so that it does not block the next one for the certname.
func (s *signing) refused(ctx context.Context, err error) error {
	var status *puppet.StatusError
	if !errors.As(err, &status) || strings.Contains(status.Body, "already has a") {
		return err
	}
	switch status.Code {
	case http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity:
	default:
		return err
	}
	pending, lookErr := s.Anyone.Request(ctx, s.certname())
	if lookErr == nil && s.Admin != nil && bytes.Equal(pending.Raw, s.request.Raw) {
		lookErr = s.Admin.Withdraw(ctx, s.certname())
	}
	if lookErr != nil && !errors.Is(lookErr, puppet.ErrNotFound) {
		return lookErr
	}
	return failure(reasonRefused, "%w", err)
}

// accept checks what the CA has signed.
func (s *signing) accept(certificate *x509.Certificate) (*x509.Certificate, error) {
	if s.Bundle != nil && !layout.IssuedBy(certificate, s.Bundle) {
		return nil, errors.New("the certificate is signed by none of the CA's certificates")
	}
	if !hasNames(certificate, s.request) {
		return nil, failure(reasonTaken, "the CA has a certificate for %s and this key (serial %s) with other names than are requested: %v %v; %s, and then create another request",
			s.certname(), layout.Serial(certificate), certificate.DNSNames, certificate.IPAddresses, s.ByHand(authority.CleanStep, s.certname(), false))
	}
	return certificate, nil
}

// hasNames says whether a certificate has the names that a request asks for, and no others.
func hasNames(certificate *x509.Certificate, request *x509.CertificateRequest) bool {
	return layout.SameNames(certificate.DNSNames, request.DNSNames, request.Subject.CommonName) &&
		layout.SameNames(layout.IPTexts(certificate.IPAddresses), layout.IPTexts(request.IPAddresses), "")
}

// chain is a certificate with those between it and its root in PEM, and the root: the
// highest that is known where a bundle has none.
func chain(leaf *x509.Certificate, bundle []byte) (certificates, root []byte) {
	certificates = layout.EncodeCertificate(leaf)
	known := puppet.ParseBundle(bundle)
	for range known {
		issuer := layout.IssuerOf(leaf, known)
		if issuer == nil || issuer.Equal(leaf) {
			break
		}
		root = layout.EncodeCertificate(issuer)
		if issuer.CheckSignatureFrom(issuer) != nil {
			certificates = append(certificates, root...)
		}
		leaf = issuer
	}
	return certificates, root
}

// certnames are those in use: two requests for one would revoke each other's certificate.
type certnames struct{ inUse sync.Map } // by certnameAt

type certnameAt struct {
	authority client.ObjectKey
	certname  string
}

// take reserves a certname until release is called. free is false where it is in use.
func (c *certnames) take(authority client.ObjectKey, certname string) (release func(), free bool) {
	name := certnameAt{authority, certname}
	if _, taken := c.inUse.LoadOrStore(name, true); taken {
		return nil, false
	}
	return func() { c.inUse.Delete(name) }, true
}
