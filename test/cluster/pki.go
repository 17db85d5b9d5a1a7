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
	kubelet           = identity{"kubelet.kubeconfig", "system:node:" + nodeName, []string{"system:nodes"}}
	kubeProxy         = identity{"kube-proxy.kubeconfig", "system:kube-proxy", nil}
	certManager       = identity{"cert-manager.kubeconfig", "system:serviceaccount:cert-manager:cert-manager", []string{"system:masters"}}
)

// writeCredentials creates everything the components authenticate with and the
// user's kubeconfig.
func writeCredentials(dir stateDir, server string) error {
	if err := os.MkdirAll(dir.path("pki"), 0o700); err != nil {
		return fmt.Errorf("creating the credentials folder: %w", err)
	}
	authority, err := writePKI(dir)
	if err != nil {
		return err
	}
	var tokens strings.Builder
	for _, id := range []identity{admin, controllerManager, scheduler, kwok, kubelet, kubeProxy, certManager} {
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

// writePKI creates the cluster's CA, what API server and kubelet show to
// their clients and to each other, and the key of service account tokens, and
// returns the CA as PEM.
func writePKI(dir stateDir) ([]byte, error) {
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
	for i, leaf := range []struct {
		file    string
		subject pkix.Name
		usage   x509.ExtKeyUsage
		names   []string
		ips     []net.IP
	}{
		{
			"apiserver", pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth,
			[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			[]net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceIP), net.ParseIP(nodeIP)},
		},
		{
			"kubelet", pkix.Name{CommonName: "system:node:" + nodeName, Organization: []string{"system:nodes"}},
			x509.ExtKeyUsageServerAuth, []string{nodeName}, []net.IP{net.ParseIP(nodeIP)},
		},
		{
			"apiserver-kubelet-client",
			pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}},
			x509.ExtKeyUsageClientAuth, nil, nil,
		},
	} {
		key, err := writeKey(dir.path("pki", leaf.file+".key"))
		if err != nil {
			return nil, err
		}
		certificate := &x509.Certificate{
			SerialNumber: big.NewInt(int64(2 + i)),
			Subject:      leaf.subject,
			NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(validity),
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{leaf.usage},
			DNSNames:    leaf.names, IPAddresses: leaf.ips,
		}
		if _, err := writeCertificate(dir.path("pki", leaf.file+".crt"), certificate, authority, key, authorityKey); err != nil {
			return nil, err
		}
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
