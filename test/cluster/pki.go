package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
)

// serviceIP is the address of the kubernetes Service: the first of the range.
const (
	serviceRange = "10.96.0.0/16"
	serviceIP    = "10.96.0.1"
	validity     = 365 * 24 * time.Hour
)

// identity is a user that the API server knows by token.
type identity struct {
	file, user string
	groups     []string
}

// Components keep the users they have in a real cluster, so that policies see
// realistic names.
var (
	admin             = identity{"", "kubernetes-admin", []string{"system:masters"}}
	controllerManager = identity{"kube-controller-manager.kubeconfig", "system:kube-controller-manager", nil}
	scheduler         = identity{"kube-scheduler.kubeconfig", "system:kube-scheduler", nil}
	kwok              = identity{"kwok.kubeconfig", "system:node:" + nodeName, []string{"system:nodes", "system:masters"}}
	certManager       = identity{"cert-manager.kubeconfig", "system:serviceaccount:cert-manager:cert-manager", []string{"system:masters"}}
)

// writeCredentials creates everything the components authenticate with and the
// user's kubeconfig.
func writeCredentials(dir stateDir, server string) error {
	if err := os.MkdirAll(dir.path("pki"), 0o700); err != nil {
		return fmt.Errorf("creating the credentials folder: %w", err)
	}
	authority, err := writeCertificates(dir)
	if err != nil {
		return err
	}
	var tokens strings.Builder
	for _, id := range []identity{admin, controllerManager, scheduler, kwok, certManager} {
		token := randomToken()
		path := dir.path("pki", id.file)
		if id.file == "" {
			path = dir.kubeconfig()
		}
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, id.user, id.user, strings.Join(id.groups, ","))
		if err := writePrivate(path, kubeconfig(server, authority, id.user, token)); err != nil {
			return err
		}
	}
	return writePrivate(dir.path("pki", "tokens.csv"), []byte(tokens.String()))
}

// writeCertificates creates the cluster's CA, the API server's certificate and
// the key of service account tokens, and returns the CA as PEM.
func writeCertificates(dir stateDir) ([]byte, error) {
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "kubernetes"},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true,
	}
	authorityKey, err := writeKey(dir.path("pki", "ca.key"))
	if err != nil {
		return nil, err
	}
	authorityPEM, err := writeCertificate(dir.path("pki", "ca.crt"), authority, authority, authorityKey, authorityKey)
	if err != nil {
		return nil, err
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceIP)},
	}
	servingKey, err := writeKey(dir.path("pki", "apiserver.key"))
	if err != nil {
		return nil, err
	}
	if _, err := writeCertificate(dir.path("pki", "apiserver.crt"), serving, authority, servingKey, authorityKey); err != nil {
		return nil, err
	}
	_, err = writeKey(dir.path("pki", "service-account.key"))
	return authorityPEM, err
}

func writeKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return key, writePrivate(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func writeCertificate(path string, certificate, issuer *x509.Certificate, key, issuerKey *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, certificate, issuer, key.Public(), issuerKey)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", certificate.Subject.CommonName, err)
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return content, writePrivate(path, content)
}

func randomToken() string {
	token := make([]byte, 24)
	_, _ = rand.Read(token) // never fails: it would end the program instead
	return hex.EncodeToString(token)
}

func kubeconfig(server string, authority []byte, user, token string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: lintel
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %q
  user:
    token: %s
contexts:
- name: lintel
  context:
    cluster: lintel
    user: %q
current-context: lintel
`, server, base64.StdEncoding.EncodeToString(authority), user, token, user)
}
