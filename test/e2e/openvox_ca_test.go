package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/test/puppetca"
)

// sharedCA is a real Puppet CA that several tests use.
type sharedCA struct {
	*puppetca.CA
	// policies is the file that its autosign hook reads.
	policies string
}

// openVoxFolder has the files of what outlives a test, and openVoxContext ends with the run.
var (
	openVoxFolder  string
	openVoxContext context.Context
)

// puppetCA starts the CA on first use, and returns it once it answers.
var puppetCA = sync.OnceValues(func() (*sharedCA, error) {
	hook, policies := filepath.Join(openVoxFolder, "autosign"), filepath.Join(openVoxFolder, "signing-policies.yaml")
	if err := writeHook(hook, policies); err != nil {
		return nil, err
	}
	dir := filepath.Join(openVoxFolder, "ca")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	ca, err := puppetca.Start(openVoxContext, puppetca.Options{Dir: dir, Name: "ca.example.com", Operator: "main-operator", Autosign: hook})
	if err != nil {
		return nil, err
	}
	return &sharedCA{ca, policies}, nil
})

// authorityMain makes the CA the CertificateAuthority main of a namespace.
func authorityMain(t *testing.T, namespace string) *sharedCA {
	t.Helper()
	ca, err := puppetCA()
	require.NoError(t, err)
	folder := t.TempDir()
	certificate, key, err := ca.ServerPair()
	require.NoError(t, err)
	for name, text := range map[string][]byte{"cert": certificate, "key": key} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	mustKubectl(t, "", "create", "secret", "generic", "puppet-ca", "-n", namespace, "--from-file=ca_crt.pem="+filepath.Join(ca.Dir, "ca", "ca_crt.pem"))
	mustKubectl(t, "", "create", "secret", "tls", "ca-admin", "-n", namespace, "--cert="+filepath.Join(folder, "cert"), "--key="+filepath.Join(folder, "key"))
	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"CertificateAuthority","metadata":{"name":"main","namespace":%q},
		"spec":{"crlRefreshInterval":"1s","external":{"url":%q,"caSecretRef":"puppet-ca","tlsSecretRef":"ca-admin"}}}`, namespace, ca.URL), "apply", "-f", "-")
	return ca
}

// autosignHook is a program by which a CA asks openvox-autosign about the policies of a
// file.
func autosignHook(t *testing.T) (hook, policies string) {
	t.Helper()
	folder := t.TempDir()
	hook, policies = filepath.Join(folder, "autosign"), filepath.Join(folder, "signing-policies.yaml")
	require.NoError(t, writeHook(hook, policies))
	return hook, policies
}

func writeHook(hook, policies string) error {
	return os.WriteFile(hook, fmt.Appendf(nil, "#!/bin/sh\nexec %s --config %s \"$@\"\n", filepath.Join(programs, "openvox-autosign"), policies), 0o755)
}

func certificateObject(namespace, name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"Certificate","metadata":{"name":%q,"namespace":%q},"spec":%s}`, name, namespace, spec)
}

// waitSigned waits until a Certificate of its current generation is signed, and is that.
func waitSigned(t *testing.T, namespace, name string, good func(*x509.Certificate) bool) *x509.Certificate {
	t.Helper()
	var leaf *x509.Certificate
	last := ""
	defer func() {
		if t.Failed() {
			t.Logf("the last of it: %s", last)
		}
	}()
	eventually(t, func() bool {
		last, _ = get(t, "certificates.openvox.voxpupuli.org", name, "-n", namespace, "-o", "json")
		var object v1alpha1.Certificate
		if json.Unmarshal([]byte(last), &object) != nil || object.Status.Phase != v1alpha1.CertificateSigned || object.Status.ObservedGeneration != object.Generation {
			return false
		}
		pair, err := tls.X509KeyPair(secretValue(t, namespace, name+"-tls", "cert.pem"), secretValue(t, namespace, name+"-tls", "key.pem"))
		if err != nil {
			return false
		}
		leaf = pair.Leaf
		return good == nil || good(leaf)
	}, "Certificate "+name+" to be signed")
	return leaf
}

func secretValue(t *testing.T, namespace, name, key string) []byte {
	t.Helper()
	output, ok := get(t, "secret", name, "-n", namespace, "-o", "jsonpath={.data."+strings.ReplaceAll(key, ".", `\.`)+"}")
	if !ok {
		return nil
	}
	text, err := base64.StdEncoding.DecodeString(output)
	require.NoError(t, err)
	return text
}

// TestOpenVoxCertificatesOfAPuppetCA is the life of certificates at a real Puppet CA.
func TestOpenVoxCertificatesOfAPuppetCA(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	ca := authorityMain(t, namespace)
	bundle, err := ca.Certificate()
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(bundle))

	mustKubectl(t, certificateObject(namespace, "web", `{"authorityRef":"main","certname":"web.example.com","dnsAltNames":["www.example.com","10.0.0.1"],"csrExtensions":{"ppRole":"web","customExtensions":{"pp_project":"x"}}}`), "apply", "-f", "-")
	first := waitSigned(t, namespace, "web", nil)
	_, err = first.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	require.NoError(t, err)
	require.NoError(t, first.VerifyHostname("www.example.com"))
	require.NoError(t, first.VerifyHostname("10.0.0.1"), "an address is one, not a DNS name")
	require.Empty(t, secretValue(t, namespace, "web-tls-pending", "key.pem"))

	// A change of the spec, and then of the time to renew: each gives another one.
	mustKubectl(t, "", "patch", "certificates.openvox.voxpupuli.org", "web", "-n", namespace, "--type=merge", "-p", `{"spec":{"dnsAltNames":["www2.example.com"]}}`)
	second := waitSigned(t, namespace, "web", func(c *x509.Certificate) bool { return c.VerifyHostname("www2.example.com") == nil })
	require.Error(t, second.VerifyHostname("www.example.com"))
	mustKubectl(t, "", "delete", "secret", "web-tls", "-n", namespace)
	third := waitSigned(t, namespace, "web", func(c *x509.Certificate) bool { return c.SerialNumber.Cmp(second.SerialNumber) != 0 })
	mustKubectl(t, "", "patch", "certificates.openvox.voxpupuli.org", "web", "-n", namespace, "--type=merge", "-p", `{"spec":{"renewBefore":"99999d"}}`)
	fourth := waitSigned(t, namespace, "web", func(c *x509.Certificate) bool { return c.SerialNumber.Cmp(third.SerialNumber) != 0 })
	eventually(t, func() bool {
		return strings.Contains(mustGet(t, "events", "-n", namespace, "-o", "jsonpath={.items[*].message}"), "the CA offers no certificate_renewal")
	}, "the Event that tells of the gap")

	// Deletion revokes, and the CRL says so after its next refresh.
	revoked := func(serial *x509.Certificate) bool {
		lists, err := puppet.ParseCRLs(secretValue(t, namespace, "main-ca-crl", "ca_crl.pem"))
		require.NoError(t, err)
		for _, list := range lists {
			for _, entry := range list.RevokedCertificateEntries {
				if entry.SerialNumber.Cmp(serial.SerialNumber) == 0 {
					return true
				}
			}
		}
		return false
	}
	require.False(t, revoked(fourth))
	mustKubectl(t, "", "delete", "certificates.openvox.voxpupuli.org", "web", "-n", namespace)
	eventually(t, func() bool { return revoked(fourth) }, "the revocation to appear in the CRL Secret")
	require.True(t, revoked(first))
	require.Equal(t, "External True", mustGet(t, "ca", "main", "-n", namespace, "-o", `jsonpath={.status.phase} {.status.conditions[?(@.type=="CAReady")].status}`))

	t.Run("foreign request", func(t *testing.T) { testForeignRequest(t, ca.CA, namespace) })
	t.Run("cert-manager", func(t *testing.T) { testCertManager(t, ca.CA, namespace) })
	t.Run("autosign", func(t *testing.T) { testAutosign(t, ca.CA, namespace, ca.policies) })
}

// testForeignRequest: a request that another client has planted is never signed.
func testForeignRequest(t *testing.T, ca *puppetca.CA, namespace string) {
	status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/db.example.com", csrtest.Template{CommonName: "db.example.com"}.Make(t))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	mustKubectl(t, certificateObject(namespace, "db", `{"authorityRef":"main","certname":"db.example.com"}`), "apply", "-f", "-")
	eventually(t, func() bool {
		return mustGet(t, "certificates.openvox.voxpupuli.org", "db", "-n", namespace, "-o", "jsonpath={.status.phase} {.status.conditions[0].reason}") == "Error ForeignRequest"
	}, "the foreign request to be refused")
	status, _, err = ca.Do(t.Context(), http.MethodGet, "certificate/db.example.com", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status, "nothing is signed")

	status, _, err = ca.Do(t.Context(), http.MethodDelete, "certificate_status/db.example.com", nil)
	require.NoError(t, err)
	require.Less(t, status, 300)
	waitSigned(t, namespace, "db", nil)
}

// testAutosign: agents get what SigningPolicies permit, by the Secret that was rendered,
// and never a name that a Certificate has.
func testAutosign(t *testing.T, ca *puppetca.CA, namespace, policies string) {
	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"SigningPolicy","metadata":{"name":"all","namespace":%q},"spec":{"certificateAuthorityRef":"main","any":true}}`, namespace), "apply", "-f", "-")
	eventually(t, func() bool {
		text := secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml")
		return strings.Contains(string(text), `"name":"all"`) && os.WriteFile(policies, text, 0o600) == nil
	}, "the policy to be rendered")
	eventually(t, func() bool {
		return mustGet(t, "sp", "all", "-n", namespace, "-o", "jsonpath={.status.phase}") == "Active"
	}, "the policy's status, which follows")
	for certname, want := range map[string]int{"agent.example.com": http.StatusOK, "main-operator": http.StatusNotFound, "localhost": http.StatusNotFound} {
		status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/"+certname, csrtest.Template{CommonName: certname}.Make(t))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s", answer)
		status, _, err = ca.Do(t.Context(), http.MethodGet, "certificate/"+certname, nil)
		require.NoError(t, err)
		require.Equal(t, want, status, certname)
	}
	testIssuedRequest(t, ca, namespace)
	// The program says why.
	command := exec.CommandContext(t.Context(), filepath.Join(programs, "openvox-autosign"), "--config", policies, "db.example.com")
	command.Stdin = strings.NewReader(string(csrtest.Template{CommonName: "db.example.com"}.Make(t)))
	output, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), `certname "db.example.com" is reserved`)
	listed, code := lintelProgram(t, "openvox", "ca", "list", "-n", namespace)
	require.Zero(t, code, listed)
	require.Regexp(t, `(?m)^agent\.example\.com +signed `, listed, "an external CA is reached at its URL")
	require.Regexp(t, `(?m)^main-operator +pending .*reserved`, listed)
}

// testIssuedRequest: a CertificateSigningRequest that is approved gets its certificate from the
// CA, and one for a name of another owner fails.
func testIssuedRequest(t *testing.T, ca *puppetca.CA, namespace string) {
	t.Helper()
	bundle, err := ca.Certificate()
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(bundle))
	status := func(name, path string) string {
		return mustGet(t, "csr", name, "-o", "jsonpath="+path)
	}
	for name, certname := range map[string]string{"e2e-issued": "issued.example.com", "e2e-taken": "agent.example.com"} {
		mustKubectl(t, requestToMain(t, namespace, name, csrtest.Template{CommonName: certname}), "create", "-f", "-")
		require.Empty(t, status(name, "{.status.certificate}"), "nobody has approved it")
		mustKubectl(t, "", "certificate", "approve", name)
	}
	eventually(t, func() bool { return status("e2e-issued", "{.status.certificate}") != "" }, "the certificate")
	text, err := base64.StdEncoding.DecodeString(status("e2e-issued", "{.status.certificate}"))
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	require.NotNil(t, block)
	leaf, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	require.Equal(t, "issued.example.com", leaf.Subject.CommonName)
	eventually(t, func() bool { return strings.Contains(status("e2e-taken", "{.status.conditions}"), "CertnameTaken") }, "the other one to fail")
}
