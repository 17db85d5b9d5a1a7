package openvox

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// apiServer is an API server with some objects, which forwards ports of Pods by SPDY alone.
type apiServer struct {
	*httptest.Server
	t       *testing.T
	objects map[string]any
	// forbidden are paths that are answered with 403.
	forbidden map[string]bool
	// forwardTo is where forwarded ports lead: "" refuses connections, as a node does.
	forwardTo string
	// streams is after how many connections to a port a port-forward ends: 0 for never.
	streams int

	mutex sync.Mutex
	// forwardedTo are the Pods whose ports are forwarded.
	forwardedTo []string
}

const base = "/apis/openvox.voxpupuli.org/v1alpha1/namespaces/puppet/"

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	resource := func(name, kind string) map[string]any {
		return map[string]any{"name": name, "kind": kind, "namespaced": true, "verbs": []string{"get", "list"}}
	}
	version := map[string]any{"groupVersion": "openvox.voxpupuli.org/v1alpha1", "version": "v1alpha1"}
	apps := map[string]any{"groupVersion": "apps/v1", "version": "v1"}
	a := &apiServer{t: t, forbidden: map[string]bool{}, objects: map[string]any{
		"/api": map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis": map[string]any{"kind": "APIGroupList", "groups": []any{
			map[string]any{"name": "openvox.voxpupuli.org", "versions": []any{version}, "preferredVersion": version},
			map[string]any{"name": "apps", "versions": []any{apps}, "preferredVersion": apps},
		}},
		"/apis/apps/v1": map[string]any{"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": []any{resource("replicasets", "ReplicaSet"), resource("deployments", "Deployment")}},
		"/api/v1":       map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{resource("secrets", "Secret"), resource("pods", "Pod"), resource("events", "Event")}},
		"/apis/openvox.voxpupuli.org/v1alpha1": map[string]any{"kind": "APIResourceList", "groupVersion": "openvox.voxpupuli.org/v1alpha1", "resources": []any{
			resource("certificateauthorities", "CertificateAuthority"), resource("certificates", "Certificate"), resource("configs", "Config"), resource("servers", "Server"),
		}},
	}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["here"] = &clientcmdapi.Cluster{Server: a.URL}
	config.Contexts["here"] = &clientcmdapi.Context{Cluster: "here", Namespace: "puppet"}
	config.CurrentContext = "here"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	t.Setenv("KUBECONFIG", file)
	return a
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := func(code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason)})
	}
	switch object, ok := a.objects[r.URL.Path]; {
	case a.forbidden[r.URL.Path]:
		status(http.StatusForbidden, metav1.StatusReasonForbidden)
	case strings.HasSuffix(r.URL.Path, "/portforward") && r.Method == http.MethodPost:
		a.forward(w, r)
	case strings.HasSuffix(r.URL.Path, "/portforward"):
		status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
	case !ok:
		status(http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object)
	}
}

// forward does what a kubelet does: two streams are a connection.
func (a *apiServer) forward(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	a.mutex.Lock()
	a.forwardedTo = append(a.forwardedTo, strings.Split(r.URL.Path, "/")[6])
	a.mutex.Unlock()
	var mutex sync.Mutex
	count := 0
	failures := map[string]httpstream.Stream{}
	var connection httpstream.Connection
	connection = spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, sent <-chan struct{}) error {
		request := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
		mutex.Lock()
		defer mutex.Unlock()
		if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			failures[request] = stream
			return nil
		}
		failure := failures[request]
		count++
		last := count == a.streams
		go func() {
			if last {
				defer connection.Close()
			}
			<-sent
			defer stream.Close()
			defer failure.Close()
			server, err := net.Dial("tcp", a.forwardTo)
			if err != nil {
				_, _ = io.WriteString(failure, "connection refused")
				return
			}
			defer server.Close()
			go func() { _, _ = io.Copy(server, stream); _ = server.Close() }()
			_, _ = io.Copy(stream, server)
		}()
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	<-connection.CloseChan()
}

func list(kind string, items ...any) map[string]any {
	version := v1alpha1.SchemeGroupVersion.String()
	if kind == "PodList" {
		version = "v1"
	}
	return map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{}, "items": append([]any{}, items...)}
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "puppet", Name: name}, Data: data}
}

func authority(name string) *v1alpha1.CertificateAuthority {
	return &v1alpha1.CertificateAuthority{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "CertificateAuthority"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "puppet", Name: name},
	}
}

func certificate(name, certname string) *v1alpha1.Certificate {
	return &v1alpha1.Certificate{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Certificate"}, ObjectMeta: metav1.ObjectMeta{Namespace: "puppet", Name: name},
		Spec: v1alpha1.CertificateSpec{AuthorityRef: "main", Certname: certname}, Status: v1alpha1.CertificateStatus{Phase: v1alpha1.CertificateSigned},
	}
}

// rendered is the file of the CA's autosign hook: names below example.com without DNS names.
func rendered(t *testing.T) []byte {
	t.Helper()
	text, err := signing.Rendered{Policies: []signing.Policy{{Name: "nodes", Pattern: &signing.Allow{Allow: []string{"*.example.com"}}}}, Reserved: []string{"server.example.com"}}.Write()
	require.NoError(t, err)
	return text
}

// site is a CA in the cluster, with its Pod and its Secrets.
func site(t *testing.T) (*openvoxtest.CA, *apiServer) {
	t.Helper()
	ca := openvoxtest.NewCA(t, func(ca *openvoxtest.CA) { ca.Hosts = []string{"main-internal.puppet.svc"} })
	api := newAPIServer(t)
	api.forwardTo = ca.Listener.Addr().String()
	pair := openvoxtest.NewPair(t, ca, &x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}})
	ca.Issued["main-operator"] = layout.StoredPair(pair)
	server := openvoxtest.NewPair(t, ca, &x509.Certificate{Subject: pkix.Name{CommonName: "server.example.com"}})
	ca.Issued["server.example.com"] = layout.StoredPair(server)
	config := openvoxtest.MakeConfig("main")
	caServer := openvoxtest.MakeCAServer()
	for path, object := range map[string]any{
		base + "certificateauthorities":                               list("CertificateAuthorityList", authority("main")),
		base + "certificateauthorities/main":                          authority("main"),
		base + "certificates":                                         list("CertificateList", certificate("server", "server.example.com"), certificate("main-operator-signing", "main-operator")),
		base + "configs":                                              list("ConfigList", config),
		base + "servers":                                              list("ServerList", caServer),
		"/api/v1/namespaces/puppet/secrets/main-ca":                   secret("main-ca", map[string][]byte{layout.CAFile: ca.Bundle()}),
		"/api/v1/namespaces/puppet/secrets/main-autosign-policy":      secret("main-autosign-policy", map[string][]byte{layout.PolicyFile: rendered(t)}),
		"/api/v1/namespaces/puppet/secrets/main-operator-signing-tls": secret("main-operator-signing-tls", pair),
		"/api/v1/namespaces/puppet/pods":                              list("PodList", caPod("ca-0", "ca-66d9")),
		replicaSets + "ca-66d9":                                       workload("ReplicaSet", "ca-66d9", "Deployment", "ca", "ca"),
		deployments + "ca":                                            workload("Deployment", "ca", "Server", "ca", "ca"),
	} {
		api.objects[path] = object
	}
	return ca, api
}

const (
	replicaSets = "/apis/apps/v1/namespaces/puppet/replicasets/"
	deployments = "/apis/apps/v1/namespaces/puppet/deployments/"
)

// workload is an object whose UID is its name, with an owner.
func workload(kind, name, ownerKind, owner, ownerUID string) *metav1.PartialObjectMetadata {
	group := "apps/v1"
	if ownerKind == "Server" {
		group = v1alpha1.SchemeGroupVersion.String()
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "puppet", Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: group, Kind: ownerKind, Name: owner, UID: types.UID(ownerUID), Controller: new(true)}},
		},
	}
}

// caPod is a ready Pod with the labels of the CA's server, of a ReplicaSet.
func caPod(name, replicaSet string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "puppet", Name: name, Labels: map[string]string{"pod-template-hash": "66d9"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, UID: types.UID(replicaSet), Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// TestPodOfTheCA: ports are forwarded to the oldest ready Pod of the CA's Server, and not to others with
// its labels.
func TestPodOfTheCA(t *testing.T) {
	pods := "/api/v1/namespaces/puppet/pods"
	planted, older, newer := caPod("a-planted", "other-66d9"), caPod("older", "ca-66d9"), caPod("newer", "ca-66d9")
	bare := caPod("a-bare", "ca-66d9")
	bare.OwnerReferences = nil
	forged, notController := caPod("a-forged", "ca-66d9"), caPod("a-reference", "ca-66d9")
	forged.OwnerReferences[0].UID = "another"
	notController.OwnerReferences[0].Controller = nil
	newer.CreationTimestamp, planted.CreationTimestamp = metav1.Unix(20, 0), metav1.Unix(30, 0)
	older.CreationTimestamp = metav1.Unix(10, 0)
	for name, change := range map[string]func(*apiServer){
		"older": func(api *apiServer) { api.objects[pods] = list("PodList", planted, bare, newer, older) },
		"a-planted": func(api *apiServer) {
			api.objects[pods] = list("PodList", planted)
			api.forbidden[base+"servers"] = true
		},
		"belongs to no Server":         func(api *apiServer) { api.objects[pods] = list("PodList", planted, bare) },
		"belongs to no Server, by UID": func(api *apiServer) { api.objects[pods] = list("PodList", forged, notController) },
		"belongs to no Server, by its ReplicaSet": func(api *apiServer) {
			api.objects[replicaSets+"ca-66d9"] = workload("ReplicaSet", "ca-66d9", "Deployment", "ca", "another")
			api.objects[pods] = list("PodList", older)
		},
		"belongs to no Server, by its Deployment": func(api *apiServer) {
			api.objects[deployments+"ca"] = workload("Deployment", "ca", "Server", "ca", "another")
			api.objects[pods] = list("PodList", older)
		},
		"newer": func(api *apiServer) { api.objects[pods] = list("PodList", deleted(older), newer) },
	} {
		_, api := site(t)
		change(api)
		_, _, err := lintel(t, "ca", "list")
		if strings.HasPrefix(name, "belongs to no Server") {
			require.ErrorContains(t, err, "belongs to no Server with spec.ca of this CertificateAuthority", name)
			require.Empty(t, api.forwardedTo)
			continue
		}
		require.Equal(t, []string{name}, api.forwardedTo, name)
	}
}

func unready(pod *corev1.Pod) *corev1.Pod {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	return pod
}

func deleted(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = new(metav1.Unix(40, 0))
	return pod
}

// TestForwardIsOpenedAgain: the CA's Pod may be replaced while a command runs.
func TestForwardIsOpenedAgain(t *testing.T) {
	ca, api := site(t)
	api.streams = 1
	name := "older"
	f := newForward(&rest.Config{Host: api.URL}, func(context.Context) (client.ObjectKey, error) {
		return client.ObjectKey{Namespace: "puppet", Name: name}, nil
	}, 8140)
	t.Cleanup(f.close)
	ask := func() {
		connection, err := f.dial(t.Context())
		require.NoError(t, err)
		defer connection.Close()
		secure := tls.Client(connection, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // whether it answers
		require.NoError(t, secure.HandshakeContext(t.Context()))
		require.Equal(t, ca.Certificate().Raw, secure.ConnectionState().PeerCertificates[0].Raw)
	}
	ask()
	select {
	case <-f.current.connection.CloseChan():
	case <-time.After(time.Minute):
		t.Fatal("the port-forward goes on")
	}
	name = "newer"
	ask()
	require.Equal(t, []string{"older", "newer"}, api.forwardedTo)
}

// lintel runs a command line of `lintel openvox`.
func lintel(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := newCommandWithPause(time.Millisecond)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out, notes bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&notes)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), notes.String(), err
}

// request sends a certificate request that stays pending at a CA.
func request(t *testing.T, ca *openvoxtest.CA, template csrtest.Template) {
	t.Helper()
	ca.Requests[template.CommonName] = template.Make(t)
}

// issue has a CA issue a certificate for a certname.
func issue(t *testing.T, ca *openvoxtest.CA, names ...string) {
	t.Helper()
	for _, name := range names {
		ca.Issued[name] = layout.StoredPair(openvoxtest.NewPair(t, ca, &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}}))
	}
}

// TestList: through a forwarded port, certificates and requests with what the policies say.
func TestList(t *testing.T) {
	ca, api := site(t)
	request(t, ca, csrtest.Template{CommonName: "good.example.com"})
	request(t, ca, csrtest.Template{CommonName: "other.example.org", DNSNames: []string{"x.example.org"}})
	issue(t, ca, "web.example.com", "gone.example.com")
	ca.Revoked = append(ca.Revoked, ca.Issued["gone.example.com"].SerialNumber)

	text, notes, err := lintel(t, "ca", "list", "-n", "puppet")
	require.NoError(t, err)
	require.Empty(t, notes)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, lines, 7, text)
	require.Regexp(t, `^CERTNAME +STATE +EXPIRES +CERTIFICATE +POLICIES$`, lines[0])
	require.Regexp(t, `^good\.example\.com +pending +- +- +permitted$`, lines[1])
	require.Regexp(t, `^other\.example\.org +pending +- +- +refused: signing policy "nodes": certname "other\.example\.org" matches none`, lines[2])
	require.Regexp(t, `^server\.example\.com +signed +\d{4}-\d\d-\d\d +server +-$`, lines[4])
	require.Regexp(t, `^gone\.example\.com +revoked`, lines[6])

	text, _, err = lintel(t, "ca", "list", "--state", "pending", "-o", "json", "--ca", "main", "*.example.org")
	require.NoError(t, err)
	var found listing
	require.NoError(t, json.Unmarshal([]byte(text), &found))
	require.Equal(t, "puppet/main", found.CertificateAuthority)
	require.Len(t, found.Certificates, 1)
	require.Equal(t, refused, found.Certificates[0].Policies)
	require.NotEmpty(t, found.Certificates[0].Reasons)
	require.Regexp(t, `^([0-9A-F]{2}:){31}[0-9A-F]{2}$`, found.Certificates[0].Fingerprint)
	require.Equal(t, []string{"DNS:x.example.org"}, found.Certificates[0].SubjectAltNames)

	text, _, err = lintel(t, "ca", "list", "--expires-within", "2y", "-o", "wide", "w*")
	require.NoError(t, err)
	require.Contains(t, text, "DNS:web.example.com")
	text, _, err = lintel(t, "ca", "list", "--expires-within", "2d", "-o", "yaml")
	require.NoError(t, err)
	require.Equal(t, "certificateAuthority: puppet/main\ncertificates: []\n", text)

	replacing := v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Namespace: "puppet", Name: "production"}, Spec: v1alpha1.ConfigSpec{AuthorityRef: "main"}}
	replacing.Spec.Puppet.AutosignCommand = "/hooks/sign"
	api.objects[base+"configs"] = list("ConfigList", replacing)
	server := v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Namespace: "puppet", Name: "ca", UID: "ca"}, Spec: v1alpha1.ServerSpec{ConfigRef: "production", CA: true}}
	api.objects[base+"servers"] = list("ServerList", server)
	text, _, err = lintel(t, "ca", "list", "--state", "pending")
	require.NoError(t, err)
	require.Contains(t, text, "unknown: the Config production has spec.puppet.autosignCommand")
	replacing.Spec.Puppet.AutosignCommand = ""
	api.objects[base+"configs"] = list("ConfigList", replacing)

	// Without the policies nothing is known of requests, and a list that lacks a Certificate is noted.
	delete(api.objects, "/api/v1/namespaces/puppet/secrets/main-autosign-policy")
	delete(ca.Issued, "server.example.com")
	text, notes, err = lintel(t, "ca", "list")
	require.NoError(t, err)
	require.Contains(t, text, "unknown: the signing policies: reading Secret main-autosign-policy")
	require.Contains(t, notes, "the CA's list lacks server.example.com of Certificate server")
}

// TestListAsDocumented compares the list with the one in docs/openvox/sign-a-request.md, except for
// the dates.
func TestListAsDocumented(t *testing.T) {
	ca, _ := site(t)
	request(t, ca, csrtest.Template{CommonName: "db1.example.org"})
	request(t, ca, csrtest.Template{CommonName: "web3.example.com"})
	issue(t, ca, "web1.example.com", "web2.example.com")
	ca.Revoked = append(ca.Revoked, ca.Issued["web2.example.com"].SerialNumber)
	page, err := os.ReadFile("../../../docs/openvox/sign-a-request.md")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(page), "$ lintel openvox ca list -n puppet\n")
	require.True(t, ok)
	block, _, _ = strings.Cut(block, "```")

	text, _, err := lintel(t, "ca", "list", "-n", "puppet")
	require.NoError(t, err)
	date := regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	require.Equal(t, date.ReplaceAllString(text, "DATE"), date.ReplaceAllString(block, "DATE"))
}

// TestOpenFails: the error names the missing object, and nothing is changed.
func TestOpenFails(t *testing.T) {
	for name, c := range map[string]struct {
		change func(api *apiServer)
		args   []string
		want   string
	}{
		"no authority": {func(api *apiServer) { api.objects[base+"certificateauthorities"] = list("CertificateAuthorityList") }, nil, "there is no CertificateAuthority in namespace puppet"},
		"two authorities": {func(api *apiServer) {
			api.objects[base+"certificateauthorities"] = list("CertificateAuthorityList", authority("a"), authority("main"))
		}, nil, "give one with --ca: a, main"},
		"unknown authority": {nil, []string{"--ca", "x"}, "there is no CertificateAuthority x in namespace puppet"},
		"no Secrets": {func(api *apiServer) {
			api.forbidden["/api/v1/namespaces/puppet/secrets/main-operator-signing-tls"] = true
		}, nil,
			"the certificate that administers the CA: reading Secret main-operator-signing-tls: Forbidden"},
		"no Certificates": {func(api *apiServer) { api.forbidden[base+"certificates"] = true }, nil, "listing the Certificates of namespace puppet, whose certnames are protected"},
		"no Pod":          {func(api *apiServer) { api.objects["/api/v1/namespaces/puppet/pods"] = list("PodList") }, nil, "the server of CertificateAuthority main does not run: there is no Pod"},
		"Pod not ready": {func(api *apiServer) {
			api.objects["/api/v1/namespaces/puppet/pods"] = list("PodList", unready(caPod("ca-0", "ca-66d9")))
		}, nil, "Pod ca-0 is Pending and not ready"},
		"no port-forward": {func(api *apiServer) { api.forbidden["/api/v1/namespaces/puppet/pods/ca-0/portforward"] = true }, nil, "forwarding a port to Pod ca-0"},
		"refused":         {func(api *apiServer) { api.forwardTo = "" }, nil, "forwarding port 8140 of Pod ca-0: connection refused"},
		"no external credentials": {func(api *apiServer) {
			external := authority("main")
			external.Spec.External = &v1alpha1.ExternalCA{URL: "https://puppet.example.com:8140"}
			api.objects[base+"certificateauthorities"] = list("CertificateAuthorityList", external)
		}, nil, "has no spec.external.tlsSecretRef"},
		"lost pair": {func(api *apiServer) {
			api.objects["/api/v1/namespaces/puppet/secrets/main-operator-signing-tls"] = secret("main-operator-signing-tls", nil)
		}, nil, "the Secret main-operator-signing-tls holds no certificate with its key"},
	} {
		t.Run(name, func(t *testing.T) {
			ca, api := site(t)
			issue(t, ca, "web.example.com")
			if c.change != nil {
				c.change(api)
			}
			stdout, _, err := lintel(t, append([]string{"ca", "clean", "web.example.com"}, c.args...)...)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, stdout)
			require.Contains(t, ca.Issued, "web.example.com")
			require.Empty(t, ca.Revoked)
		})
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"revoke"}, {"clean", "ca"}, {"clean", "../x"}, {"revoke", "Web"}, {"revoke", "*.example.com"}, {"sign"}, {"sign", "--all", "x"}, {"sign", "--all", "--override"},
		{"show"}, {"show", "a", "b"}, {"list", "--state", "x"}, {"list", "-o", "xml"}, {"list", "["}, {"list", "--expires-within", "1h30m"},
	} {
		stdout, _, err := lintel(t, append([]string{"ca"}, args...)...)
		require.ErrorContains(t, err, "--help'", args)
		require.Empty(t, stdout)
	}
}

// TestSign: requests that the policies permit are signed, and refused ones only by an explicit
// decision.
func TestSign(t *testing.T) {
	ca, api := site(t)
	request(t, ca, csrtest.Template{CommonName: "good.example.com"})
	request(t, ca, csrtest.Template{CommonName: "other.example.org"})
	request(t, ca, csrtest.Template{CommonName: "server2.example.com", DNSNames: []string{"a.example.com"}})
	issue(t, ca, "web.example.com")

	text, _, err := lintel(t, "ca", "sign", "--all")
	require.Equal(t, report.Denied, err)
	require.Regexp(t, `(?m)^good\.example\.com: signed, serial [0-9a-f]+, until \d{4}-`, text)
	require.Contains(t, text, "other.example.org: not signed: the signing policies refuse it: ")
	require.Contains(t, ca.Issued, "good.example.com")
	require.NotContains(t, ca.Issued, "other.example.org")

	text, _, err = lintel(t, "ca", "sign", "web.example.com", "none.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "web.example.com: not signed: it has a certificate already")
	require.Contains(t, text, "none.example.com: not signed: no request waits")

	// The Certificate of a controller is not to be signed by hand, even with overrides.
	delete(ca.Issued, "server.example.com")
	request(t, ca, csrtest.Template{CommonName: "server.example.com"})
	text, _, err = lintel(t, "ca", "sign", "server.example.com", "--override")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "the certname belongs to Certificate server")

	text, _, err = lintel(t, "ca", "sign", "other.example.org", "--override")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "not signed: no Event could be created", "this API server has no Events")
	require.NotContains(t, ca.Issued, "other.example.org")
	api.objects["/api/v1/namespaces/puppet/events"] = &corev1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}}
	text, _, err = lintel(t, "ca", "sign", "other.example.org", "--override")
	require.NoError(t, err)
	require.Contains(t, text, "other.example.org: the signing policies are overridden: ")
	require.Contains(t, ca.Issued, "other.example.org")

	// Policies that cannot be read permit nothing.
	delete(api.objects, "/api/v1/namespaces/puppet/secrets/main-autosign-policy")
	request(t, ca, csrtest.Template{CommonName: "later.example.com"})
	text, _, err = lintel(t, "ca", "sign", "later.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "the signing policies cannot be evaluated")
}

// TestSignHostile: a CA that does not sign, or signs something else.
func TestSignHostile(t *testing.T) {
	ca, _ := site(t)
	request(t, ca, csrtest.Template{CommonName: "a.example.com"})
	ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusNoContent)
		}
		return r.Method == http.MethodPut
	}
	text, _, err := lintel(t, "ca", "sign", "a.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "the CA has answered that it is, and has no certificate")

	ca.Answer = nil
	ca.BeforeSign = func(certname string) { ca.Requests[certname] = csrtest.Template{CommonName: certname}.Make(t) }
	text, _, err = lintel(t, "ca", "sign", "a.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "the CA has signed something else than the request that was evaluated: another key")
	require.Contains(t, text, "; it is revoked")
	require.Len(t, ca.Revoked, 1)
	require.Equal(t, ca.Issued["a.example.com"].SerialNumber, ca.Revoked[0])
}

// TestSignSwapped: a request that is exchanged before the CA signs it, for the same key.
func TestSignSwapped(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	role, err := asn1.MarshalWithParams("admin", "utf8")
	require.NoError(t, err)
	extension := pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 34380, 1, 1, 13}, Value: role}
	for name, c := range map[string]struct {
		swapped csrtest.Template
		idle    bool
		want    string
	}{
		"names":       {csrtest.Template{DNSNames: []string{"main-internal.puppet.svc"}}, false, "other names (DNS:a.example.com, DNS:main-internal.puppet.svc, and not DNS:a.example.com); "},
		"extensions":  {csrtest.Template{Extensions: []pkix.Extension{extension}}, false, "other extensions (map[pp_role:admin], and not map[])"},
		"not revoked": {csrtest.Template{DNSNames: []string{"x"}}, true, "it is NOT revoked, see above"},
	} {
		t.Run(name, func(t *testing.T) {
			ca, _ := site(t)
			ca.Idle = c.idle
			request(t, ca, csrtest.Template{CommonName: "a.example.com", Key: key})
			c.swapped.CommonName, c.swapped.Key = "a.example.com", key
			ca.BeforeSign = func(string) { request(t, ca, c.swapped) }
			text, _, err := lintel(t, "ca", "sign", "a.example.com")
			require.Equal(t, report.Denied, err)
			require.Contains(t, text, c.want)
			require.NotContains(t, text, ": signed, serial")
			if !c.idle {
				require.Contains(t, text, "; it is revoked")
				require.Len(t, ca.Revoked, 1)
			}
		})
	}
}

// TestSignUnanswered: if the answer of a CA to a signature is lost, the signed certificate is
// read from the CA.
func TestSignUnanswered(t *testing.T) {
	ca, _ := site(t)
	request(t, ca, csrtest.Template{CommonName: "a.example.com"})
	ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "certificate_status/a.example.com") && ca.Issued["a.example.com"] == nil {
			issue(t, ca, "a.example.com") // another key
			delete(ca.Requests, "a.example.com")
			http.Error(w, "lost", http.StatusBadGateway)
			return true
		}
		return false
	}
	text, _, err := lintel(t, "ca", "sign", "a.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "another key")
	require.Len(t, ca.Revoked, 1)
}

// TestRevokeReportsEach: after an error, each certname is reported by what the CRL has.
func TestRevokeReportsEach(t *testing.T) {
	ca, _ := site(t)
	issue(t, ca, "a.example.com", "b.example.com", "c.example.com")
	fetched := 0
	ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/b.example.com"):
			http.Error(w, "x", http.StatusInternalServerError)
			return true
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/certificate/c.example.com"):
			if fetched++; fetched == 2 { // re-issued in between
				issue(t, ca, "c.example.com")
			}
		}
		return false
	}
	text, _, err := lintel(t, "ca", "revoke", "a.example.com", "b.example.com", "c.example.com")
	require.ErrorContains(t, err, "500")
	require.Regexp(t, `a\.example\.com \(serial \w+\): revoked, and on the CRL`, text)
	require.Regexp(t, `b\.example\.com \(serial \w+\): NOT revoked: .*500`, text)
	require.Regexp(t, `c\.example\.com \(serial \w+\): NOT revoked: the certname has another certificate now`, text)
	require.Len(t, ca.Revoked, 1)
}

// TestCleanAgainstOthers: other clients that clean, sign and overwrite the CRL at the same time.
func TestCleanAgainstOthers(t *testing.T) {
	t.Run("lost revocation", func(t *testing.T) {
		ca, _ := site(t)
		issue(t, ca, "a.example.com")
		file := encodeCertificate(ca.Issued["a.example.com"])
		ca.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/clean") {
				return false
			}
			delete(ca.Issued, "a.example.com")
			ca.Revoked = nil
			return true
		}
		text, _, err := lintel(t, "ca", "clean", "a.example.com")
		require.Equal(t, report.Denied, err)
		require.Contains(t, text, "removed from the CA, and NO LONGER REVOKED")
		require.Contains(t, text, file)
		require.NotContains(t, text, ": cleaned")
	})
	t.Run("cleaned by another", func(t *testing.T) {
		ca, _ := site(t)
		issue(t, ca, "a.example.com", "b.example.com")
		fetched := 0
		ca.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/certificate/a.example.com") {
				if fetched++; fetched == 3 {
					delete(ca.Issued, "a.example.com")
				}
			}
			return false
		}
		text, _, err := lintel(t, "ca", "clean", "a.example.com", "b.example.com")
		require.NoError(t, err, text)
		require.Equal(t, 2, strings.Count(text, ": cleaned"), text)
		require.NotContains(t, ca.Issued, "b.example.com")
	})
	t.Run("signed by the hook", func(t *testing.T) {
		for _, permitted := range []bool{true, false} {
			ca, _ := site(t)
			ca.DeletesRequests = permitted
			request(t, ca, csrtest.Template{CommonName: "p.example.com"})
			issue(t, ca, "b.example.com")
			ca.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodDelete && ca.Requests["p.example.com"] != nil {
					delete(ca.Requests, "p.example.com")
					issue(t, ca, "p.example.com")
				}
				return false
			}
			text, _, err := lintel(t, "ca", "clean", "b.example.com", "p.example.com")
			require.Equal(t, report.Denied, err)
			require.Contains(t, text, "p.example.com: NOT cleaned: the CA has signed the request in the meantime")
			require.Contains(t, text, "b.example.com: cleaned")
			require.Contains(t, ca.Issued, "p.example.com", "it was not revoked")
		}
	})
}

// TestRevoke: all or nothing is begun, and only the CRL counts.
func TestRevoke(t *testing.T) {
	ca, _ := site(t)
	issue(t, ca, "a.example.com", "b.example.com")
	request(t, ca, csrtest.Template{CommonName: "pending.example.com"})
	for _, bad := range []struct{ name, want string }{
		{"none.example.com", "none.example.com: the CA has neither a certificate nor a request"},
		{"pending.example.com", "only a request that waits; `clean` removes it"},
		{"server.example.com", "the certname belongs to Certificate server; kubectl delete certificates.openvox.voxpupuli.org server -n puppet revokes it"},
	} {
		text, _, err := lintel(t, "ca", "revoke", "a.example.com", bad.name)
		require.Equal(t, report.Denied, err)
		require.Contains(t, text, bad.want)
		require.Contains(t, text, "nothing is changed")
		require.Empty(t, ca.Revoked)
	}
	text, _, err := lintel(t, "ca", "revoke", "main-operator", "--force")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "this command uses that certificate")

	text, _, err = lintel(t, "ca", "revoke", "a.example.com", "b.example.com", "a.example.com")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(text, "revoked, and on the CRL"), text)
	require.Len(t, ca.Revoked, 2)
	text, _, err = lintel(t, "ca", "revoke", "a.example.com")
	require.NoError(t, err, text)
	require.Equal(t, 1, ca.Count("PUT certificate_status/a.example.com"), "it is on the CRL already")

	text, _, err = lintel(t, "ca", "revoke", "server.example.com", "--force")
	require.NoError(t, err, text)
}

// TestRevokeHostile: a CA that answers 200 and does not act, or gives two answers.
func TestRevokeHostile(t *testing.T) {
	ca, _ := site(t)
	issue(t, ca, "a.example.com", "b.example.com")
	ca.Idle = true
	for _, command := range []string{"revoke", "clean"} {
		text, _, err := lintel(t, "ca", command, "a.example.com")
		require.Equal(t, report.Denied, err)
		require.Contains(t, text, "NOT revoked: the CA has answered that it is, and its CRL lacks it")
		require.Contains(t, ca.Issued, "a.example.com")
	}
	require.Zero(t, ca.Count("PUT clean"), "it could not be revoked again")
	require.Equal(t, 4, ca.Count("PUT certificate_status/a.example.com"))

	ca.Idle = false
	ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/certificate/a.example.com") {
			r.URL.Path = strings.Replace(r.URL.Path, "/a.", "/b.", 1)
			return false
		}
		return false
	}
	delete(ca.Issued, "a.example.com")
	ca.Issued["a.example.com"] = ca.Issued["b.example.com"]
	text, _, err := lintel(t, "ca", "clean", "a.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, `not a certificate of this CA for the certname, but of "CN=b.example.com"`)
	require.Empty(t, ca.Revoked)
}

// TestClean: certificates are removed in one call once the CRL lists them, and requests, too.
func TestClean(t *testing.T) {
	ca, _ := site(t)
	issue(t, ca, "a.example.com", "b.example.com", "c.example.com")
	request(t, ca, csrtest.Template{CommonName: "pending.example.com"})
	text, _, err := lintel(t, "ca", "clean", "a.example.com", "b.example.com", "pending.example.com")
	require.NoError(t, err, text)
	require.Equal(t, 1, ca.Count("PUT clean"))
	require.Len(t, ca.Revoked, 2)
	require.Equal(t, 3, strings.Count(text, ": cleaned"), text)
	require.NotContains(t, ca.Issued, "a.example.com")
	require.NotContains(t, ca.Requests, "pending.example.com")
	require.Contains(t, ca.Issued, "c.example.com")

	// A request that another client sent for the certname of a Certificate is removed.
	delete(ca.Issued, "server.example.com")
	request(t, ca, csrtest.Template{CommonName: "server.example.com"})
	text, _, err = lintel(t, "ca", "clean", "server.example.com")
	require.NoError(t, err, text)
	require.NotContains(t, ca.Requests, "server.example.com")

	ca.Answer = func(_ http.ResponseWriter, r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/clean") } // 200
	text, _, err = lintel(t, "ca", "clean", "c.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, text, "c.example.com: NOT cleaned")
}

func TestShow(t *testing.T) {
	ca, _ := site(t)
	issue(t, ca, "a.example.com")
	request(t, ca, csrtest.Template{CommonName: "other.example.org"})
	text, _, err := lintel(t, "ca", "show", "a.example.com")
	require.NoError(t, err)
	require.Regexp(t, `(?s)State: +signed\nOn the CRL: +no\nSerial: .*Alt names: +DNS:a\.example\.com\n.*-----BEGIN CERTIFICATE-----`, text)
	text, _, err = lintel(t, "ca", "show", "other.example.org", "-o", "yaml")
	require.NoError(t, err)
	require.Contains(t, text, "policies: refused")
	require.Contains(t, text, "-----BEGIN CERTIFICATE REQUEST-----")
	block, _ := pem.Decode(ca.Requests["other.example.org"])
	ca.Requests["other.example.org"] = pem.EncodeToMemory(&pem.Block{Type: "\x1b[2J", Headers: map[string]string{"X": "\x1b[2J"}, Bytes: block.Bytes})
	text, _, err = lintel(t, "ca", "show", "other.example.org")
	require.NoError(t, err)
	require.NotContains(t, text, "\x1b", "it would steer a terminal")
	_, notes, err := lintel(t, "ca", "show", "none.example.com")
	require.Equal(t, report.Denied, err)
	require.Contains(t, notes, "neither a certificate nor a request")
}

// TestRecord: a decision against the policies is an Event of the CertificateAuthority.
func TestRecord(t *testing.T) {
	kube := openvoxtest.NewClient(t)
	s := requestSigner{session: &session{kube: kube, ca: authority("main")}, out: io.Discard}
	require.NoError(t, s.record(t.Context(), "a.example.com", &x509.CertificateRequest{}, []string{strings.Repeat("ä", 2000)}))
	var events corev1.EventList
	require.NoError(t, kube.List(t.Context(), &events, client.InNamespace("puppet")))
	require.Len(t, events.Items, 1)
	require.LessOrEqual(t, len(events.Items[0].Message), 1024)
	require.Equal(t, "main", events.Items[0].InvolvedObject.Name)
}

// TestBackup: an archive by which the CA can be imported, above all serials that are known.
func TestBackup(t *testing.T) {
	ca, api := site(t)
	issue(t, ca, "a.example.com")
	request(t, ca, csrtest.Template{CommonName: "pending.example.com"})
	ca.Revoked = append(ca.Revoked, big.NewInt(0x2000)) // of a certificate that was cleaned
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	_, _, err := lintel(t, "ca", "backup", file)
	require.ErrorContains(t, err, "the CA's key: reading Secret main-ca-key")
	require.NoFileExists(t, file)

	der, err := x509.MarshalPKCS8PrivateKey(ca.Key)
	require.NoError(t, err)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	api.objects["/api/v1/namespaces/puppet/secrets/main-ca-key"] = secret("main-ca-key", map[string][]byte{"ca_key.pem": key})
	text, _, err := lintel(t, "ca", "backup", file)
	require.NoError(t, err)
	require.Contains(t, text, "with 3 certificates")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	found := unpack(t, file)
	require.ElementsMatch(t, []string{
		"ca.pem", "key.pem", "crl.pem", "serial", "inventory.txt", "signed/a.example.com.pem", "signed/main-operator.pem", "signed/server.example.com.pem",
	}, slices.Collect(maps.Keys(found)))
	require.Equal(t, "12001\n", found["serial"])
	next, err := cadir.ReadAuthority(func(name string) []byte { return []byte(found[name]) }).Check(time.Now())
	require.NoError(t, err)
	require.Equal(t, int64(0x12001), next)

	_, _, err = lintel(t, "ca", "backup", file)
	require.ErrorIs(t, err, os.ErrExist, "no backup is overwritten")
	// A backup must be restorable.
	for _, bad := range []string{"../../x.example.com", "a.example.org"} {
		ca.Issued[bad] = ca.Issued["a.example.com"]
		_, _, err = lintel(t, "ca", "backup", file+"2")
		require.Error(t, err, "an archive would write elsewhere")
		delete(ca.Issued, bad)
	}
	delete(ca.Issued, "server.example.com")
	_, _, err = lintel(t, "ca", "backup", file+"2")
	require.ErrorContains(t, err, "the CA's list lacks server.example.com of Certificate server")
	issue(t, ca, "server.example.com")
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err = x509.MarshalPKCS8PrivateKey(other)
	require.NoError(t, err)
	api.objects["/api/v1/namespaces/puppet/secrets/main-ca-key"] = secret("main-ca-key", map[string][]byte{"ca_key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})})
	_, _, err = lintel(t, "ca", "backup", file+"2")
	require.ErrorContains(t, err, "the backup could not be restored: ")
	require.NoFileExists(t, file+"2")
}

// unpack are the files of an archive.
func unpack(t *testing.T, name string) map[string]string {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	require.NoError(t, err)
	found := map[string]string{}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		found[header.Name] = string(content)
	}
}
