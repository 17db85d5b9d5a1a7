package chart

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	puppetNamespace = "puppet"
	puppetImage     = "localhost/openvox-server"
	databaseImage   = "localhost/openvox-db"
	codeImage       = "localhost/puppet-code"
	endpointImage   = "localhost/puppet-endpoint:stand-in"
	stable, canary  = "v8.0.1", "v8.0.2"
)

// puppetStack is a CA and servers of two versions behind one Pool, in an order in which each
// object precedes the objects that it refers to.
const puppetStack = `
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Server
metadata: {name: ca}
spec:
  configRef: production
  certificateRef: ca-server
  ca: true
  server: false
  poolRefs: [puppet-ca]
  securityContext: {runAsUser: 1000660000} # not that of the setup Job
  javaArgs: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
  resources: {limits: {memory: 1Gi}}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Server
metadata: {name: stable}
spec:
  configRef: production
  certificateRef: stable
  maxActiveInstances: 2
  poolRefs: [puppet]
  javaArgs: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
  resources: {limits: {memory: 1500Mi}}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Server
metadata: {name: canary}
spec:
  configRef: production
  certificateRef: canary
  image: {tag: ` + canary + `}
  poolRefs: [puppet]
  securityContext: {runAsUser: 1000660000}
  javaArgs: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
  resources: {limits: {memory: 1500Mi}}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Pool
metadata: {name: puppet}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Pool
metadata: {name: puppet-ca}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Certificate
metadata: {name: stable}
spec: {authorityRef: main, certname: stable.example.com, dnsAltNames: [puppet]}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Certificate
metadata: {name: canary}
spec: {authorityRef: main, certname: canary.example.com, dnsAltNames: [puppet]}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Certificate
metadata: {name: ca-server}
spec: {authorityRef: main, certname: ca.example.com, dnsAltNames: [puppet-ca]}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: SigningPolicy
metadata: {name: web}
spec: {certificateAuthorityRef: main, pattern: {allow: ["web*"]}}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Config
metadata:
  name: production
  annotations: {lintel.dev/autosign-image: ` + puppetImage + `}
spec:
  image: {repository: ` + puppetImage + `, tag: ` + stable + `}
  authorityRef: main
  databaseRef: store
  nodeClassifierRef: endpoint
  code: {image: "` + codeImage + `:1"}
  readOnlyRootFilesystem: true
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: CertificateAuthority
metadata: {name: main}
spec: {crlRefreshInterval: 10s}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: NodeClassifier
metadata: {name: endpoint}
spec: {url: "http://endpoint:8080", request: {method: POST, path: "/node/{certname}", body: facts}, response: {format: yaml}}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: ReportProcessor
metadata: {name: endpoint}
spec: {configRef: production, url: "http://endpoint:8080/reports"}
---
apiVersion: v1
kind: Service
metadata: {name: endpoint}
spec: {selector: {app: endpoint}, ports: [{port: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: endpoint, labels: {app: endpoint}}
spec: {containers: [{name: endpoint, image: "` + endpointImage + `"}]}
`

// TestOpenVoxOnPods: agents get certificates and catalogs of servers that are Pods, and each
// change concerns just the servers that it is about.
func TestOpenVoxOnPods(t *testing.T) {
	t.Parallel()
	n := startPuppetNode(t)
	t.Run("the stack's chart", func(t *testing.T) { t.Parallel(); n.testStack(t) })
	t.Run("servers", func(t *testing.T) { t.Parallel(); n.testServers(t) })
}

// testServers goes from nothing to three servers and a Database. Steps that replace no server
// run side by side, and so do those that replace different ones.
func (n node) testServers(t *testing.T) {
	n.volume(t, "ca-data", puppetNamespace, "main-data", t.TempDir()) // its Pods' group's
	n.must(t, "", "create", "namespace", puppetNamespace)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := n.kubectl(context.WithoutCancel(t.Context()), "", "get", "events", "--namespace", puppetNamespace, "--sort-by=.lastTimestamp")
			t.Log(out)
			out, _ = n.kubectl(context.WithoutCancel(t.Context()), "", "logs", "--namespace", puppetNamespace, "--selector", "openvox.voxpupuli.org/server", "--prefix", "--tail=60")
			t.Log(out)
		}
	})

	n.startPostgres(t)
	began := time.Now()
	n.mustBeTaken(t, puppetStack+"---"+database, "--namespace", puppetNamespace)
	n.inPuppet(t, "wait", "--for=condition=Ready", "servers,databases", "--all", "--timeout=10m")
	n.inPuppet(t, "wait", "--for=condition=Ready", "pools", "--all", "--timeout=1m")
	t.Logf("from nothing to three servers and a Database: %s", time.Since(began).Round(time.Second))
	require.Equal(t, "2", n.inPuppet(t, "get", "pool/puppet", "-o", "jsonpath={.status.endpoints}"))

	began = time.Now()
	web := n.newAgent(t, "web1.example.com")
	out := web.mustRun(t)
	require.Contains(t, out, "compiled from code 1 for web1.example.com, role of web1.example.com on Debian", "the classifier gets the node's facts")
	require.Contains(t, out, "classified", "and its classes are in the catalog")
	t.Logf("an agent's certificate and first catalog: %s", time.Since(began).Round(time.Second))
	require.Contains(t, web.mustRun(t), "compiled from code 1", "again, with what it has")
	last := ""
	defer func() { t.Logf("reports of %s", last) }()
	eventually(t, func() bool {
		got, err := n.client.CoreV1().RESTClient().Get().Namespace(puppetNamespace).Resource("services").Name("endpoint:8080").SubResource("proxy").Suffix("reports").DoRaw(t.Context())
		last = strings.TrimSpace(string(got))
		return err == nil && last == `["web1.example.com changed","web1.example.com changed"]`
	}, "both reports arrive, once each")

	before := n.servers(t)
	t.Run("no server is replaced", func(t *testing.T) {
		t.Run("a signing policy is obeyed by the CA that runs", func(t *testing.T) { t.Parallel(); n.testSigningPolicy(t) })
		t.Run("a certificate is revoked", func(t *testing.T) { t.Parallel(); n.testRevocation(t) })
		t.Run("three agents connect at the same time", func(t *testing.T) { t.Parallel(); n.testAgents(t) })
		t.Run("a Database has what servers send", func(t *testing.T) { t.Parallel(); n.testDatabase(t, web) })
	})
	require.Equal(t, before, n.servers(t), "neither for signing policies nor for CRLs")
	t.Run("code rolls the servers that it concerns, while the CA's server is lost", func(t *testing.T) { n.testCode(t, web) })
	code := t.TempDir() // the canary has it until the end
	t.Run("two servers change", func(t *testing.T) {
		t.Run("three replicas have one certificate", func(t *testing.T) { t.Parallel(); n.testReplicas(t) })
		t.Run("code may be on a claim", func(t *testing.T) { t.Parallel(); n.testClaim(t, web, code) })
	})
	t.Run("an image that cannot be pulled is reported, and what runs goes on", func(t *testing.T) { n.testMissingImage(t, web) })
	t.Run("the CA stays when all else is deleted", n.testDeletion)
}

func (n node) testSigningPolicy(t *testing.T) {
	waiting := n.newAgent(t, "db1.example.com")
	out, err := waiting.run(t)
	require.Error(t, err, out)
	require.NotContains(t, out, "compiled from code")
	require.Regexp(t, `db1\.example\.com +pending .*refused: signing policy "web": certname "db1\.example\.com" matches none`, n.lintel(t, "list", "--state", "pending"))
	n.inPuppet(t, "patch", "signingpolicy/web", "--type=merge", "-p", `{"spec": {"pattern": {"allow": ["web*", "db*"]}}}`)
	number := 1
	eventually(t, func() bool {
		number++ // a request that waits at the CA is not reviewed again
		certname := fmt.Sprintf("db%d.example.com", number)
		out, _ = n.newAgent(t, certname).run(t)
		return strings.Contains(out, "compiled from code 1 for "+certname)
	}, "the policy takes effect")
	require.Contains(t, n.lintel(t, "sign", "db1.example.com"), "db1.example.com: signed", "through the Pod of the CA")
	require.Contains(t, waiting.mustRun(t), "compiled from code 1 for db1.example.com")
}

// lintel runs `lintel openvox ca` for CertificateAuthority main.
func (n node) lintel(t *testing.T, words ...string) string {
	t.Helper()
	program := filepath.Join(os.Getenv("LINTEL_PROGRAMS"), "lintel")
	if os.Getenv("LINTEL_PROGRAMS") == "" {
		program = filepath.Join(t.TempDir(), "lintel")
		out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", program, "./cmd/lintel").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"openvox", "ca", "--kubeconfig", n.kubeconfig, "--namespace", puppetNamespace, "--ca", "main"}, words...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func (n node) testRevocation(t *testing.T) {
	crl := func() string {
		return n.inPuppet(t, "get", "secret/main-ca-crl", "-o", "jsonpath={.data.ca_crl\\.pem}")
	}
	web := n.newAgent(t, "web3.example.com")
	require.Contains(t, web.mustRun(t), "compiled from code 1")
	had := crl()
	n.must(t, "apiVersion: openvox.voxpupuli.org/v1alpha1\nkind: Certificate\nmetadata: {name: spare}\nspec: {authorityRef: main, certname: spare.example.com}\n", "apply", "--namespace", puppetNamespace, "-f", "-")
	n.inPuppet(t, "wait", "--for=jsonpath={.status.phase}=Signed", "certificates.openvox.voxpupuli.org/spare", "--timeout=1m")
	secret, err := n.client.CoreV1().Secrets(puppetNamespace).Get(t.Context(), "spare-tls", metav1.GetOptions{})
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(secret.Data["cert.pem"], secret.Data["key.pem"])
	require.NoError(t, err)
	environments := func() int {
		status, _ := n.ask(t, "puppet", "8140", "puppet", "/puppet/v3/environments", web.authority(t), pair)
		return status
	}
	require.Equal(t, http.StatusOK, environments())
	n.inPuppet(t, "delete", "certificates.openvox.voxpupuli.org/spare", "--timeout=2m")
	eventually(t, func() bool { return crl() != had }, "the CRL has the revoked certificate")
	require.Eventually(t, func() bool { return environments() == 0 }, 3*time.Minute, 2*time.Second, "servers refuse it, once the kubelet has given them the CRL")
	require.Contains(t, web.mustRun(t), "compiled from code 1")
}

func (n node) testAgents(t *testing.T) {
	outs := make(chan string, 3)
	for i := range 3 {
		a := n.newAgent(t, fmt.Sprintf("web%d.example.com", 5+i))
		go func() {
			out, err := a.run(t)
			outs <- fmt.Sprintf("%v %s %s", err, a.certname, out)
		}()
	}
	for range 3 {
		require.Regexp(t, `^<nil> (\S+) (?s:.*)compiled from code 1 for web[567].example.com`, <-outs)
	}
}

// testCode changes the code, which the CA's server does not read, and deletes the CA's Pod.
func (n node) testCode(t *testing.T, web agent) {
	written := func() string {
		return n.inPuppet(t, "get", "deployments", "--selector=openvox.voxpupuli.org/server=ca", "-o", "jsonpath={.items[*].metadata.name} {.items[*].metadata.generation}")
	}
	before, had := n.servers(t), written()
	require.Regexp(t, `^\S+ \d+$`, had)
	n.inPuppet(t, "delete", "pods", "--selector=openvox.voxpupuli.org/server=ca", "--wait=false")
	n.inPuppet(t, "patch", "config/production", "--type=merge", "-p", `{"spec": {"code": {"image": "`+codeImage+`:2"}}}`)
	n.rolled(t, before, "ca", "stable", "canary")
	require.Equal(t, had, written(), "the CA compiles nothing")
	require.Contains(t, n.newAgent(t, "web2.example.com").mustRun(t), "compiled from code 2 for web2.example.com", "the same CA signs")
	require.Contains(t, web.mustRun(t), "compiled from code 2 for web1.example.com")
}

func (n node) testReplicas(t *testing.T) {
	n.inPuppet(t, "patch", "server/stable", "--type=merge", "-p", `{"spec": {"replicas": 3}}`)
	eventually(t, func() bool {
		return n.inPuppet(t, "get", "server/stable", "-o", `jsonpath={.status.ready} {.status.desired} {.status.conditions[?(@.type=="Ready")].status}`) == "3 3 True"
	}, "three servers are ready")
	eventually(t, func() bool {
		return n.inPuppet(t, "get", "pool/puppet", "-o", "jsonpath={.status.endpoints}") == "4"
	}, "and the canary's, which is replaced meanwhile")
	serials := map[string]bool{}
	for _, pod := range n.puppetPods(t) {
		if pod.Labels["openvox.voxpupuli.org/server"] == "stable" {
			out := n.must(t, "", "exec", "--namespace", puppetNamespace, pod.Name, "--", "sha256sum", "/etc/puppetlabs/puppet/ssl/certs/puppet.pem", "/etc/puppetlabs/puppet/ssl/private_keys/puppet.pem")
			serials[out] = true
		}
	}
	require.Len(t, serials, 1)
	n.inPuppet(t, "patch", "server/stable", "--type=merge", "-p", `{"spec": {"replicas": 1}}`)
}

// testClaim leaves a Service canary, for which the canary's certificate is issued again.
func (n node) testClaim(t *testing.T, web agent, code string) {
	require.NoError(t, os.MkdirAll(filepath.Join(code, "production/manifests"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(code, "production/manifests/site.pp"), []byte("notify { 'compiled from a claim': }\nclass classified {}\n"), 0o600))
	require.NoError(t, exec.Command("chmod", "-R", "a+rX", code).Run())
	n.volume(t, "code", puppetNamespace, "code", code)
	n.must(t, `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "code"}, "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "code", "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}}`, "apply", "--namespace", puppetNamespace, "-f", "-")
	n.must(t, `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "canary"}, "spec": {"selector": {"openvox.voxpupuli.org/server": "canary"}, "ports": [{"port": 8140}]}}`, "apply", "--namespace", puppetNamespace, "-f", "-")
	only := web.of("canary")
	out, err := only.run(t)
	require.Error(t, err, "the certificate is for puppet, and not for canary: %s", out)
	n.inPuppet(t, "patch", "certificates.openvox.voxpupuli.org/canary", "--type=merge", "-p", `{"spec": {"dnsAltNames": ["puppet", "canary"]}}`)
	n.inPuppet(t, "patch", "server/canary", "--type=merge", "-p", `{"spec": {"code": {"claimName": "code"}}}`)
	require.Eventually(t, func() bool {
		out, err = only.run(t)
		return err == nil && strings.Contains(out, "compiled from a claim")
	}, 8*time.Minute, 5*time.Second, "the certificate is issued again, for the name, too")
	n.inPuppet(t, "wait", "--for=condition=Ready", "server/canary", "--timeout=8m")
}

func (n node) testMissingImage(t *testing.T, web agent) {
	n.inPuppet(t, "patch", "server/canary", "--type=merge", "-p", `{"spec": {"image": {"tag": "v9.9.9", "pullPolicy": "Never"}}}`)
	eventually(t, func() bool {
		return strings.Contains(n.inPuppet(t, "get", "server/canary", "-o", `jsonpath={.status.phase} {.status.conditions[?(@.type=="Ready")].reason}`), "Running ErrImageNeverPull")
	}, "the Server reports the reason")
	require.Contains(t, web.of("canary").mustRun(t), "compiled from a claim")
}

func (n node) testDeletion(t *testing.T) {
	n.inPuppet(t, "delete", "servers,pools,databases,configs,certificateauthorities", "--all", "--timeout=1m")
	n.inPuppet(t, "delete", "deployment/postgres", "--timeout=1m")
	eventually(t, func() bool { return len(n.puppetPods(t)) == 0 }, "no Pod is left")
	out := n.inPuppet(t, "get", "pvc,secrets,services", "-o", "name")
	for _, kept := range []string{"persistentvolumeclaim/main-data", "secret/main-ca", "secret/main-ca-key"} {
		assert.Contains(t, out, kept)
	}
	assert.NotContains(t, out, "service/puppet")
	assert.NotContains(t, out, "service/main")
	eventually(t, func() bool {
		return !strings.Contains(n.inPuppet(t, "get", "statefulsets,services,networkpolicies,pods", "-o", "name"), "store")
	}, "nothing of the Database is left")
}

// startPuppetNode starts a node with Lintel, and the images of servers and of code, which are
// built while the node starts.
func startPuppetNode(t *testing.T) node {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("a node whose Pods run needs root")
	}
	images := t.TempDir()
	made := inBackground(t, func() error {
		return errors.Join(
			makePresent(filepath.Join(images, "manager")),
			makePuppetImages(t.Context(), filepath.Join(images, "puppet"), t.TempDir()),
			output(".", nil, "go", "build", "-o", filepath.Join(images, "endpoint"), "./endpoint"),
		)
	})
	n := startNode(t)
	require.NoError(t, made())
	run(t, ".", n.binaries["node"], "images", filepath.Join(images, "programs"), endpointImage+"="+filepath.Join(images, "endpoint"))
	for _, name := range []string{"manager", "puppet", "programs"} {
		n.importImages(t, filepath.Join(images, name))
	}
	n.collectRaces(t)
	n.mustHelm(t, slices.Concat([]string{"install", "lintel", folder, "--create-namespace"},
		values(present, "systems.openvox.enabled=true", "systems.openvox.keyBits=2048"), wait(2*time.Minute))...)
	return n
}

func (n node) inPuppet(t *testing.T, args ...string) string {
	t.Helper()
	return n.must(t, "", append(args, "--namespace", puppetNamespace)...)
}

// volume is a folder of this machine for one claim: without a name, any claim could take it.
func (n node) volume(t *testing.T, name, namespace, claim, folder string) {
	t.Helper()
	nodes, err := n.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = n.client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{nodes.Items[0].Name}}},
			}}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// puppetPods are those of servers that are not being deleted.
func (n node) puppetPods(t *testing.T) []corev1.Pod {
	t.Helper()
	pods, err := n.client.CoreV1().Pods(puppetNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "openvox.voxpupuli.org/server"})
	require.NoError(t, err)
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// servers are the names of the Pods of each Server, in order, with the containers that have
// been started again.
func (n node) servers(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, pod := range n.puppetPods(t) {
		for _, c := range pod.Status.ContainerStatuses {
			names[pod.Labels["openvox.voxpupuli.org/server"]] += fmt.Sprintf("%s %d ", pod.Name, c.RestartCount)
		}
	}
	return names
}

// rolled waits until other Pods than before are those of the Servers, and all are ready.
func (n node) rolled(t *testing.T, before map[string]string, servers ...string) {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool {
		now := n.servers(t)
		for _, server := range servers {
			for pod := range strings.FieldsSeq(now[server]) {
				if strings.Contains(before[server], pod) && len(pod) > 1 {
					return false
				}
			}
		}
		for _, pod := range n.puppetPods(t) {
			if !isReady(pod) {
				return false
			}
		}
		return len(now) == len(before)
	}, 8*time.Minute, time.Second, "%v are replaced", servers)
	t.Logf("%v: %s", servers, time.Since(began).Round(time.Second))
}

// agent is a Puppet agent of this machine, which reaches the Pools through a proxy.
type agent struct {
	n                      node
	certname, folder, port string
	// server and caServer are Pools, or Services with their namespaces.
	server, caServer string
}

// of is the agent with the Service of another server.
func (a agent) of(server string) agent {
	a.server = server
	return a
}

func (n node) newAgent(t *testing.T, certname string) agent {
	t.Helper()
	a := agent{n: n, certname: certname, folder: t.TempDir(), server: "puppet", caServer: "puppet-ca"}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		if r.Method != http.MethodConnect {
			http.Error(w, "this proxy connects only", http.StatusMethodNotAllowed)
			return
		}
		if err := n.connect(r.Context(), host, w); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})}
	go server.Serve(listener) //nolint:errcheck // it ends with Close
	t.Cleanup(func() { server.Close() })
	_, a.port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return a
}

var forwarding = regexp.MustCompile(`127\.0\.0\.1:([0-9]+) ->`)

// connect leads a client's connection to the Service of a Pool, by its name, or by
// <name>.<namespace>.svc.
func (n node) connect(ctx context.Context, host string, w http.ResponseWriter) error {
	pool, domain, _ := strings.Cut(host, ".")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	there, end, err := n.forward(ctx, pool, "8140", cmp.Or(strings.TrimSuffix(domain, ".svc"), puppetNamespace))
	if err != nil {
		return err
	}
	defer end()
	defer stop()
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer here.Close()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(there, buffered); done <- struct{}{} }()
	go func() { _, _ = io.Copy(here, there); done <- struct{}{} }()
	<-done
	return nil
}

// forward is a connection to a Service, until the context ends, for which end waits.
func (n node) forward(ctx context.Context, service, port, namespace string) (there net.Conn, end func(), err error) {
	cmd := exec.CommandContext(ctx, n.binaries["kubectl"], "port-forward", "service/"+service, ":"+port, "--namespace", namespace)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig, "KUBERC=off")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	end = func() { _ = cmd.Wait() } // it is killed
	fail := func(err error) (net.Conn, func(), error) {
		_ = cmd.Process.Kill()
		end()
		return nil, nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	local := forwarding.FindStringSubmatch(line)
	if err != nil || local == nil {
		return fail(fmt.Errorf("service %s is not forwarded: %q", service, line))
	}
	if there, err = (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+local[1]); err != nil {
		return fail(err)
	}
	return there, end, nil
}

// unreached is what the agent says where a server was not reached, or has closed the
// connection: on a busy machine, a server may not answer in time.
var unreached = regexp.MustCompile(`Request to \S+ failed after|Connection refused`)

// run returns what the agent prints. Its error is that it has not got a catalog, or not applied
// it. An agent that does not reach a server is run again, as its daemon would do.
func (a agent) run(t *testing.T) (out string, err error) {
	t.Helper()
	for range 3 {
		if out, err = a.runOnce(t); err == nil || !unreached.MatchString(out) {
			break
		}
	}
	return out, err
}

func (a agent) runOnce(t *testing.T) (string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute) // agents run side by side
	defer stop()
	cmd := exec.CommandContext(ctx, "puppet", "agent", "--onetime", "--no-daemonize", "--verbose", "--no-usecacheonfailure", "--no-splay", "--color=false",
		"--report", "--waitforcert=0", "--certname", a.certname, "--server", a.server, "--ca_server", a.caServer,
		"--confdir", a.folder+"/conf", "--vardir", a.folder+"/var", "--ssldir", a.folder+"/ssl", "--rundir", a.folder+"/run", "--logdir", a.folder+"/log",
		"--http_proxy_host", "127.0.0.1", "--http_proxy_port", a.port)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (a agent) mustRun(t *testing.T) string {
	t.Helper()
	out, err := a.run(t)
	require.NoError(t, err, out)
	return out
}
