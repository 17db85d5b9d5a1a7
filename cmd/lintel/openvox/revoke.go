package openvox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

const revokeExitCodes = `Exit codes:
  0  all is done, and the CRL lists each certificate
  1  something was not done, or a revocation is not on the CRL
  2  the usage is wrong, or the cluster or the CA cannot be reached`

func newRevokeCommand(o options) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "revoke <certname>...",
		Short: "Revoke certificates",
		Long: `Revoke certificates, and check that the CRL of the CA lists each of them.

The CA keeps the files of the certificates: until a certname is cleaned, the CA accepts no
request for it. The command revokes nothing unless it can revoke all certnames. A Puppet CA
loses overlapping revocations, and still answers 200. The command revokes a certificate that
the CRL lacks once more, and reports it if the CRL still lacks it.

The certificates of Certificates, of the CA's server and of administrators of the CA are
revoked with --force only. Delete the Certificate instead.

` + revokeExitCodes,
		Example: `  lintel openvox ca revoke web1.example.com web2.example.com -n puppet`,
		Args:    certnames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRevocation(cmd, o, args, force, false)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also revoke protected certificates")
	return cmd
}

func newCleanCommand(o options) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "clean <certname>...",
		Short: "Revoke certificates and remove them from the CA, so that their certnames are free",
		Long: `Revoke certificates and remove them from the CA, so that an agent may request a certificate for
the certname again. Waiting requests are removed, too.

The command revokes the certificates first, and removes them in one call when two CRLs list
them, because the CA cannot revoke a certificate without its file. A certificate that the CRL
lacks stays at the CA. The command changes nothing unless it can clean all certnames.

Afterwards, the command reads the CRL again. If the CRL has lost a revocation, because another
client has revoked at the same time, the command prints the certificate. With this file, the CA
can revoke it again.

The certificates of Certificates, of the CA's server and of administrators of the CA are
cleaned with --force only. Delete the Certificate instead.

` + revokeExitCodes,
		Example: `  # A node was reinstalled, or is gone
  lintel openvox ca clean web1.example.com -n puppet`,
		Args: certnames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRevocation(cmd, o, args, force, true)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also clean protected certificates")
	return cmd
}

func runRevocation(cmd *cobra.Command, o options, names []string, force, clean bool) error {
	ctx := cmd.Context()
	s, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	r := revocation{session: s, force: force, clean: clean, out: cmd.OutOrStdout()}
	return r.run(ctx, names)
}

func (r revocation) run(ctx context.Context, names []string) error {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	var targets []*target
	var problems []error
	for _, name := range names {
		t, err := r.target(ctx, name)
		if puppet.Unanswered(err) {
			return err
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		targets = append(targets, t)
	}
	if len(problems) > 0 {
		for _, problem := range problems {
			r.say("%v", problem)
		}
		r.say("nothing is changed")
		return report.Denied
	}
	complete, err := r.revokeAll(ctx, targets)
	if err == nil && r.clean {
		var cleaned bool
		cleaned, err = r.cleanAll(ctx, targets)
		complete = complete && cleaned
	}
	if err != nil {
		return fmt.Errorf("%w; the certnames above are done, see also `lintel openvox ca list`", err)
	}
	if !complete {
		return report.Denied
	}
	return nil
}

// target looks at what the CA has for a certname, in two answers that have to agree.
func (r revocation) target(ctx context.Context, name string) (*target, error) {
	status, err := r.admin.CertificateStatus(ctx, name)
	if errors.Is(err, puppet.ErrNotFound) {
		return nil, errors.New("the CA has neither a certificate nor a request")
	}
	if err != nil {
		return nil, err
	}
	if status.State == puppet.StateRequested { // also for the certname of a Certificate, which sends its own again
		if !r.clean {
			return nil, errors.New("the CA has no certificate, only a request that waits; `clean` removes it")
		}
		return &target{certname: name}, nil
	}
	if why := r.protects(name); why != "" && !r.force {
		return nil, errors.New(why)
	}
	certificate, err := r.admin.Certificate(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case fingerprint(certificate.Raw) != status.Fingerprint:
		return nil, fmt.Errorf("two answers of the CA differ: its certificate has the fingerprint %s, and its status %.100q", fingerprint(certificate.Raw), status.Fingerprint)
	case certificate.Subject.CommonName != name || certificate.IsCA || !layout.IssuedBy(certificate, r.bundle):
		return nil, fmt.Errorf("the CA's answer is not a certificate of this CA for the certname, but of %q", certificate.Subject)
	case certificate.Equal(r.own):
		return nil, errors.New("this command uses that certificate to administer the CA; " + r.instead(name))
	case layout.Authorization(certificate) != "" && !r.force:
		return nil, fmt.Errorf("the certificate has rights at the CA (extension %s); --force revokes it all the same", layout.Authorization(certificate))
	}
	return &target{certname: name, certificate: certificate}, nil
}

// revokeAll revokes certificates one after the other, and reports for each whether two CRLs list
// it, also after errors. The error is of a CA that cannot be reached.
func (r revocation) revokeAll(ctx context.Context, targets []*target) (complete bool, err error) {
	var revoking []*target
	for _, t := range targets {
		if t.certificate != nil {
			revoking = append(revoking, t)
		}
	}
	if len(revoking) == 0 {
		return true, nil
	}
	if err := r.look(ctx, revoking); err != nil {
		return false, err
	}
	var unread error
	const tries = 2
	for range tries {
		waiting := slices.DeleteFunc(slices.Clone(revoking), func(t *target) bool { return t.listed })
		if len(waiting) == 0 {
			break
		}
		for _, t := range waiting {
			if t.failure = ctx.Err(); t.failure == nil {
				t.failure = r.revoke(ctx, t)
			}
		}
		reading, done := finishing(ctx)
		unread = r.confirm(reading, revoking)
		done()
		if unread != nil || ctx.Err() != nil {
			break
		}
	}
	complete = true
	for _, t := range revoking {
		switch {
		case unread != nil && t.failure != nil:
			r.say("%s: NOT known to be revoked, because the CRL cannot be read, and the revocation has failed: %v", t, t.failure)
		case unread != nil:
			r.say("%s: NOT known to be revoked, because the CRL cannot be read; the CA has answered that it is", t)
		case t.listed:
			r.say("%s: revoked, and on the CRL", t)
			continue
		case t.failure != nil:
			r.say("%s: NOT revoked: %v", t, t.failure)
			if puppet.Unanswered(t.failure) || ctx.Err() != nil {
				err = errors.Join(err, t.failure)
			}
		default:
			r.say("%s: NOT revoked: the CA has answered that it is, and its CRL lacks it. Servers accept the certificate. The CA may publish the CRL of infrastructure nodes only (enable-infra-crl), or something overwrites its CRL", t)
		}
		complete = false
	}
	return complete, errors.Join(unread, err)
}

// revoke revokes the certificate of a target, and not another one that has its certname now: the
// CA revokes by certname.
func (r revocation) revoke(ctx context.Context, t *target) error {
	has, err := r.admin.Certificate(ctx, t.certname)
	switch {
	case errors.Is(err, puppet.ErrNotFound):
		return errors.New("the CA no longer has its file, so it cannot revoke it; another client has cleaned the certname")
	case err != nil:
		return err
	case !has.Equal(t.certificate):
		return fmt.Errorf("the certname has another certificate now (serial %x), which is left alone; the CA revokes by certname and cannot revoke the earlier one", has.SerialNumber)
	}
	return r.admin.Revoke(ctx, t.certname)
}
