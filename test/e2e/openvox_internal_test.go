package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/test/puppetca"
)

// serviceProxy stands for the cluster's DNS and its Services, of which there are none
// here: the manager reaches a CA's Service by it.
type serviceProxy struct {
	mutex sync.Mutex
	to    map[string]string
	*httptest.Server
}

var services = newServiceProxy()

func newServiceProxy() *serviceProxy {
	p := &serviceProxy{to: map[string]string{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.connect))
	return p
}

func (p *serviceProxy) lead(from, to string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.to[from] = to
}

func (p *serviceProxy) connect(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	to, ok := p.to[r.Host]
	p.mutex.Unlock()
	if !ok && !strings.Contains(r.Host, ".svc:") {
		to, ok = r.Host, true
	}
	if !ok || r.Method != http.MethodConnect {
		http.Error(w, "nothing serves "+r.Host, http.StatusBadGateway)
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(server, client); _ = server.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(client, server)
}

// runSetup runs the command of a CA's setup Job as its Pod would, with the folder in
// place of its volume, and the Pod's ServiceAccount.
//
// ruby runs "puppetserver ca" instead, as in an image without Lintel's program.
func runSetup(t *testing.T, namespace, ca, volume, intermediate string, ruby bool) (output string, err error) {
	t.Helper()
	var job batchv1.Job
	eventually(t, func() bool {
		text, ok := get(t, "job", ca+"-ca-setup", "-n", namespace, "-o", "json")
		return ok && json.Unmarshal([]byte(text), &job) == nil
	}, "the setup Job of "+ca)
	spec := job.Spec.Template.Spec
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)
	require.NoError(t, clientcmdFiles(config.CAData, config.CAFile, volume+"-token", namespace, mustKubectl(t, "", "create", "token", spec.ServiceAccountName, "-n", namespace)))
	work := t.TempDir()
	folders := map[string]string{"CA_DIR": volume, "WORK_DIR": work, "TOKEN_DIR": volume + "-token", "INTERMEDIATE_DIR": intermediate, "SETUP_PROGRAM": filepath.Join(programs, "openvox-ca-setup")}
	if ruby {
		folders["SETUP_PROGRAM"] = ""
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(config.Host, "https://"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	container := spec.Containers[0]
	command := exec.CommandContext(ctx, container.Command[0], container.Command[1:]...)
	command.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port, "NO_PROXY=*", "no_proxy=*")
	for _, variable := range container.Env {
		value := variable.Value
		if folder, ok := folders[variable.Name]; ok {
			value = folder
		}
		command.Env = append(command.Env, variable.Name+"="+value)
	}
	text, err := command.CombinedOutput()
	return string(text), err
}

func clientcmdFiles(data []byte, file, folder, namespace, token string) error {
	if len(data) == 0 {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"ca.crt": string(data), "namespace": namespace, "token": strings.TrimSpace(token)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func internalCA(namespace, name, more string) string {
	return fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"CertificateAuthority","metadata":{"name":%q,"namespace":%q},"spec":{"crlRefreshInterval":"1s"%s}}`, name, namespace, more)
}

func configFor(namespace, ca string) string {
	return fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"Config","metadata":{"name":%q,"namespace":%q},"spec":{"image":{"repository":"example.com/openvox","tag":"8"},"authorityRef":%[1]q}}`, ca, namespace)
}

func authorityOf(t *testing.T, namespace, name string) (ca *v1alpha1.CertificateAuthority, facts string) {
	t.Helper()
	ca = read[v1alpha1.CertificateAuthority](t, namespace, "ca/"+name)
	return ca, factsOf(ca)
}

// factsOf are the phase of a CA, and its conditions with their reasons.
func factsOf(ca *v1alpha1.CertificateAuthority) (facts string) {
	facts = string(ca.Status.Phase)
	for _, kind := range []string{"Initialized", "CAReady", "OperatorSigningReady"} {
		for _, condition := range ca.Status.Conditions {
			if condition.Type == kind {
				facts += " " + kind + "=" + string(condition.Status) + "/" + condition.Reason
			}
		}
	}
	return facts
}

func waitFacts(t *testing.T, namespace, name, want string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log(kubectl(t, "", "get", "certificates.openvox.voxpupuli.org,ca", "-n", namespace, "-o", "yaml"))
		}
	}()
	waitFor(t, namespace, "ca/"+name, "the CertificateAuthority to be "+want, func(ca *v1alpha1.CertificateAuthority) bool { return factsOf(ca) == want })
}

// TestOpenVoxInternalCertificateAuthority: a CA in the cluster is set up by its Job's own
// command, serves, and leaves its keys and volume when it is deleted.
func TestOpenVoxInternalCertificateAuthority(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, internalCA(namespace, "main", namesServer), "apply", "-f", "-")
	waitFacts(t, namespace, "main", "Pending Initialized=False/WaitingForConfig")
	// The first requester does not become the CA's server for that reason.
	mustKubectl(t, certificateObject(namespace, "first", `{"authorityRef":"main","certname":"first.example.com"}`), "apply", "-f", "-")
	_, ok := apply(t, certificateObject(namespace, "up", `{"authorityRef":"main","certname":"../../up"}`))
	require.False(t, ok)
	mustKubectl(t, certificateObject(namespace, "server", `{"authorityRef":"main","certname":"ca.example.com","dnsAltNames":["localhost","127.0.0.1"]}`), "apply", "-f", "-")
	mustKubectl(t, configFor(namespace, "main"), "apply", "-f", "-")
	waitFacts(t, namespace, "main", "Initializing Initialized=False/SettingUp")
	require.Empty(t, mustGet(t, "certificates.openvox.voxpupuli.org", "main-server", "-n", namespace, "--ignore-not-found"), "one is named")
	for _, object := range []string{"pvc/main-data", "service/main-internal", "serviceaccount/main-ca-setup", "role/main-ca-setup", "rolebinding/main-ca-setup", "secret/main-ca", "secret/main-ca-key", "secret/main-ca-crl"} {
		mustGet(t, object, "-n", namespace)
	}
	account := "--as=system:serviceaccount:" + namespace + ":main-ca-setup"
	for _, denied := range [][]string{{"create", "secrets"}, {"get", "secrets/main-ca-key"}, {"patch", "secrets/server-tls"}, {"list", "secrets"}} {
		output, _ := kubectl(t, "", append([]string{"auth", "can-i", "-n", namespace, account}, denied...)...)
		require.Contains(t, output, "no", denied)
	}

	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "ca"), 0o755))
	waitConfig(t, namespace, "main", "Running True/ConfigMapsCreated")
	output, err := runSetup(t, namespace, "main", filepath.Join(dir, "ca"), "", false)
	require.NoError(t, err, output)
	// Initialized, not ready: its server may start, and has its certificate.
	waitFacts(t, namespace, "main", "Initializing Initialized=True/CAInitialized CAReady=False/NotAnswering OperatorSigningReady=False/Bootstrap")
	leaf := waitSigned(t, namespace, "server", nil)
	for _, name := range []string{"localhost", "127.0.0.1", "main-internal." + namespace + ".svc"} {
		require.NoError(t, leaf.VerifyHostname(name))
	}
	require.Equal(t, "Pending", mustGet(t, "certificates.openvox.voxpupuli.org", "main-operator-signing", "-n", namespace, "-o", "jsonpath={.status.phase}"), "it waits, and is no error")
	mustKubectl(t, "", "delete", "job", "main-ca-setup", "-n", namespace) // no kubelet ends it here
	eventually(t, func() bool {
		output, _ := kubectl(t, "", "auth", "can-i", "patch", "secrets/main-ca", "-n", namespace, account)
		return strings.Contains(output, "no")
	}, "the setup Job's permission to go")

	hook, policies := autosignHook(t)
	ca, err := puppetca.ServeExisting(t.Context(), puppetca.Options{Dir: dir, Name: "ca.example.com", Autosign: hook, Rendered: renderedFiles(t, namespace, "main")})
	require.NoError(t, err)
	t.Cleanup(ca.Stop)
	services.lead("main-internal."+namespace+".svc:8140", strings.TrimPrefix(ca.URL, "https://"))
	waitFacts(t, namespace, "main", "Ready Initialized=True/CAInitialized CAReady=True/CAAnswers OperatorSigningReady=True/CertificateSigned")
	eventually(t, func() bool {
		object, _ := authorityOf(t, namespace, "main")
		return object.Status.SigningSecretName == "main-operator-signing-tls"
	}, "the operator's own certificate to sign")
	mustKubectl(t, certificateObject(namespace, "web", `{"authorityRef":"main","certname":"web.example.com"}`), "apply", "-f", "-")
	waitSigned(t, namespace, "web", nil)
	require.True(t, administers(leaf), "the CA's server has the setup Job's pair")
	testFirst(t, ca, namespace)
	testRevocation(t, ca, namespace)
	t.Run("rendered configuration", func(t *testing.T) { testRenderedConfiguration(t, ca, namespace, policies) })
	t.Run("command line", func(t *testing.T) { testCommandLine(t, ca, namespace) })
	require.NotEmpty(t, secretValue(t, namespace, "main-ca-crl", "infra_crl.pem"), "refreshing the CRL leaves the other alone")
	// A CRL that is lost is read from the CA, and no setup Job runs.
	tamper(t, "", "delete", "secret", "main-ca-crl", "-n", namespace)
	eventually(t, func() bool {
		text, ok := get(t, "secret", "main-ca-crl", "-n", namespace, "-o", `jsonpath={.data.ca_crl\.pem}`)
		return ok && text != ""
	}, "the CRL to be read again")
	require.Empty(t, mustGet(t, "job", "main-ca-setup", "-n", namespace, "--ignore-not-found"))
	// Its own certificate is issued again, too, and by whom else.
	mustKubectl(t, "", "delete", "secret", "main-operator-signing-tls", "-n", namespace)
	waitSigned(t, namespace, "main-operator-signing", nil)

	t.Run("hand edits", func(t *testing.T) { testHandEdits(t, namespace) })
	testTakenOver(t, namespace)
	testFormerOperator(t, namespace)
	testRescue(t, namespace, filepath.Join(dir, "ca"))
	testRefusedEvent(t, namespace)
	t.Run("restore", func(t *testing.T) { testRestore(t, ca, namespace) })
}

// namesServer names the Certificate of a CA's server.
const namesServer = `,"serverCertificateRef":"server"`

func administers(c *x509.Certificate) bool {
	return slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.String() == "1.3.6.1.4.1.34380.1.3.39" })
}

// testFirst: the Certificate that was there first has an ordinary certificate, and may
// nothing at the CA.
func testFirst(t *testing.T, ca *puppetca.CA, namespace string) {
	t.Helper()
	require.False(t, administers(waitSigned(t, namespace, "first", nil)))
	status, _, err := ca.DoAs(t.Context(), secretValue(t, namespace, "first-tls", "cert.pem"), secretValue(t, namespace, "first-tls", "key.pem"), http.MethodGet, "certificate_statuses/all", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status)
	status, _, err = ca.DoAs(t.Context(), secretValue(t, namespace, "server-tls", "cert.pem"), secretValue(t, namespace, "server-tls", "key.pem"), http.MethodGet, "certificate_statuses/all", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}

// testRevocation: with default settings the Secret has every revocation, of agents, too, and
// those from here immediately.
func testRevocation(t *testing.T, ca *puppetca.CA, namespace string) {
	t.Helper()
	revokes := func(leaf *x509.Certificate) bool {
		lists, err := puppet.ParseCRLs(secretValue(t, namespace, "main-ca-crl", "ca_crl.pem"))
		return err == nil && lists.Revokes(leaf)
	}
	operator, operatorKey := secretValue(t, namespace, "main-operator-signing-tls", "cert.pem"), secretValue(t, namespace, "main-operator-signing-tls", "key.pem")
	text, _ := signedPair(t, ca, operator, operatorKey, "agent0.example.com")
	block, _ := pem.Decode(text)
	agent, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	require.False(t, revokes(agent))
	status, answer, err := ca.DoAs(t.Context(), operator, operatorKey, http.MethodPut, "clean", []byte(`{"certnames":["agent0.example.com"]}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	status, _, err = ca.Do(t.Context(), http.MethodGet, "certificate/agent0.example.com", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status, "by that the operator knows which of its pairs are revoked")
	eventually(t, func() bool { return revokes(agent) }, "an agent that the CA has revoked to be in the Secret")

	interval := func(text string) {
		mustKubectl(t, "", "patch", "ca", "main", "-n", namespace, "--type=merge", "-p", `{"spec":{"crlRefreshInterval":"`+text+`"}}`)
		eventually(t, func() bool {
			object, _ := authorityOf(t, namespace, "main")
			return object.Status.ObservedGeneration == object.Generation
		}, "the CRL to be read")
	}
	first := waitSigned(t, namespace, "first", nil)
	interval("1d")
	require.False(t, revokes(first))
	mustKubectl(t, "", "delete", "certificates.openvox.voxpupuli.org", "first", "-n", namespace)
	eventually(t, func() bool { return revokes(first) }, "a revocation from here to be in the Secret at once")
	eventually(t, func() bool { // the status is written after the Secret
		object, _ := authorityOf(t, namespace, "main")
		last := object.Status.CRL.LastRevoked
		return last != nil && last.SerialNumber == fmt.Sprintf("%x", first.SerialNumber)
	}, "the status to have the serial number")
	interval("1s")
	testRevocationsAtOnce(t, namespace)
}

// testRevocationsAtOnce: the real CA overwrites its CRL when revocations overlap. Twelve
// Certificates that are deleted together are all on it, and until then CRLCurrent is False.
func testRevocationsAtOnce(t *testing.T, namespace string) {
	t.Helper()
	const count = 12
	objects, names := "", []string{"delete", "certificates.openvox.voxpupuli.org", "-n", namespace}
	for i := range count {
		name := fmt.Sprintf("m%d", i)
		objects += certificateObject(namespace, name, fmt.Sprintf(`{"authorityRef":"main","certname":"%s.example.com"}`, name)) + "\n"
		names = append(names, name)
	}
	mustKubectl(t, objects, "apply", "-f", "-")
	var leaves []*x509.Certificate
	for _, name := range names[4:] {
		leaves = append(leaves, waitSigned(t, namespace, name, nil))
	}
	mustKubectl(t, "", names...)
	missing := func() (count int) {
		lists, err := puppet.ParseCRLs(secretValue(t, namespace, "main-ca-crl", "ca_crl.pem"))
		require.NoError(t, err)
		for _, leaf := range leaves {
			if !lists.Revokes(leaf) {
				count++
			}
		}
		return count
	}
	waitFor(t, namespace, "ca/main", "the CRL to be current", func(ca *v1alpha1.CertificateAuthority) bool {
		return ca.Status.CRL.LastRevoked != nil && slices.ContainsFunc(leaves, func(l *x509.Certificate) bool {
			return fmt.Sprintf("%x", l.SerialNumber) == ca.Status.CRL.LastRevoked.SerialNumber
		}) && meta.IsStatusConditionTrue(ca.Status.Conditions, "CRLCurrent") && missing() == 0
	})
	require.Zero(t, missing())
	eventually(t, func() bool {
		said, _ := get(t, "events", "-n", namespace, "-o", "jsonpath={range .items[*]}{.reason} {.message}{.note}{'\\n'}{end}")
		return strings.Count(said, "CertificateCleaned the certificate of m") == count
	}, "an Event for each")
}

// testTakenOver: a CertificateAuthority that is created again while the CA's server runs takes
// over all objects without a setup, although the server's certificate has changed.
func testTakenOver(t *testing.T, namespace string) {
	t.Helper()
	mustKubectl(t, "", "patch", "certificates.openvox.voxpupuli.org", "server", "-n", namespace, "--type=merge", "-p", `{"spec":{"dnsAltNames":["localhost","127.0.0.1","puppet"]}}`)
	leaf := waitSigned(t, namespace, "server", func(c *x509.Certificate) bool { return c.VerifyHostname("puppet") == nil })
	key, signer := secretValue(t, namespace, "main-ca-key", "ca_key.pem"), secretValue(t, namespace, "main-operator-signing-tls", "key.pem")
	mustKubectl(t, "", "delete", "ca", "main", "-n", namespace)
	eventually(t, func() bool {
		_, ok := get(t, "service", "main-internal", "-n", namespace)
		return !ok
	}, "the Service to go")
	mustKubectl(t, internalCA(namespace, "main", namesServer), "apply", "-f", "-")
	waitFacts(t, namespace, "main", "Ready Initialized=True/CAInitialized CAReady=True/CAAnswers OperatorSigningReady=True/CertificateSigned")
	require.Equal(t, key, secretValue(t, namespace, "main-ca-key", "ca_key.pem"))
	require.Equal(t, signer, secretValue(t, namespace, "main-operator-signing-tls", "key.pem"))
	mustGet(t, "pvc", "main-data", "-n", namespace)
	require.Empty(t, mustGet(t, "jobs", "-n", namespace, "-o", "name"), "nothing is set up again")
	mustKubectl(t, certificateObject(namespace, "late", `{"authorityRef":"main","certname":"late.example.com"}`), "apply", "-f", "-")
	waitSigned(t, namespace, "late", nil)
	require.Equal(t, leaf.SerialNumber, waitSigned(t, namespace, "server", nil).SerialNumber)
	for _, name := range []string{"main-operator", "ca.example.com", "main-internal"} {
		require.Contains(t, string(secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml")), `"`+name+`"`, "names stay reserved")
	}
}

// testFormerOperator: what openvox-operator has made is gone on with: the Deployment of a
// Server without what Lintel does not want there, and the policies, which a Config controls. That
// of a Database goes, which the Service of the StatefulSet would lead to.
func testFormerOperator(t *testing.T, namespace string) {
	t.Helper()
	object := func(kind, name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":%q,"metadata":{"name":%q,"namespace":%q},"spec":%s}`, kind, name, namespace, spec)
	}
	identifier := func(kind, name string) string {
		return mustGet(t, kind, name, "-n", namespace, "-o", "jsonpath={.metadata.uid}")
	}
	reference := func(kind, name string) string {
		uid := identifier(strings.ToLower(kind)+"s.openvox.voxpupuli.org", name)
		return fmt.Sprintf(`[{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":%q,"name":%q,"uid":%q,"controller":true,"blockOwnerDeletion":true}]`, kind, name, uid)
	}
	made := func(kind, name string) string {
		label := "openvox.voxpupuli.org/" + strings.ToLower(kind)
		tamper(t, fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"namespace":%q,"labels":{"app.kubernetes.io/managed-by":"openvox-operator"},"ownerReferences":%s},
			"spec":{"selector":{"matchLabels":{%[4]q:%[1]q}},"template":{"metadata":{"labels":{%[4]q:%[1]q}},"spec":{
				"initContainers":[{"name":"tls-init","image":"example.com/former"}],"volumes":[{"name":"former","emptyDir":{}}],
				"containers":[{"name":"openvox-server","image":"example.com/former","volumeMounts":[{"name":"former","mountPath":"/etc/puppetlabs/puppet/ssl"}]}]}}}}`,
			name, namespace, reference(kind, name), label), "create", "--field-manager=manager", "-f", "-")
		return identifier("deployment", name)
	}
	mustKubectl(t, object("Certificate", "former", `{"authorityRef":"main","certname":"former.example.com","dnsAltNames":["former-db.`+namespace+`.svc"]}`), "apply", "-f", "-")
	waitSigned(t, namespace, "former", nil)
	mustKubectl(t, object("Server", "former", `{"configRef":"former","certificateRef":"former"}`), "apply", "-f", "-")
	mustKubectl(t, object("Database", "former-db", `{"certificateRef":"former","postgres":{"host":"pg","credentialsSecretRef":"former-pg"}}`), "apply", "-f", "-")
	deployment, _ := made("Server", "former"), made("Database", "former-db")
	mustKubectl(t, object("Config", "former", `{"image":{"repository":"example.com/openvox","tag":"8"},"authorityRef":"main"}`), "apply", "-f", "-")
	mustKubectl(t, "", "create", "secret", "generic", "former-pg", "-n", namespace, "--from-literal=username=u", "--from-literal=password=p")
	eventually(t, func() bool {
		mounts := mustGet(t, "deployment", "former", "-n", namespace, "-o", "jsonpath={.spec.template.spec}")
		return strings.Contains(mounts, "example.com/openvox:8") && !strings.Contains(mounts, "former\"") && !strings.Contains(mounts, "tls-init")
	}, "the Deployment to be Lintel's")
	require.Equal(t, deployment, identifier("deployment", "former"), "its Pods are replaced one after the other")
	eventually(t, func() bool {
		_, ok := get(t, "statefulset", "former-db", "-n", namespace)
		return ok
	}, "the Database")
	require.Empty(t, mustGet(t, "deployment", "former-db", "-n", namespace, "--ignore-not-found"))
	tamper(t, "", "patch", "secret", "main-autosign-policy", "-n", namespace, "--type=merge", "-p", `{"metadata":{"ownerReferences":`+reference("Config", "former")+`},"data":{"autosign-policy.yaml":"eA==","signing-policies.yaml":null}}`)
	eventually(t, func() bool {
		policies := mustGet(t, "secret", "main-autosign-policy", "-n", namespace, "-o", "jsonpath={.metadata.ownerReferences[*].kind} {.data}")
		return strings.HasPrefix(policies, `CertificateAuthority {"signing-policies.yaml":`)
	}, "the policies to be the CA's")

	// Nor does it help to prevent its changes.
	policies := func() string {
		return string(secretValue(t, namespace, "main-autosign-policy", "signing-policies.yaml"))
	}
	mustKubectl(t, object("SigningPolicy", "any", `{"certificateAuthorityRef":"main","any":true}`), "apply", "-f", "-")
	eventually(t, func() bool { return strings.Contains(policies(), `"any":true`) }, "the policy")
	tamper(t, "", "patch", "secret", "main-autosign-policy", "-n", namespace, "--type=merge", "-p", `{"immutable":true}`)
	mustKubectl(t, "", "delete", "signingpolicies.openvox.voxpupuli.org", "any", "-n", namespace)
	eventually(t, func() bool { return !strings.Contains(policies(), `"any":true`) }, "the policy to be gone")
}

// testRescue: the signing key pairs are lost, and the setup Job's own is revoked because the
// server has another. One of the two is enough; without both, the Job creates one after its
// Secret is emptied.
func testRescue(t *testing.T, namespace, volume string) {
	t.Helper()
	for _, lost := range []string{"secret/main-operator-signing-tls", "certificates.openvox.voxpupuli.org/main-operator-signing", "secret/main-operator-standby-tls"} {
		serial := func() string {
			return waitSigned(t, namespace, "main-operator-signing", nil).SerialNumber.String() + " " + waitSigned(t, namespace, "main-operator-standby", nil).SerialNumber.String()
		}
		had := serial()
		mustKubectl(t, "", "delete", lost, "-n", namespace)
		eventually(t, func() bool {
			_, ok := get(t, lost, "-n", namespace)
			return ok && serial() != had
		}, "another for "+lost)
	}
	waitFacts(t, namespace, "main", "Ready Initialized=True/CAInitialized CAReady=True/CAAnswers OperatorSigningReady=True/CertificateSigned")
	// Deleted together, they go one after the other: each is signed by the other.
	both := []string{"main-operator-signing", "main-operator-standby"}
	had := []string{waitSigned(t, namespace, both[0], nil).SerialNumber.String(), waitSigned(t, namespace, both[1], nil).SerialNumber.String()}
	mustKubectl(t, "", append([]string{"delete", "certificates.openvox.voxpupuli.org", "-n", namespace, "--wait=false"}, both...)...)
	for i, name := range both {
		waitSigned(t, namespace, name, func(c *x509.Certificate) bool { return c.SerialNumber.String() != had[i] })
	}
	waitFacts(t, namespace, "main", "Ready Initialized=True/CAInitialized CAReady=True/CAAnswers OperatorSigningReady=True/CertificateSigned")
	for other, words := range map[string]string{
		`{"authorityRef":"other","certname":"main-operator"}`:        `"main-operator-signing" is the operator's own Certificate at CertificateAuthority "main"`,
		`{"authorityRef":"main","certname":"standby.main-operator"}`: "certname is immutable",
	} {
		output, ok := kubectl(t, certificateObject(namespace, "main-operator-signing", other), append([]string{"apply", "-f", "-"}, asController...)...)
		require.False(t, ok)
		require.Contains(t, output, words)
	}

	eventually(t, func() bool {
		tamper(t, "", "delete", "--raw", "/api/v1/namespaces/"+namespace+"/secrets?labelSelector=openvox.voxpupuli.org/certificate+in+(main-operator-signing,main-operator-standby)")
		_, facts := authorityOf(t, namespace, "main")
		return facts == "Error Initialized=True/CAInitialized CAReady=True/CAAnswers OperatorSigningReady=False/NoSigningCertificate"
	}, "nothing to sign with")
	mustKubectl(t, "", "delete", "secret", "main-ca-setup", "-n", namespace)
	waitFacts(t, namespace, "main", "Initializing Initialized=False/SettingUp CAReady=True/CAAnswers OperatorSigningReady=False/NoSigningCertificate")
	output, err := runSetup(t, namespace, "main", volume, "", false) // nothing else writes to the volume now
	require.NoError(t, err, output)
	waitFacts(t, namespace, "main", "Ready Initialized=True/CAInitialized CAReady=True/CAAnswers OperatorSigningReady=True/CertificateSigned")
	mustKubectl(t, certificateObject(namespace, "rescued", `{"authorityRef":"main","certname":"rescued.example.com"}`), "apply", "-f", "-")
	waitSigned(t, namespace, "rescued", nil)
}

// TestOpenVoxIntermediateCertificateAuthority: a CA below another, next to a second CA in the
// namespace; the limits of its Job.
func TestOpenVoxIntermediateCertificateAuthority(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	company := t.TempDir()
	key, certificate, crl := companyCA(t)
	for name, text := range map[string][]byte{"ca.pem": certificate, "key.pem": key, "crl.pem": crl, "serial": []byte("0100")} {
		require.NoError(t, os.WriteFile(filepath.Join(company, name), text, 0o600))
	}
	mustKubectl(t, internalCA(namespace, "below", `,"intermediateCA":{"enabled":true,"secretName":"company"}`), "apply", "-f", "-")
	mustKubectl(t, internalCA(namespace, "other", ""), "apply", "-f", "-")
	for _, ca := range []string{"below", "other"} {
		mustKubectl(t, configFor(namespace, ca), "apply", "-f", "-")
	}
	waitFacts(t, namespace, "other", "Initializing Initialized=False/SettingUp")
	waitFacts(t, namespace, "below", "Pending Initialized=False/WaitingForIntermediateCA")
	mustKubectl(t, "", "create", "secret", "generic", "company", "-n", namespace, "--from-file="+company, "--from-literal=other=s3cret")
	eventually(t, func() bool {
		return strings.Contains(mustGet(t, "ca", "below", "-n", namespace, "-o", "jsonpath={.status.conditions}"), "the Secret company is not marked for this CertificateAuthority")
	}, "a Secret that nobody has given to be left alone")
	require.Empty(t, mustGet(t, "job", "below-ca-setup", "-n", namespace, "--ignore-not-found"))
	refused, ok := apply(t, internalCA(namespace, "thief", `,"intermediateCA":{"enabled":true,"secretName":"company"}`))
	require.False(t, ok)
	require.Contains(t, refused, `Secret "company" is not marked for this CertificateAuthority`)
	mustKubectl(t, "", "annotate", "secret", "company", "-n", namespace, "openvox.voxpupuli.org/intermediate-ca=below")
	waitFacts(t, namespace, "below", "Initializing Initialized=False/SettingUp")

	require.NotContains(t, mustGet(t, "job", "below-ca-setup", "-n", namespace, "-o", "jsonpath={.spec.template.spec.volumes}"), "other", "its other keys are not mounted")
	mustKubectl(t, "", "annotate", "secret", "company", "-n", namespace, "openvox.voxpupuli.org/intermediate-ca-")
	waitFacts(t, namespace, "below", "Pending Initialized=False/WaitingForIntermediateCA")
	mustKubectl(t, "", "annotate", "secret", "company", "-n", namespace, "openvox.voxpupuli.org/intermediate-ca=below")
	waitFacts(t, namespace, "below", "Initializing Initialized=False/SettingUp")

	volume := filepath.Join(t.TempDir(), "ca")
	require.NoError(t, os.MkdirAll(volume, 0o755))
	output, err := runSetup(t, namespace, "below", volume, company, true)
	require.NoError(t, err, output)
	waitFacts(t, namespace, "below", "Initializing Initialized=True/CAInitialized CAReady=False/NotAnswering OperatorSigningReady=False/Bootstrap")
	require.Equal(t, string(certificate), string(secretValue(t, namespace, "below-ca", "ca_crt.pem")))
	_, facts := authorityOf(t, namespace, "other")
	require.Equal(t, "Initializing Initialized=False/SettingUp", facts, "the other CA has nothing of it")
	require.Empty(t, secretValue(t, namespace, "other-ca", "ca_crt.pem"))

	made := waitSigned(t, namespace, "below-server", nil)
	require.True(t, administers(made), "the one that is made where none is named")
	require.NoError(t, made.VerifyHostname("below-internal."+namespace+".svc"))
	require.GreaterOrEqual(t, made.SerialNumber.Int64(), int64(0x100), "serials that are in use stay so")

	// A Certificate is named late, and its names differ from those of the key pair: the Job runs
	// again, for the server could not start without.
	mustKubectl(t, certificateObject(namespace, "server", `{"authorityRef":"below","certname":"ca.example.com"}`), "apply", "-f", "-")
	mustKubectl(t, "", "patch", "ca", "below", "-n", namespace, "--type=merge", "-p", `{"spec":{"serverCertificateRef":"server"}}`)
	waitFacts(t, namespace, "below", "Initializing Initialized=False/SettingUp CAReady=False/NotAnswering OperatorSigningReady=False/Bootstrap")
	eventually(t, func() bool {
		return strings.Contains(mustGet(t, "job", "below-ca-setup", "-n", namespace, "--ignore-not-found", "-o", "json"), "ca.example.com")
	}, "the Job for the Certificate")
	empty := filepath.Join(t.TempDir(), "ca")
	require.NoError(t, os.MkdirAll(empty, 0o755))
	output, err = runSetup(t, namespace, "below", empty, "", false)
	require.Error(t, err)
	require.Contains(t, output, "The volume holds no CA", "another CA is never set up in place of one")
	output, err = runSetup(t, namespace, "below", volume, company, false)
	require.NoError(t, err, output)
	require.NoError(t, waitSigned(t, namespace, "server", nil).VerifyHostname("below-internal."+namespace+".svc"))
	require.Equal(t, string(certificate), string(secretValue(t, namespace, "below-ca", "ca_crt.pem")))

	mustKubectl(t, "", "patch", "ca", "below", "-n", namespace, "--type=merge", "-p", `{"spec":{"deletionPolicy":"Delete"}}`)
	eventually(t, func() bool {
		return mustGet(t, "secret", "below-ca-key", "-n", namespace, "-o", "jsonpath={.metadata.ownerReferences[0].name}") == "below"
	}, "the keys to go with the CA")
	mustKubectl(t, "", "delete", "ca", "below", "-n", namespace)
	eventually(t, func() bool {
		_, ok := get(t, "secret", "below-ca-key", "-n", namespace)
		return !ok
	}, "the keys to go")
}

// companyCA is a CA with its CRL, in PEM.
func companyCA(t *testing.T) (key, certificate, crl []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Company"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	root, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour)}, root, private)
	require.NoError(t, err)
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private)), encode("CERTIFICATE", der), encode("X509 CRL", list)
}
