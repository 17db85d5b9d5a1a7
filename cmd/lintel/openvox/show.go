package openvox

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/csr"
)

// detail is one certificate or request in full: the output of -o json and -o yaml.
type detail struct {
	entry
	Subject    string            `json:"subject"`
	PublicKey  string            `json:"publicKey"`
	Extensions map[string]string `json:"extensions,omitempty"`
	// OnCRL reports whether the CRL of the CA lists the certificate.
	OnCRL *bool  `json:"onCRL,omitempty"`
	PEM   string `json:"pem"`
}

func newShowCommand(o options) *cobra.Command {
	var format report.Format
	cmd := &cobra.Command{
		Use:   "show <certname>",
		Short: "Show one certificate or request in full",
		Long: `Show the certificate or the waiting request of a certname: subject, key, names, extensions,
fingerprint, the verdict of the signing policies on a request, and whether the CRL lists the
certificate.

Exit codes:
  0  the certificate or request was read
  1  the CA has neither a certificate nor a request for the certname
  2  the usage is wrong, or the cluster or the CA cannot be reached`,
		Example: `  lintel openvox ca show web1.example.com -n puppet

  # For other programs
  lintel openvox ca show web1.example.com -n puppet -o pem | openssl x509 -noout -text`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf(cmd, "give one certname")
			}
			return validCertnames(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Check(cmd); err != nil {
				return err
			}
			s, err := open(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer s.close()
			d, err := s.detail(cmd.Context(), args[0])
			if errors.Is(err, puppet.ErrNotFound) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: the CA has neither a certificate nor a request\n", args[0])
				return report.Denied
			}
			if err != nil {
				return err
			}
			switch format.Name() {
			case "json":
				return report.WriteJSON(cmd.OutOrStdout(), d)
			case "yaml":
				return writeYAML(cmd.OutOrStdout(), d)
			case "pem":
				return report.Write(cmd.OutOrStdout(), d.PEM)
			}
			return report.Write(cmd.OutOrStdout(), d.text())
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.addFlags(cmd)
	format.AddFlag(cmd, "text", "json", "yaml", "pem")
	return cmd
}

func (s *session) detail(ctx context.Context, name string) (detail, error) {
	status, err := s.admin.CertificateStatus(ctx, name)
	if err != nil {
		return detail{}, err
	}
	d := detail{entry: s.entry(status)}
	if status.State == puppet.StateRequested {
		text, err := s.admin.RequestText(ctx, name)
		if err != nil {
			return detail{}, err
		}
		block, _ := pem.Decode(text)
		if block == nil {
			return detail{}, errors.New("the CA's answer is not a certificate request in PEM")
		}
		rendered, policyErr := s.policies(ctx)
		d.Policies, d.Reasons = evaluate(ctx, name, text, rendered, policyErr)
		// Not the CA's own type and headers, which could be anything.
		d.PEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: block.Bytes}))
		d.describeRequest(csr.Parse(text))
		return d, nil
	}
	certificate, err := s.admin.Certificate(ctx, name)
	if err != nil {
		return detail{}, err
	}
	if fingerprint(certificate.Raw) != status.Fingerprint {
		return detail{}, fmt.Errorf("two answers of the CA about %s differ: its certificate has the fingerprint %s, and its status %.100q", name, fingerprint(certificate.Raw), status.Fingerprint)
	}
	lists, err := s.crl(ctx)
	if err != nil {
		return detail{}, err
	}
	listed := onCRL(lists, certificate, s.bundle)
	d.OnCRL = &listed
	d.describe(certificate)
	return d, nil
}

// describeRequest adds the contents of a request.
func (d *detail) describeRequest(request *csr.Request) {
	if request.Error != "" {
		d.Subject = "cannot be read: " + request.Error
		return
	}
	d.Subject = "CN=" + request.Subject.CommonName
	d.PublicKey = fmt.Sprintf("%s, %d bits", cmp.Or(request.PublicKey.Type, "unknown"), request.PublicKey.Bits)
	d.Extensions = map[string]string{}
	for _, e := range request.Extensions {
		if e.Name == "subjectAltName" {
			continue
		}
		d.Extensions[e.Name] = fmt.Sprintf("%x", e.DER)
		if e.Value != nil {
			d.Extensions[e.Name] = *e.Value
		}
	}
}

// describe adds the contents of a certificate.
func (d *detail) describe(certificate *x509.Certificate) {
	d.Subject = certificate.Subject.String()
	d.PEM = encodeCertificate(certificate)
	switch key := certificate.PublicKey.(type) {
	case *rsa.PublicKey:
		d.PublicKey = fmt.Sprintf("RSA, %d bits", key.N.BitLen())
	case *ecdsa.PublicKey:
		d.PublicKey = fmt.Sprintf("ECDSA, %d bits", key.Curve.Params().BitSize)
	default:
		d.PublicKey = certificate.PublicKeyAlgorithm.String()
	}
	d.Extensions = puppetExtensions(certificate.Extensions)
}

// puppetExtensions returns the values of Puppet's extensions by name or OID, without those of every
// certificate of a Puppet CA.
func puppetExtensions(all []pkix.Extension) map[string]string {
	names := map[string]string{}
	for name, oid := range csr.OIDsByName() {
		names[oid] = name
	}
	found := map[string]string{}
	for _, e := range all {
		const puppetArc = "1.3.6.1.4.1.34380.1."
		oid := e.Id.String()
		if !strings.HasPrefix(oid, puppetArc) {
			continue
		}
		var text string
		if rest, err := asn1.Unmarshal(e.Value, &text); err != nil || len(rest) > 0 {
			text = fmt.Sprintf("%x", e.Value)
		}
		found[cmp.Or(names[oid], oid)] = text
	}
	return found
}

func encodeCertificate(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

// text is the detail for a terminal.
func (d *detail) text() string {
	var out strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&out, "%-14s%s\n", name+":", report.Printable(value))
		}
	}
	instant := func(at *time.Time) string {
		if at == nil {
			return ""
		}
		return at.UTC().Format(time.RFC3339)
	}
	line("Certname", d.Certname)
	line("State", d.State)
	if d.OnCRL != nil {
		line("On the CRL", map[bool]string{true: "yes", false: "no"}[*d.OnCRL])
	}
	line("Serial", d.SerialNumber)
	line("Subject", d.Subject)
	line("Alt names", strings.Join(d.SubjectAltNames, ", "))
	line("Key", d.PublicKey)
	line("SHA256", d.Fingerprint)
	line("Not before", instant(d.NotBefore))
	line("Not after", instant(d.NotAfter))
	line("Certificate", d.Certificate)
	for _, name := range slices.Sorted(maps.Keys(d.Extensions)) {
		line("Extension", name+" = "+d.Extensions[name])
	}
	line("Policies", string(d.Policies))
	for _, reason := range d.Reasons {
		line("Reason", reason)
	}
	return out.String() + d.PEM
}
