package issuing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/keyutil"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/csr"
)

// keyMaker makes keys, which takes seconds of a processor each: as many at a time as
// there are processors, or they would keep each other and admission waiting.
type keyMaker struct {
	bits  int
	slots chan struct{}
}

func newKeyMaker(bits int) *keyMaker {
	return &keyMaker{bits, make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// make is a new key in PEM. It waits for its turn.
func (m *keyMaker) make(ctx context.Context) ([]byte, error) {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
		return newKey(m.bits)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newKey makes a key in PEM. It takes seconds: never on a worker.
func newKey(bits int) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

// parseKey reads a private key of any kind in PEM.
func parseKey(text []byte) (crypto.Signer, error) {
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T signs nothing", key)
	}
	return signer, nil
}

// samePublic compares two public keys of any type.
func samePublic(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(b)
}

func encodeCertificate(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

// names splits dnsAltNames: agents look for addresses among addresses only.
func names(spec v1alpha1.CertificateSpec) (dns []string, ips []net.IP) {
	for _, name := range spec.DNSAltNames {
		if ip := net.ParseIP(name); ip != nil {
			ips = append(ips, ip)
		} else {
			dns = append(dns, name)
		}
	}
	return dns, ips
}

// extensions are those that a Certificate asks for, in the order of their OIDs.
func extensions(spec v1alpha1.CertificateSpec) ([]pkix.Extension, error) {
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

// newRequest is a request in PEM for what a Certificate wants.
func newRequest(spec v1alpha1.CertificateSpec, key crypto.Signer) ([]byte, error) {
	wanted, err := extensions(spec)
	if err != nil {
		return nil, err
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: spec.Certname}, ExtraExtensions: wanted}
	template.DNSNames, template.IPAddresses = names(spec)
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

// differs says what a certificate has otherwise than is wanted: "" where nothing.
func differs(certificate *x509.Certificate, spec v1alpha1.CertificateSpec) string {
	if certificate.Subject.CommonName != spec.Certname {
		return fmt.Sprintf("its common name is %q", certificate.Subject.CommonName)
	}
	dns, ips := names(spec)
	if !sameNames(certificate.DNSNames, dns, spec.Certname) {
		return fmt.Sprintf("its DNS names are %v", certificate.DNSNames)
	}
	if !sameNames(texts(certificate.IPAddresses), texts(ips), "") {
		return fmt.Sprintf("its IP addresses are %v", certificate.IPAddresses)
	}
	wanted, err := extensions(spec)
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

func texts(ips []net.IP) (out []string) {
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}

// sameNames compares sets. A CA may add the common name by itself.
func sameNames(have, want []string, own string) bool {
	has, wants := sets.New(have...), sets.New(want...)
	return has.IsSuperset(wants) && wants.Insert(own).IsSuperset(has)
}
