package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/source/origin"
	"github.com/lintel-policy/lintel/test/gitserver"
	"github.com/lintel-policy/lintel/test/installation"
)

// TestTheManagerIsAway kills the manager once, while the widest policy is enforced with
// failurePolicy Fail. It checks what the cluster can still do, and how the next manager
// continues. Each part prepares its objects before the kill and checks them after the start.
func TestTheManagerIsAway(t *testing.T) {
	base := newNamespace(t)
	keeper := keepLastGood(t, base+"-keeper")
	ingresses := requireIngresses(t, base+"-hosts")
	repository := followWithoutServer(t, base+"-git")
	applySource(t, "matchless", strings.Replace(matchless(base), "package", "# METADATA\n# custom:\n#   match: {operations: [CREATE, UPDATE, DELETE, CONNECT], subresources: [\"*\"]}\npackage", 1), nil)
	manager.Kill()
	started := false
	t.Cleanup(func() {
		if !started {
			restartManager(t)
		}
	})

	output, ok := apply(t, configMap(base, "c"))
	require.False(t, ok)
	require.Contains(t, output, notAnswered, "the policy is live")
	t.Run("the namespaces of cluster and platform", namespacesAreFree)
	t.Run("what the cluster keeps everywhere", func(t *testing.T) { clusterObjectsAreFree(t, base) })
	t.Run("a cold start needs no manager", func(t *testing.T) { startCold(t, base) })
	t.Run("the documented way out", func(t *testing.T) {
		mustKubectl(t, "", "delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "lintel")
		mustKubectl(t, configMap(base, "c"), "create", "-f", "-")
		mustKubectl(t, "", "delete", "policysource", "matchless")
	})
	// Without a webhook, the API server admits a broken revision: as after a lost webhook.
	mustKubectl(t, installation.PolicySource("keeper", map[string]string{"policy.rego": broken}, nil), "apply", "--server-side", "-f", "-")

	restartManager(t)
	started = true
	t.Run("a replica that starts is not ready before it has the objects", ingresses)
	t.Run("the last good revision stays", keeper)
	t.Run("a repository whose server is down", repository)
	output, ok = apply(t, configMap("default", "after-cold-start"))
	require.True(t, ok, output)
	mustKubectl(t, "", "delete", "configmap", "after-cold-start", "-n", "default")
}

func namespacesAreFree(t *testing.T) {
	for _, system := range []string{"kube-system", "kube-node-lease", "cert-manager", installation.Namespace} {
		mustKubectl(t, configMap(system, "not-locked-out"), "create", "-f", "-")
		mustKubectl(t, "", "label", "configmap", "not-locked-out", "-n", system, "a=b")
		mustKubectl(t, "", "delete", "configmap", "not-locked-out", "-n", system)
	}
}

func clusterObjectsAreFree(t *testing.T, namespace string) {
	for what, object := range map[string]string{
		"lease":         `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"free","namespace":"` + namespace + `"}}`,
		"event":         `{"apiVersion":"v1","kind":"Event","metadata":{"name":"free","namespace":"` + namespace + `"},"involvedObject":{"kind":"ConfigMap","name":"c","namespace":"` + namespace + `"}}`,
		"node":          `{"apiVersion":"v1","kind":"Node","metadata":{"name":"free"}}`,
		"token":         `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"x"}}`,
		"access":        `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`,
		"kubelet's CSR": signingRequest(t, "kubernetes.io/kube-apiserver-client-kubelet"),
	} {
		output, ok := kubectl(t, object, "create", "-f", "-")
		require.True(t, ok, "%s: %s", what, output)
	}
	mustKubectl(t, "", "delete", "node", "free")
	mustKubectl(t, "", "delete", "csr", "free")
	output, ok := kubectl(t, signingRequest(t, "example.com/other"), "create", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, notAnswered, "only the cluster's own signers are free")
}

// startCold restarts the whole cluster. It starts without the manager, and the policy stays
// enforced in the meantime.
func startCold(t *testing.T, namespace string) {
	endpoint := kubernetesEndpoint(t)
	require.NotEmpty(t, endpoint)
	require.NoError(t, cluster.Control(t.Context(), "stop"))
	require.NoError(t, cluster.Control(t.Context(), "start"))

	eventually(t, func() bool { return kubernetesEndpoint(t) == endpoint }, "the API server to announce itself")
	// As the API server, which the policy exempts: the policy denies every other DELETE.
	mustKubectl(t, "", "delete", "endpointslice", "kubernetes", "-n", "default", "--as=system:apiserver", "--as-group=system:masters")
	eventually(t, func() bool { return kubernetesEndpoint(t) == endpoint }, "the API server to announce itself again")

	mustKubectl(t, pod("kube-system", "cold-start", `{"containers":[{"name":"c","image":"x"}]}`), "create", "-f", "-")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "pod", "cold-start", "-n", "kube-system", "--wait=false")
	})
	// Scheduler and controllers have just come back, too, so this takes its time.
	waitFor(t, "kube-system", "pod/cold-start", "a system Pod to run", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning })

	output, ok := apply(t, configMap(namespace, "c"))
	require.False(t, ok, "no manager answers, and the policy is on Fail")
	require.Contains(t, output, notAnswered)
}

// kubernetesEndpoint is where Pods find the API server.
func kubernetesEndpoint(t *testing.T) string {
	t.Helper()
	text, ok := get(t, "endpointslice", "kubernetes", "-n", "default", "-o", "json")
	var slice struct {
		Endpoints []struct{ Addresses []string }
		Ports     []struct{ Port int }
	}
	if !ok || json.Unmarshal([]byte(text), &slice) != nil {
		return ""
	}
	if len(slice.Endpoints) != 1 || len(slice.Endpoints[0].Addresses) != 1 || len(slice.Ports) != 1 {
		return ""
	}
	return fmt.Sprintf("%s:%d", slice.Endpoints[0].Addresses[0], slice.Ports[0].Port)
}

// signingRequest is a CertificateSigningRequest named free.
func signingRequest(t *testing.T, signer string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:free", Organization: []string{"system:nodes"}},
	}, key)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	return fmt.Sprintf(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"free"},"spec":{"signerName":%q,"request":%q,"usages":["client auth"]}}`,
		signer, base64.StdEncoding.EncodeToString(text))
}

// keepLastGood applies a source, and returns the checks for after a broken revision has
// passed admission: the revision never goes live, and the status gives the reason.
func keepLastGood(t *testing.T, namespace string) func(*testing.T) {
	t.Helper()
	makeNamespace(t, namespace)
	good := inNamespace(namespace, configMapKind, "package keeper\ndeny contains \"kept\"")
	applySource(t, "keeper", good, nil)
	before := readSource(t, "keeper")
	return func(t *testing.T) {
		after := waitFor(t, "", "policysource/keeper", "the status to say what is wrong", func(source *v1alpha1.PolicySource) bool { return len(source.Status.Errors) > 0 })
		require.Equal(t, []v1alpha1.PolicyError{{File: "policy.rego", Line: 4, Column: 2, Message: "rego_type_error: undefined function nope"}}, after.Status.Errors)
		require.Equal(t, before.Status.Digest, after.Status.Digest)
		require.Equal(t, before.Status.Revision, after.Status.Revision)
		eventually(t, func() bool {
			return strings.Contains(mustKubectl(t, "", "describe", "policysource", "keeper"), "stays live")
		}, "kubectl describe to say what stays live")
		eventually(t, func() bool { return strings.Contains(eventsOf(t, "default"), "keeper Warning CompileFailed") }, "an Event that says so")
		eventually(t, func() bool {
			output, ok := apply(t, configMap(namespace, "c"))
			return !ok && strings.Contains(output, "denied the request: kept [keeper deny, policy.rego:7, keeper@")
		}, "the last good revision to be enforced after a restart")

		serveSource(t, "keeper", map[string]string{"policy.rego": strings.Replace(good, "kept", "mended", 1)}, nil)
		output, ok := apply(t, configMap(namespace, "c"))
		require.False(t, ok)
		require.Contains(t, output, "denied the request: mended")
		require.Empty(t, readSource(t, "keeper").Status.Errors)
	}
}

// requireIngresses applies a policy that needs the cluster's Ingresses, and returns the
// checks for a manager that has just started.
func requireIngresses(t *testing.T, namespace string) func(*testing.T) {
	t.Helper()
	makeNamespace(t, namespace)
	const role = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"e2e-ingresses","labels":{"lintel.dev/aggregate-to-policy-data":"true"}},"rules":[{"apiGroups":["networking.k8s.io"],"resources":["ingresses"],"verbs":["list","watch"]}]}`
	applyForTest(t, role)
	mustKubectl(t, ingress(namespace, "first", "a.example"), "apply", "-f", "-")
	mustKubectl(t, ingress(namespace, "second", "b.example"), "apply", "-f", "-")
	applySource(t, "hosts", hostsUnique(namespace), nil)
	return func(t *testing.T) {
		count, _ := metric(t, ingressObjects)
		require.Equal(t, "2", count)
		// The API server calls its address as soon as it leads.
		eventually(t, func() bool {
			output, ok := apply(t, ingress(namespace, "third", "b.example"))
			return !ok && strings.Contains(output, "belongs to Ingress "+namespace+"/second")
		}, "the third Ingress to be denied")
	}
}

// followWithoutServer follows a Git repository and stops its server. It returns the checks for
// a manager that starts meanwhile: it enforces the last good revision, and follows the
// repository again once the server is back.
func followWithoutServer(t *testing.T, namespace string) func(*testing.T) {
	t.Helper()
	makeNamespace(t, namespace)
	folder := t.TempDir()
	repository := newGitRepository(t, folder, "team-away", namespace)
	server, err := gitserver.Start(folder, "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	live := repository.pushedBefore(t, "before")
	applyGitSource(t, repository.source, map[string]any{
		"git": map[string]any{
			"url": server.URL + "/team-away.git", "path": "lintel", "receiver": map[string]any{"secretRef": map[string]any{"name": "team-away-token"}},
		},
		"interval": "1h",
	})
	waitSource(t, repository.source)
	repository.goesLive(t, "before")
	server.Stop()
	return func(t *testing.T) {
		repository.staysOut(t, origin.ReasonFetchFailed, "connection refused", live)
		repository.goesLive(t, "before")
		again, err := gitserver.Start(folder, server.Address(), nil)
		require.NoError(t, err)
		defer again.Stop()
		repository.push(t, repository.rule("back"))
		repository.goesLive(t, "back")
	}
}
