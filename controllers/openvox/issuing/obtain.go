package issuing

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// obtain requests a certificate for one key and accepts no other: any client that sent a request
// first would otherwise get the name. request is called if no request is pending.
func (i *issuance) obtain(ctx context.Context, certname string, public any, request func() ([]byte, error)) (*x509.Certificate, error) {
	a := i.authority
	if err := submitAndSign(ctx, a, certname, public, request); err != nil {
		return nil, err
	}
	certificate, err := a.Anyone.Certificate(ctx, certname)
	if err != nil {
		return nil, err
	}
	if layout.SamePublic(certificate.PublicKey, public) {
		return certificate, nil
	}
	if a.Admin != nil { // exchanged after we had looked
		if _, err := i.revoker.Revoke(ctx, a, certname, certificate, true); err != nil {
			return nil, err
		}
	}
	return nil, failure(reasonForeign, "the CA has signed another key under certname %s (serial %s), and the certificate is not stored; %s", certname, layout.Serial(certificate), a.ByHand(authority.CleanStep, certname, true))
}

// submitAndSign has the request of a key wait at the CA, and signs it.
func submitAndSign(ctx context.Context, a *authority.Connection, certname string, public any, request func() ([]byte, error)) error {
	waiting, err := a.Anyone.Request(ctx, certname)
	if errors.Is(err, puppet.ErrNotFound) {
		text, err := request()
		if err != nil {
			return failure(reasonFailed, "%w", err)
		}
		if err := a.Anyone.Submit(ctx, certname, text); err != nil {
			return err
		}
		if waiting, err = a.Anyone.Request(ctx, certname); errors.Is(err, puppet.ErrNotFound) {
			return nil // the CA may have signed it automatically: compare the certificate
		} else if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if !layout.SamePublic(waiting.PublicKey, public) {
		return failure(reasonForeign, "a request with another key waits at the CA under certname %s, and is not signed; %s", certname, a.ByHand(authority.WithdrawStep, certname, true))
	}
	if a.Admin == nil {
		return &authority.Problem{Phase: v1alpha1.CertificateWaitingForSigning, Reason: reasonWaiting, Err: fmt.Errorf(
			"the request waits at the CA, and there is no certificate to sign it with; %s", a.ByHand(authority.SignStep, certname, true))}
	}
	return a.Admin.Sign(ctx, certname)
}
