package openvox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// cleanAll removes what the CA has for the certnames: revoked certificates in one call. Like
// revokeAll, it reports each certname, also after errors.
func (r revocation) cleanAll(ctx context.Context, targets []*target) (complete bool, err error) {
	var cleaning []*target
	complete = true
	failed := func(name any, problem error) {
		complete = false
		r.say("%v: NOT cleaned: %v", name, problem)
		if puppet.Unanswered(problem) || ctx.Err() != nil {
			err = errors.Join(err, problem)
		}
	}
	for _, t := range targets {
		switch {
		case t.certificate == nil:
			if problem := r.withdraw(ctx, t.certname); problem != nil {
				failed(t.certname, problem)
			}
		case t.listed:
			// Another one may have taken the place of the one that was revoked.
			has, problem := r.admin.Certificate(ctx, t.certname)
			switch {
			case errors.Is(problem, puppet.ErrNotFound): // cleaned by another client, which may have overwritten the CRL
				cleaning = append(cleaning, t)
			case problem != nil:
				failed(t, problem)
			case !has.Equal(t.certificate):
				failed(t, fmt.Errorf("the CA has another certificate now (serial %x)", has.SerialNumber))
			default:
				cleaning = append(cleaning, t)
			}
		default:
			failed(t, errors.New("the CA could not revoke it again without its file"))
		}
	}
	if len(cleaning) == 0 {
		return complete, err
	}
	var names []string
	for _, t := range cleaning {
		names = append(names, t.certname)
	}
	problem := r.admin.Clean(ctx, names...)
	reading, done := finishing(ctx)
	defer done()
	// Clean has written the CRL once more, and so may have other clients: only now is it final,
	// because the files are gone.
	unread := r.confirm(reading, cleaning)
	for _, t := range cleaning {
		complete = r.cleaned(reading, t, problem, unread) && complete
	}
	return complete, errors.Join(err, problem, unread)
}

// cleaned reports one certificate after it was cleaned. problem is of the call that cleans, and
// unread of the CRL.
func (r revocation) cleaned(ctx context.Context, t *target, problem, unread error) bool {
	_, err := r.admin.CertificateStatus(ctx, t.certname)
	gone := errors.Is(err, puppet.ErrNotFound)
	switch {
	case gone && t.listed && unread == nil:
		r.say("%s: cleaned", t.certname)
		return true
	case gone, err != nil:
		state := map[bool]string{true: "removed from the CA", false: "may be removed from the CA: " + fmt.Sprint(err)}[gone]
		switch {
		case unread != nil:
			r.say("%s: %s, and NOT known to be revoked, because the CRL cannot be read: %v", t, state, unread)
		case !t.listed:
			r.say("%s: %s, and NO LONGER REVOKED: the CRL listed it before it was cleaned, and lacks it now, because another revocation has overwritten the CRL. Servers accept the certificate", t, state)
		default:
			r.say("%s: %s; it is on the CRL", t, state)
			return false
		}
		// Without this file nothing can revoke the certificate.
		r.say("%s: to revoke it, put this file back as signed/%s.pem in the CA's directory, and revoke the certname:", t.certname, t.certname)
		fmt.Fprint(r.out, encodeCertificate(t.certificate))
	case problem != nil:
		r.say("%s: NOT cleaned: %v", t.certname, problem)
	default:
		r.say("%s: NOT cleaned: the CA has answered that it is, and still has a certificate or a request", t.certname)
	}
	return false
}

// withdraw removes the request that waits for a certname.
func (r revocation) withdraw(ctx context.Context, name string) error {
	err := r.admin.Withdraw(ctx, name)
	if errors.Is(err, puppet.ErrSigned) {
		return errors.New("the CA has signed the request in the meantime, and the certificate is valid; clean the certname again to revoke it")
	}
	if err != nil {
		return err
	}
	// A hook that was evaluating the request may sign it all the same.
	select {
	case <-time.After(r.pause):
	case <-ctx.Done():
		return ctx.Err()
	}
	status, err := r.admin.CertificateStatus(ctx, name)
	switch {
	case errors.Is(err, puppet.ErrNotFound):
		r.say("%s: cleaned", name)
		return nil
	case err != nil:
		return err
	case status.State == puppet.StateRequested:
		return errors.New("the CA has answered that the request is removed, and one waits")
	}
	return errors.New("the CA has signed the request while it was removed, and the certificate is valid; clean the certname again to revoke it")
}
