package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/test/puppetca"
)

// renderedFiles are what a Config is rendered into.
func renderedFiles(t *testing.T, namespace, config string) map[string]string {
	t.Helper()
	var object struct{ Data map[string]string }
	require.NoError(t, json.Unmarshal([]byte(mustGet(t, "configmap", config+"-config", "-n", namespace, "-o", "json")), &object))
	return object.Data
}

// waitConfig waits for the phase of a Config, and its condition with the reason.
func waitConfig(t *testing.T, namespace, name, want string) {
	t.Helper()
	waitFor(t, namespace, "config.openvox.voxpupuli.org/"+name, "the Config to be "+want, func(config *v1alpha1.Config) bool {
		ready := meta.FindStatusCondition(config.Status.Conditions, v1alpha1.ConditionConfigReady)
		return ready != nil && fmt.Sprintf("%s %s/%s", config.Status.Phase, ready.Status, ready.Reason) == want
	})
}

// TestOpenVoxConfigs: a Config that says nothing is whole, waits for its CA and follows it, and is
// written only where something changes.
func TestOpenVoxConfigs(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	config := func(name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"Config","metadata":{"name":%q,"namespace":%q},"spec":%s}`, name, namespace, spec)
	}
	mustKubectl(t, config("first", `{"image":{},"authorityRef":"main"}`), "apply", "-f", "-")
	mustKubectl(t, config("second", `{"image":{},"authorityRef":"main","logging":{"loggers":{"b":"INFO","a":"WARN","c":"DEBUG"}}}`), "apply", "-f", "-")
	mustKubectl(t, config("database", `{"image":{},"databaseRef":"db"}`), "apply", "-f", "-")
	waitConfig(t, namespace, "first", "Pending False/AuthorityNotFound")
	waitConfig(t, namespace, "database", "Pending False/ReferenceNotFound")
	authority := func(more string) string {
		return fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"CertificateAuthority","metadata":{"name":"main","namespace":%q},"spec":{"external":{"url":"https://ca.example.com:8140"}%s}}`, namespace, more)
	}
	mustKubectl(t, authority(""), "apply", "-f", "-")
	for _, name := range []string{"first", "second"} {
		waitConfig(t, namespace, name, "Running True/ConfigMapsCreated")
		require.Len(t, renderedFiles(t, namespace, name), 13)
	}
	require.Contains(t, renderedFiles(t, namespace, "first")["puppetserver.conf"], `"borrow-timeout": 1200000`, "defaults need no parent object")
	require.Contains(t, renderedFiles(t, namespace, "first")["webserver-ca.conf"], `"client-auth": "want"`)
	require.Equal(t, "false", mustGet(t, "serviceaccount", "first-server", "-n", namespace, "-o", "jsonpath={.automountServiceAccountToken}"))

	mustKubectl(t, authority(`,"ttl":"1h","allowAutoRenewal":false`), "apply", "-f", "-")
	eventually(t, func() bool {
		files := renderedFiles(t, namespace, "first")
		return strings.Contains(files["puppet.conf"], "ca_ttl = 3600\n") && strings.Contains(files["ca.conf"], `"allow-auto-renewal": false`)
	}, "the files to follow the CA")

	// A change that does not affect a file; the status shows when it was observed.
	version := func() string {
		return mustGet(t, "configmap", "second-config", "-n", namespace, "-o", "jsonpath={.metadata.resourceVersion}")
	}
	eventually(t, func() bool {
		return strings.Contains(renderedFiles(t, namespace, "second")["puppet.conf"], "ca_ttl = 3600\n")
	}, "the other files, too")
	before := version()
	mustKubectl(t, "", "patch", "cfg", "second", "-n", namespace, "--type=merge", "-p", `{"spec":{"readOnlyRootFilesystem":true}}`)
	eventually(t, func() bool {
		return mustGet(t, "cfg", "second", "-n", namespace, "-o", "jsonpath={.status.observedGeneration}") == "2"
	}, "the change to be seen")
	require.Equal(t, before, version(), "nothing is written where nothing changed")
	output := mustGet(t, "events", "-n", namespace, "--field-selector=involvedObject.name=second", "-o", "jsonpath={.items[*].reason}")
	require.LessOrEqual(t, strings.Count(output, "ConfigMapsCreated"), 1, output)

	// A paused object stays unchanged, and reports it, until the annotation is removed.
	paused := func() string {
		return mustGet(t, "cfg", "second", "-n", namespace, "-o", `jsonpath={.status.conditions[?(@.type=="Paused")].status}`)
	}
	mustKubectl(t, "", "annotate", "cfg", "second", "-n", namespace, "openvox.voxpupuli.org/paused=true")
	eventually(t, func() bool { return paused() == "True" }, "the Config to be paused")
	mustKubectl(t, "", "patch", "cfg", "second", "-n", namespace, "--type=merge", "-p", `{"spec":{"puppet":{"environmentTimeout":"3m"}}}`)
	mustKubectl(t, "", "patch", "cfg", "first", "-n", namespace, "--type=merge", "-p", `{"spec":{"puppet":{"environmentTimeout":"3m"}}}`)
	eventually(t, func() bool {
		return strings.Contains(renderedFiles(t, namespace, "first")["puppet.conf"], "environment_timeout = 3m\n")
	}, "the other Config to be rendered")
	require.Equal(t, before, version())
	mustKubectl(t, "", "annotate", "cfg", "second", "-n", namespace, "openvox.voxpupuli.org/paused-")
	eventually(t, func() bool {
		return strings.Contains(renderedFiles(t, namespace, "second")["puppet.conf"], "environment_timeout = 3m\n") && paused() == ""
	}, "the Config to go on")

	// The CA's policies are not those of a Config.
	mustKubectl(t, "", "delete", "cfg", "first", "-n", namespace)
	eventually(t, func() bool {
		_, ok := get(t, "configmap", "first-config", "-n", namespace)
		return !ok
	}, "the files to go with their Config")
	require.Equal(t, "CertificateAuthority", mustGet(t, "secret", "main-autosign-policy", "-n", namespace, "-o", "jsonpath={.metadata.ownerReferences[*].kind}"))
}

// testRenderedConfiguration: a real server reads the rendered files, with which only the
// operator administers the CA, and the hook decides.
func testRenderedConfiguration(t *testing.T, ca *puppetca.CA, namespace, policies string) {
	request := func(certname string) {
		status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/"+certname, csrtest.Template{CommonName: certname}.Make(t))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s", answer)
	}
	signAs := func(certificate, key []byte, certname string) int {
		status, _, err := ca.DoAs(t.Context(), certificate, key, http.MethodPut, "certificate_status/"+certname, []byte(`{"desired_state":"signed"}`))
		require.NoError(t, err)
		return status
	}
	has := func(certname string) int {
		status, _, err := ca.Do(t.Context(), http.MethodGet, "certificate/"+certname, nil)
		require.NoError(t, err)
		return status
	}
	pair := func(secret string) (certificate, key []byte) {
		return secretValue(t, namespace, secret, "cert.pem"), secretValue(t, namespace, secret, "key.pem")
	}

	request("pending.example.com")
	agent, agentKey := pair("web-tls")
	require.Equal(t, http.StatusForbidden, signAs(agent, agentKey, "pending.example.com"), "an agent signs nothing")
	operator, operatorKey := pair("main-operator-signing-tls")
	// A plain name in auth.conf would permit any name below it.
	below, belowKey := signedPair(t, ca, operator, operatorKey, "x.main-operator")
	require.Equal(t, http.StatusForbidden, signAs(below, belowKey, "pending.example.com"), "whose name only ends as the operator's signs nothing")
	require.Equal(t, http.StatusNoContent, signAs(operator, operatorKey, "pending.example.com"))
	require.Equal(t, http.StatusOK, has("pending.example.com"))

	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"SigningPolicy","metadata":{"name":"agents","namespace":%q},
		"spec":{"certificateAuthorityRef":"main","pattern":{"allow":["agent*"]}}}`, namespace), "apply", "-f", "-")
	eventually(t, func() bool {
		text := secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml")
		return strings.Contains(string(text), "agent*") && os.WriteFile(policies, text, 0o600) == nil
	}, "the policy to be rendered")
	for certname, want := range map[string]int{"agent1": http.StatusOK, "other": http.StatusNotFound, "agent.main-operator": http.StatusNotFound} {
		request(certname)
		require.Equal(t, want, has(certname), certname)
	}
}

// signedPair makes the CA sign a certificate for a name that must never be signed.
func signedPair(t *testing.T, ca *puppetca.CA, admin, adminKey []byte, certname string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	text := csrtest.Template{CommonName: certname, Key: private}.Make(t)
	status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/"+certname, text)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	status, answer, err = ca.DoAs(t.Context(), admin, adminKey, http.MethodPut, "certificate_status/"+certname, []byte(`{"desired_state":"signed"}`))
	require.NoError(t, err)
	require.Less(t, status, 300, "%s", answer)
	status, certificate, err = ca.Do(t.Context(), http.MethodGet, "certificate/"+certname, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// testHandEdits: manual edits are soon reverted.
func testHandEdits(t *testing.T, namespace string) {
	patch := func(kind, name, data string) {
		tamper(t, "", "patch", kind, name, "-n", namespace, "--type=merge", "-p", data)
	}
	files, policies := renderedFiles(t, namespace, "main"), secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml")
	require.NotEmpty(t, policies)
	patch("configmap", "main-config", `{"metadata":{"labels":null},"data":{"auth.conf":"authorization: {}","ca.conf":null}}`)
	patch("secret", "main-autosign-policy", `{"stringData":{"signing-policies.yaml":"signingPolicies: [{name: x, any: true}]","autosign-policy.yaml":"policies: [{name: x, any: true}]"}}`)
	patch("secret", "main-ca-crl", `{"stringData":{"ca_crl.pem":"nothing"}}`)
	before := waitSigned(t, namespace, "web", nil)
	patch("secret", "web-tls", `{"stringData":{"key.pem":"nothing"}}`)
	eventually(t, func() bool {
		return maps.Equal(files, renderedFiles(t, namespace, "main")) && len(secretValue(t, namespace, "main-autosign-policy", "autosign-policy.yaml")) == 0 &&
			string(policies) == string(secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml")) &&
			strings.Contains(string(secretValue(t, namespace, "main-ca-crl", "ca_crl.pem")), "BEGIN X509 CRL")
	}, "what was edited to be as it was")
	waitSigned(t, namespace, "web", func(c *x509.Certificate) bool { return c.SerialNumber.Cmp(before.SerialNumber) != 0 })
	// The owner cannot be restored, and the status reports it.
	patch("secret", "web-tls", `{"metadata":{"ownerReferences":null}}`)
	eventually(t, func() bool {
		return strings.Contains(mustGet(t, "certificates.openvox.voxpupuli.org", "web", "-n", namespace, "-o", "jsonpath={.status.conditions[0].message}"), "Secret web-tls is not controlled by this object and is left alone")
	}, "the Certificate to tell")
}

// TestOpenVoxForeignPolicies: the status reports that a CA's hook reads a foreign Secret until the
// Secret is deleted, and not only after other events.
func TestOpenVoxForeignPolicies(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, "", "create", "secret", "generic", "main-autosign-policy", "-n", namespace, "--from-literal=signing-policies.yaml=theirs")
	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"CertificateAuthority","metadata":{"name":"main","namespace":%q},"spec":{"external":{"url":"https://ca.example.com:8140"}}}`, namespace), "apply", "-f", "-")
	told := func(want string) {
		eventually(t, func() bool {
			return mustGet(t, "certificateauthority", "main", "-n", namespace, "-o", `jsonpath={.status.conditions[?(@.type=="PoliciesRendered")].reason}`) == want
		}, "the CertificateAuthority to say "+want)
	}
	told("NotOwned")
	require.Equal(t, "theirs", string(secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml")))
	mustKubectl(t, "", "delete", "secret", "main-autosign-policy", "-n", namespace)
	told("PoliciesRendered")
	require.Contains(t, string(secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml")), "main-operator")
}
