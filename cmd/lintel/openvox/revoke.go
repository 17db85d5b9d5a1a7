package openvox

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// confirmAfter is the time between two reads of the CRL that have to agree: a revocation by
// another client may overwrite the CA's CRL in between.
const confirmAfter = time.Second

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

// certnames is the cobra.Command.Args of commands that take at least one certname.
func certnames(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage.Errorf(cmd, "no certname is specified")
	}
	return validCertnames(cmd, args)
}

func validCertnames(cmd *cobra.Command, args []string) error {
	for _, name := range args {
		switch {
		case name == "ca":
			return usage.Errorf(cmd, "%q is the certificate of the CA itself", name)
		case !isCertname(name):
			return usage.Errorf(cmd, "%q is not a valid certname", name)
		}
	}
	return nil
}

// isCertname says whether a Puppet CA can have a certificate of this name.
func isCertname(name string) bool {
	return name != "" && strings.ToLower(name) == name && !strings.ContainsAny(name, "/\\ *?") && !strings.Contains(name, "..")
}

// target is a certname that is revoked or cleaned.
type target struct {
	certname    string
	certificate *x509.Certificate // nil where only a request waits
	listed      bool              // on the CRL
	failure     error             // why the last revocation was not carried out
}

func (t *target) String() string {
	return fmt.Sprintf("%s (serial %x)", t.certname, t.certificate.SerialNumber)
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

// revocation revokes certificates of one CA, and cleans them if wanted.
type revocation struct {
	*session
	force, clean bool
	out          io.Writer
}

func (r revocation) say(format string, args ...any) {
	fmt.Fprintln(r.out, report.Printable(fmt.Sprintf(format, args...)))
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

// protects is why a certname is not changed without --force: "" where no object protects it.
func (s *session) protects(name string) string {
	if certificate := s.certificates[name]; certificate != nil {
		return fmt.Sprintf("the certname belongs to Certificate %s; %s (--force acts at the CA all the same)", certificate.Name, s.instead(name))
	}
	if s.ca.Spec.External != nil {
		if server, err := url.Parse(s.ca.Spec.External.URL); err == nil && server.Hostname() == name {
			return "it is the name of the CA's own server, in spec.external.url; --force acts all the same"
		}
	}
	return ""
}

// instead is what to do about the certificate of a Certificate.
func (s *session) instead(name string) string {
	certificate := s.certificates[name]
	if certificate == nil {
		return "replace the Secret that spec.external.tlsSecretRef names first"
	}
	return fmt.Sprintf("kubectl delete certificates.openvox.voxpupuli.org %s -n %s revokes it, and kubectl delete secret %s -n %s replaces it",
		certificate.Name, s.ca.Namespace, layout.TLSSecret(certificate.Name), s.ca.Namespace)
}

// fingerprint is the SHA-256 of a certificate or request as a CA writes it.
func fingerprint(der []byte) string {
	return strings.ToUpper(strings.ReplaceAll(fmt.Sprintf("% x", sha256.Sum256(der)), " ", ":"))
}

// finishTimeout bounds the requests to the CA that follow the interruption of the command.
const finishTimeout = 30 * time.Second

// finishing is a context in which the results of a change are read: also after ctx has ended.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
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

// confirm reads the CRL twice: certificates are listed that both have.
func (r revocation) confirm(ctx context.Context, targets []*target) error {
	if err := r.look(ctx, targets); err != nil {
		return err
	}
	var first []*target
	for _, t := range targets {
		if t.listed {
			first = append(first, t)
		}
	}
	select {
	case <-time.After(r.pause):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.look(ctx, targets); err != nil {
		return err
	}
	for _, t := range targets {
		t.listed = t.listed && slices.Contains(first, t)
	}
	return nil
}

func (r revocation) look(ctx context.Context, targets []*target) error {
	lists, err := r.crl(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		t.listed = onCRL(lists, t.certificate, r.bundle)
	}
	return nil
}

func (s *session) crl(ctx context.Context) (puppet.CRLs, error) {
	text, _, err := s.admin.CRL(ctx, puppet.Version{})
	if err != nil {
		return nil, err
	}
	lists, err := puppet.ParseCRLs(text)
	if err == nil {
		err = lists.SignedBy(s.bundle)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CRL: %w", err)
	}
	return lists, nil
}

// onCRL says whether the CRL of the key that has signed a certificate lists it. Puppet servers
// write the issuer's name in another encoding than the CA's certificate may have.
func onCRL(lists puppet.CRLs, certificate *x509.Certificate, bundle []byte) bool {
	for _, issuer := range puppet.ParseBundle(bundle) {
		if certificate.CheckSignatureFrom(issuer) != nil {
			continue
		}
		for _, list := range lists {
			if list.CheckSignatureFrom(issuer) == nil && slices.ContainsFunc(list.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
				return e.SerialNumber.Cmp(certificate.SerialNumber) == 0
			}) {
				return true
			}
		}
	}
	return false
}

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
