package openvox

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

func newSignCommand(o options) *cobra.Command {
	var all, override bool
	cmd := &cobra.Command{
		Use:   "sign (<certname>... | --all)",
		Short: "Sign waiting requests",
		Long: `Sign waiting requests that the signing policies permit now.

To sign a request that the policies refuse, name it and use --override. The command prints the
reasons, and records them in an Event of the CertificateAuthority before it signs, so the user
needs permission to create Events. Requests for the certname of a Certificate are never
signed.

The command signs only the request that it has evaluated. If the CA has signed another key,
other names or other extensions for the certname, the command revokes that certificate.

Exit codes:
  0  all is signed
  1  something was not signed
  2  the usage is wrong, or the cluster or the CA cannot be reached`,
		Example: `  # Sign all requests that the policies permit now
  lintel openvox ca sign --all -n puppet

  # In spite of the policies
  lintel openvox ca sign web1.example.com --override -n puppet`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usage.Errorf(cmd, "give certnames or --all, not both")
			case all && override:
				return usage.Errorf(cmd, "--override needs certnames, and not --all")
			case !all && len(args) == 0:
				return usage.Errorf(cmd, "no certname is specified; --all signs the requests that the signing policies permit")
			}
			return validCertnames(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := open(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer s.close()
			return requestSigner{s, override, all, cmd.OutOrStdout()}.run(cmd.Context(), args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "sign all requests that the signing policies permit")
	cmd.Flags().BoolVar(&override, "override", false, "sign in spite of the signing policies")
	return cmd
}

// requestSigner signs requests of one CA.
type requestSigner struct {
	*session
	override, all bool
	out           io.Writer
}

func (s requestSigner) say(format string, args ...any) {
	fmt.Fprintln(s.out, report.Printable(fmt.Sprintf(format, args...)))
}

func (s requestSigner) run(ctx context.Context, names []string) error {
	if s.all {
		statuses, err := s.admin.CertificateStatuses(ctx)
		if err != nil {
			return err
		}
		for _, status := range statuses {
			if status.State == puppet.StateRequested {
				names = append(names, status.Name)
			}
		}
		if len(names) == 0 {
			s.say("no request waits")
			return nil
		}
	}
	names = slices.Clone(names)
	slices.Sort(names)
	rendered, policyErr := s.policies(ctx)
	complete := true
	for _, name := range slices.Compact(names) {
		err := s.sign(ctx, name, rendered, policyErr)
		if puppet.Unanswered(err) {
			return err
		}
		if err != nil {
			complete = false
			s.say("%s: not signed: %v", name, err)
		}
	}
	if !complete {
		return report.Denied
	}
	return nil
}

// sign signs one request. The error is the reason if it does not.
func (s requestSigner) sign(ctx context.Context, name string, rendered signing.Rendered, policyErr error) error {
	text, err := s.admin.RequestText(ctx, name)
	if errors.Is(err, puppet.ErrNotFound) {
		if certificate, err := s.admin.Certificate(ctx, name); err == nil {
			return fmt.Errorf("it has a certificate already (serial %x)", certificate.SerialNumber)
		}
		return errors.New("no request waits")
	}
	if err != nil {
		return err
	}
	if certificate := s.certificates[name]; certificate != nil {
		return fmt.Errorf("the certname belongs to Certificate %s, whose controller signs its own requests only; `clean` removes a foreign one", certificate.Name)
	}
	request, err := readRequest(text, name)
	if err != nil {
		return err
	}
	status, err := s.admin.CertificateStatus(ctx, name)
	if err != nil {
		return err
	}
	if status.State != puppet.StateRequested || status.Fingerprint != fingerprint(request.Raw) {
		return fmt.Errorf("two answers of the CA differ: the request has the fingerprint %s, and its status has %s %.100q", fingerprint(request.Raw), status.State, status.Fingerprint)
	}
	v, reasons := evaluate(ctx, name, text, rendered, policyErr)
	switch {
	case v == permitted:
	case !s.override && v == refused:
		return fmt.Errorf("the signing policies refuse it: %s (--override signs it all the same)", strings.Join(reasons, "; "))
	case !s.override:
		return fmt.Errorf("the signing policies cannot be evaluated: %s (--override signs it all the same)", strings.Join(reasons, "; "))
	}
	if v != permitted {
		if err := s.record(ctx, name, request, reasons); err != nil {
			return fmt.Errorf("no Event could be created that records the decision against the signing policies: %w", err)
		}
		s.say("%s: the signing policies are overridden: %s", name, strings.Join(reasons, "; "))
	}
	signErr := s.admin.Sign(ctx, name)
	if signErr != nil && !puppet.Unanswered(signErr) && ctx.Err() == nil {
		return signErr
	}
	// Without an answer, the CA may have signed all the same.
	reading, done := finishing(ctx)
	defer done()
	certificate, err := s.admin.Certificate(reading, name)
	switch {
	case errors.Is(err, puppet.ErrNotFound) && signErr != nil:
		return fmt.Errorf("%w; the CA had no certificate for %s afterwards, and may sign it yet", signErr, name)
	case errors.Is(err, puppet.ErrNotFound):
		return errors.New("the CA has answered that it is, and has no certificate")
	case err != nil:
		return fmt.Errorf("%w; whether the CA has signed the request of %s that was evaluated is unknown: see `lintel openvox ca show %s`", errors.Join(signErr, err), name, name)
	}
	if difference := differs(certificate, request); difference != "" {
		return s.reject(reading, name, certificate, difference)
	}
	if !layout.IssuedBy(certificate, s.bundle) {
		return fmt.Errorf("the CA's answer is a certificate that this CA has not signed (serial %x)", certificate.SerialNumber)
	}
	s.say("%s: signed, serial %x, until %s", name, certificate.SerialNumber, certificate.NotAfter.UTC().Format(time.DateOnly))
	return nil
}

// differs describes how a certificate differs from a request, or returns "". A Puppet CA adds the
// certname to the DNS names, and copies Puppet's extensions.
func differs(certificate *x509.Certificate, request *x509.CertificateRequest) string {
	name := request.Subject.CommonName
	names := func(dns []string, addresses []net.IP, mails []string, uris []*url.URL) []string {
		found := []string{"DNS:" + name}
		for _, one := range dns {
			found = append(found, "DNS:"+one)
		}
		for _, one := range addresses {
			found = append(found, "IP:"+one.String())
		}
		for _, one := range mails {
			found = append(found, "email:"+one)
		}
		for _, one := range uris {
			found = append(found, "URI:"+one.String())
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	has := names(certificate.DNSNames, certificate.IPAddresses, certificate.EmailAddresses, certificate.URIs)
	wants := names(request.DNSNames, request.IPAddresses, request.EmailAddresses, request.URIs)
	hasExtensions, wantsExtensions := puppetExtensions(certificate.Extensions), puppetExtensions(request.Extensions)
	switch {
	case !bytes.Equal(certificate.RawSubjectPublicKeyInfo, request.RawSubjectPublicKeyInfo):
		return "another key"
	case certificate.Subject.CommonName != name || certificate.IsCA:
		return fmt.Sprintf("a certificate for %q (of a CA: %t)", certificate.Subject, certificate.IsCA)
	case !slices.Equal(has, wants):
		return fmt.Sprintf("other names (%s, and not %s)", strings.Join(has, ", "), strings.Join(wants, ", "))
	case !maps.Equal(hasExtensions, wantsExtensions):
		return fmt.Sprintf("other extensions (%v, and not %v)", hasExtensions, wantsExtensions)
	}
	return ""
}

// reject revokes a certificate that is not that of the request that was evaluated, if two answers
// of the CA agree that it has it.
func (s requestSigner) reject(ctx context.Context, name string, certificate *x509.Certificate, difference string) error {
	problem := fmt.Errorf("the CA has signed something else than the request that was evaluated: %s; the certificate has the serial %x", difference, certificate.SerialNumber)
	status, err := s.admin.CertificateStatus(ctx, name)
	if err == nil && (status.Fingerprint != fingerprint(certificate.Raw) || !layout.IssuedBy(certificate, s.bundle)) {
		err = errors.New("two answers of the CA differ, or the certificate is of another CA")
	}
	complete := false
	if err == nil {
		complete, err = revocation{session: s.session, out: s.out}.revokeAll(ctx, []*target{{certname: name, certificate: certificate}})
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; it is NOT known to be revoked: %w", problem, err)
	case !complete:
		return fmt.Errorf("%w; it is NOT revoked, see above", problem)
	}
	return fmt.Errorf("%w; it is revoked", problem)
}

// readRequest reads a request in PEM, which is for a certname and has its own signature.
func readRequest(text []byte, name string) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the CA's answer is not a certificate request in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the certificate request cannot be read: %w", err)
	}
	if request.Subject.CommonName != name {
		return nil, fmt.Errorf("the request is for %q", request.Subject.CommonName)
	}
	return request, nil
}

// record creates an Event about a decision against the policies, as the user who decided.
func (s requestSigner) record(ctx context.Context, name string, request *x509.CertificateRequest, reasons []string) error {
	const longest = 1024
	message := fmt.Sprintf("a user signs the request of %s (SHA256 %s) in spite of the signing policies: %s", name, fingerprint(request.Raw), strings.Join(reasons, "; "))
	now := metav1.Now()
	return s.kube.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ca.Namespace, GenerateName: s.ca.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "CertificateAuthority", Namespace: s.ca.Namespace, Name: s.ca.Name, UID: s.ca.UID,
		},
		Type: corev1.EventTypeWarning, Reason: "SigningPoliciesOverridden", Message: strings.ToValidUTF8(message[:min(len(message), longest)], ""),
		Source: corev1.EventSource{Component: "lintel"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	})
}
