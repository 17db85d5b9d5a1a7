package layout

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/csr"
)

// AltNames splits dnsAltNames: agents look for addresses among addresses only.
func AltNames(spec v1alpha1.CertificateSpec) (dns []string, ips []net.IP) {
	for _, name := range spec.DNSAltNames {
		if ip := net.ParseIP(name); ip != nil {
			ips = append(ips, ip)
		} else {
			dns = append(dns, name)
		}
	}
	return dns, ips
}

// Extensions are those that a Certificate asks for, in the order of their OIDs.
func Extensions(spec v1alpha1.CertificateSpec) ([]pkix.Extension, error) {
	if spec.CSRExtensions == nil {
		return nil, nil
	}
	byName := map[string]string{}
	maps.Copy(byName, spec.CSRExtensions.CustomExtensions)
	for name, value := range map[string]string{"pp_role": spec.CSRExtensions.PPRole, "pp_environment": spec.CSRExtensions.PPEnvironment} {
		if value != "" {
			byName[name] = value
		}
	}
	if spec.CSRExtensions.PPCLIAuth {
		byName["pp_cli_auth"] = "true"
	}
	var wanted []pkix.Extension
	for name, text := range byName {
		oid, ok := csr.OID(name)
		if !ok {
			return nil, fmt.Errorf("there is no extension %q", name)
		}
		value, err := asn1.MarshalWithParams(text, "utf8")
		if err != nil {
			return nil, fmt.Errorf("writing extension %s: %w", oid, err)
		}
		wanted = append(wanted, pkix.Extension{Id: oid, Value: value})
	}
	slices.SortFunc(wanted, func(a, b pkix.Extension) int { return strings.Compare(a.Id.String(), b.Id.String()) })
	return wanted, nil
}

// Difference says what a certificate has otherwise than is wanted: "" where nothing.
func Difference(certificate *x509.Certificate, spec v1alpha1.CertificateSpec) string {
	if certificate.Subject.CommonName != spec.Certname {
		return fmt.Sprintf("its common name is %q", certificate.Subject.CommonName)
	}
	dns, ips := AltNames(spec)
	if !SameNames(certificate.DNSNames, dns, spec.Certname) {
		return fmt.Sprintf("its DNS names are %v", certificate.DNSNames)
	}
	if !SameNames(IPTexts(certificate.IPAddresses), IPTexts(ips), "") {
		return fmt.Sprintf("its IP addresses are %v", certificate.IPAddresses)
	}
	wanted, err := Extensions(spec)
	if err != nil {
		return err.Error()
	}
	for _, want := range wanted {
		if !slices.ContainsFunc(certificate.Extensions, func(e pkix.Extension) bool {
			return e.Id.Equal(want.Id) && bytes.Equal(e.Value, want.Value)
		}) {
			return fmt.Sprintf("its extension %s is another", want.Id)
		}
	}
	return ""
}

// IPTexts writes addresses.
func IPTexts(ips []net.IP) (out []string) {
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}

// SameNames compares sets. A CA may add the common name by itself.
func SameNames(have, want []string, own string) bool {
	has, wants := sets.New(have...), sets.New(want...)
	return has.IsSuperset(wants) && wants.Insert(own).IsSuperset(has)
}
