package issuing

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// forgetOutdated withdraws requests of an earlier generation, and requests for a key that
// already has its certificate.
func (i *issuance) forgetOutdated(ctx context.Context, old *x509.Certificate) error {
	data, err := i.secrets.Owned(ctx, i.certificate, pendingSecret(i.certificate.Name))
	if err != nil {
		return err
	}
	key, err := parseKey(data[layout.KeyFile])
	if err != nil {
		return nil
	}
	used := old != nil && layout.SamePublic(old.PublicKey, key.Public())
	if !used && string(data[generationKey]) == i.generation() {
		return nil
	}
	if !used {
		forget, err := i.forgetting(ctx, key)
		if err != nil {
			return err
		}
		if forget != nil && i.authority.Admin == nil {
			return nil // the request stays: the signed certificate is compared with the desired one
		}
		if forget != nil {
			if err := forget(); err != nil {
				return err
			}
		}
	}
	return i.secrets.Remove(ctx, i.certificate, pendingSecret(i.certificate.Name))
}

// forgetting returns the call that removes everything the CA stores for a key, or nil if it
// stores nothing. Cleaning alone does not remove a pending request.
func (i *issuance) forgetting(ctx context.Context, key crypto.Signer) (func() error, error) {
	certname := i.certificate.Spec.Certname
	certificate, err := i.authority.Anyone.Certificate(ctx, certname)
	if err == nil {
		if !layout.SamePublic(certificate.PublicKey, key.Public()) {
			return nil, nil
		}
		return func() error {
			_, err := i.revoker.Revoke(ctx, i.authority, certname, certificate, true)
			return err
		}, nil
	}
	if !errors.Is(err, puppet.ErrNotFound) {
		return nil, err
	}
	request, err := i.authority.Anyone.Request(ctx, certname)
	if errors.Is(err, puppet.ErrNotFound) {
		return nil, nil
	}
	if err != nil || !layout.SamePublic(request.PublicKey, key.Public()) {
		return nil, err
	}
	return func() error { return i.authority.Admin.Withdraw(ctx, certname) }, nil
}

// withdrawForeign withdraws a foreign request for one of the operator's own certnames: any
// client that reaches the CA may send one.
func (i *issuance) withdrawForeign(ctx context.Context, key crypto.Signer) error {
	if !layout.IsOperators(i.certificate.Name) || i.authority.Admin == nil {
		return nil
	}
	waiting, err := i.authority.Anyone.Request(ctx, i.certificate.Spec.Certname)
	if errors.Is(err, puppet.ErrNotFound) || err == nil && layout.SamePublic(waiting.PublicKey, key.Public()) {
		return nil
	}
	if err != nil {
		return err
	}
	return i.authority.Admin.Withdraw(ctx, i.certificate.Spec.Certname)
}

// clean makes room for a certificate: only one of ours is revoked.
func (i *issuance) clean(ctx context.Context, has, old *x509.Certificate) error {
	certname := i.certificate.Spec.Certname
	ours, err := i.isOurs(ctx, has, old)
	if err != nil {
		return err
	}
	if !ours {
		return failure(reasonTaken, "the CA has a certificate for %s that this object has not asked for (serial %s); %s, or change spec.certname",
			certname, layout.Serial(has), i.authority.ByHand(authority.CleanStep, certname, true))
	}
	if i.authority.Admin == nil {
		return &authority.Problem{Phase: v1alpha1.CertificateWaitingForSigning, Reason: reasonWaiting, Err: fmt.Errorf(
			"the CA has the certificate that is to be replaced, and there is no certificate to revoke it with; %s", i.authority.ByHand(authority.CleanStep, certname, true))}
	}
	listed, err := i.revoker.Revoke(ctx, i.authority, certname, has, true)
	switch {
	case err != nil:
		return err
	case !listed:
		i.unconfirmed(has)
	case i.whyReissued != "":
		i.tell(false, reasonReissued, "%s: the certificate is revoked and issued again, and both are not valid in between", i.whyReissued)
	}
	return nil
}

func (i *issuance) isOurs(ctx context.Context, has, old *x509.Certificate) (bool, error) {
	certname, ca := i.certificate.Spec.Certname, i.certificate.Spec.AuthorityRef
	if old != nil && has.Equal(old) || layout.Serial(has) == i.certificate.Status.SerialNumber ||
		certname == rules.OperatorCertname(ca) || certname == rules.StandbyCertname(ca) { // reserved for the operator
		return true, nil
	}
	return i.revoker.WasRevoked(ctx, i.authority.CA, has)
}

// revoke revokes the certificate of an object that is being deleted, and nothing else that the
// CA stores under the name.
func (i *issuance) revoke(ctx context.Context) error {
	if i.authority.Admin == nil {
		return nil
	}
	has, err := i.authority.Anyone.Certificate(ctx, i.certificate.Spec.Certname)
	if errors.Is(err, puppet.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if ours, err := i.isOurs(ctx, has, nil); err != nil || !ours {
		return err
	}
	listed, err := i.revoker.Revoke(ctx, i.authority, i.certificate.Spec.Certname, has, false)
	if err != nil {
		return err
	}
	if !listed {
		i.unconfirmed(has)
		return nil
	}
	i.tell(false, "CertificateCleaned", "the certificate of %s is revoked", i.certificate.Spec.Certname)
	return nil
}

// unconfirmed reports a revocation that the CRL does not show.
func (i *issuance) unconfirmed(revoked *x509.Certificate) {
	i.tell(true, authority.ReasonUnconfirmed, "%s", authority.Unconfirmed(i.certificate.Spec.Certname, revoked))
}
