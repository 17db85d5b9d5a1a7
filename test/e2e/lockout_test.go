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
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

const notAnswered = `failed calling webhook "fail.policies.lintel.dev"`

// matchless is the widest policy there can be: it is asked about every object, and
// has nothing in one namespace.
func matchless(namespace string) string {
	return fmt.Sprintf("package matchless\n\nimport rego.v1\n\ndeny contains \"nothing is written here\" if input.request.namespace == %q", namespace)
}

// TestAColdStartNeedsNoManager stops the whole cluster while the widest policy is
// live and nobody answers for it. The cluster comes back by itself, and is not open
// in the meantime.
func TestAColdStartNeedsNoManager(t *testing.T) {
	namespace := newNamespace(t)
	applySource(t, "matchless", matchless(namespace), nil)
	manager.Stop()
	started := false
	t.Cleanup(func() {
		if !started {
			restartManager(t)
		}
	})
	endpoint := kubernetesEndpoint(t)
	require.NotEmpty(t, endpoint)
	require.NoError(t, cluster.Control(t.Context(), "stop"))
	require.NoError(t, cluster.Control(t.Context(), "start"))

	eventually(t, func() bool { return kubernetesEndpoint(t) == endpoint }, "the API server to announce itself")
	mustKubectl(t, "", "delete", "endpointslice", "kubernetes", "-n", "default")
	eventually(t, func() bool { return kubernetesEndpoint(t) == endpoint }, "the API server to announce itself again")

	mustKubectl(t, pod("kube-system", "cold-start", `{"containers":[{"name":"c","image":"x"}]}`), "create", "-f", "-")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "pod", "cold-start", "-n", "kube-system", "--wait=false")
	})
	// Scheduler and controllers have just come back, too, so this takes its time.
	if !assert.Eventually(t, func() bool {
		phase, _ := kubectl(t, "", "get", "pod", "cold-start", "-n", "kube-system", "-o", "jsonpath={.status.phase}")
		return phase == "Running"
	}, 90*time.Second, 200*time.Millisecond, "a system Pod to run") {
		description, _ := kubectl(t, "", "describe", "nodes,pods", "-n", "kube-system")
		t.Fatal(description)
	}

	output, ok := apply(t, configMap(namespace, "c"))
	require.False(t, ok, "nobody answers, and the policy is on Fail")
	require.Contains(t, output, notAnswered)

	restartManager(t)
	started = true
	eventually(t, func() bool {
		output, ok := apply(t, configMap(namespace, "c"))
		return !ok && strings.Contains(output, "denied the request: nothing is written here")
	}, "the manager to serve again")
	output, ok = apply(t, configMap("default", "after-cold-start"))
	require.True(t, ok, output)
	mustKubectl(t, "", "delete", "configmap", "after-cold-start", "-n", "default")
}

// kubernetesEndpoint is where Pods find the API server.
func kubernetesEndpoint(t *testing.T) string {
	t.Helper()
	text, ok := kubectl(t, "", "get", "endpointslice", "kubernetes", "-n", "default", "-o", "json")
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

// TestNobodyIsLockedOutWithoutAManager kills the manager under the widest policy on
// Fail: what the cluster and the platform live on can be written still, and the way
// out is open.
func TestNobodyIsLockedOutWithoutAManager(t *testing.T) {
	namespace := newNamespace(t)
	applySource(t, "matchless", strings.Replace(matchless(namespace), "package", "# METADATA\n# custom:\n#   match: {operations: [CREATE, UPDATE, DELETE, CONNECT], subresources: [\"*\"]}\npackage", 1), nil)
	manager.Kill()
	t.Cleanup(func() { restartManager(t) })

	output, ok := apply(t, configMap(namespace, "c"))
	require.False(t, ok)
	require.Contains(t, output, notAnswered, "the policy is live")

	t.Run("the namespaces of cluster and platform", func(t *testing.T) {
		for _, system := range []string{"kube-system", "kube-node-lease", "cert-manager", installation.Namespace} {
			mustKubectl(t, configMap(system, "not-locked-out"), "create", "-f", "-")
			mustKubectl(t, "", "label", "configmap", "not-locked-out", "-n", system, "a=b")
			mustKubectl(t, "", "delete", "configmap", "not-locked-out", "-n", system)
		}
	})
	t.Run("what the cluster keeps everywhere", func(t *testing.T) {
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
	})
	t.Run("the documented way out", func(t *testing.T) {
		mustKubectl(t, "", "delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "lintel")
		mustKubectl(t, configMap(namespace, "c"), "create", "-f", "-")
		mustKubectl(t, "", "delete", "policysource", "matchless")
	})
}

// TestAPolicyThatDeniesEverythingCanBeRemoved: whoever wrote one deletes its source; no
// policy is asked about that, and none keeps its own status from being written.
func TestAPolicyThatDeniesEverythingCanBeRemoved(t *testing.T) {
	namespace := newNamespace(t)
	everything := "# METADATA\n# custom:\n#   match: {operations: [CREATE, UPDATE, DELETE, CONNECT], subresources: [\"*\"]}\npackage everything\n\ndeny contains \"nothing at all\""
	applySource(t, "everything", everything, nil)
	for _, args := range [][]string{{"create", "configmap", "c", "-n", namespace}, {"delete", "namespace", namespace}} {
		output, ok := kubectl(t, "", args...)
		require.False(t, ok)
		require.Contains(t, output, "denied the request: nothing at all")
	}
	mustKubectl(t, "", "patch", "policysource", "everything", "--subresource=status", "--type=merge", "-p", `{"status":{"policies":7}}`)
	eventually(t, func() bool { return readSource(t, "everything").Status.Policies == 1 }, "the manager to write the status, too")
	mustKubectl(t, "", "delete", "policysource", "everything")
	eventually(t, func() bool { _, ok := apply(t, configMap(namespace, "c")); return ok }, "writes to be possible again")
}

// TestAWidePolicyCannotRefuseItsOwnRepair: one that names no kinds says so when it is
// applied, is asked about everything, and not about the PolicySource that mends it.
func TestAWidePolicyCannotRefuseItsOwnRepair(t *testing.T) {
	namespace := newNamespace(t)
	// Whatever fails below: in force, it would deny the objects of every test that follows.
	t.Cleanup(func() { removeSource(context.Background(), "wide") })
	const wide = "package wide\n\ndeny contains \"nothing at all\""
	output, ok := apply(t, installation.PolicySource("wide", map[string]string{"p.rego": "# METADATA\n# customs:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\n" + wide}, nil))
	require.False(t, ok)
	require.Contains(t, output, "customs: unknown; did you mean custom?")

	output, ok = apply(t, installation.PolicySource("wide", map[string]string{"p.rego": wide}, nil))
	require.True(t, ok, output)
	require.Contains(t, output, "Warning: p.rego:1: policy wide names no kinds: it is asked about every object")
	eventually(t, func() bool {
		output, ok := apply(t, configMap(namespace, "c"))
		return !ok && strings.Contains(output, "denied the request: nothing at all")
	}, "the policy to be live")

	mustKubectl(t, "", "patch", "policysource", "wide", "--type=merge", "-p", `{"spec":{"failurePolicy":"Ignore"}}`)
	mustKubectl(t, installation.PolicySource("wide", map[string]string{"p.rego": strings.Replace(wide, "contains \"nothing at all\"", "contains \"x\" if input.name == \"x\"", 1)}, nil), "apply", "--server-side", "--force-conflicts", "-f", "-")
	eventually(t, func() bool { _, ok := apply(t, configMap(namespace, "c")); return ok }, "writes to be possible again")
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

// TestLintelIsTakenOutInAnyOrder: whatever goes first, webhooks that nobody answers do not
// stay. It has a cluster of its own, for afterwards there is no Lintel in it.
func TestLintelIsTakenOutInAnyOrder(t *testing.T) {
	own, err := installation.StartCluster(t.Context(), filepath.Join(t.TempDir(), "cluster"), io.Discard)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, own.Stop(context.Background())) })
	must := func(args ...string) string {
		t.Helper()
		output, err := own.Kubectl(t.Context(), "", args...)
		require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), output)
		return output
	}
	for name, remove := range map[string][]string{
		"what was applied": {"delete", "-k", "config/local"},
		"the namespace":    {"delete", "namespace", installation.Namespace},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, installation.Install(t.Context(), own))
			running, err := installation.StartManager(t.Context(), own, installation.ManagerOptions{
				Program: filepath.Join(programs, "manager"), Name: "manager-0", Args: []string{"--drain=0s"},
			})
			require.NoError(t, err)
			t.Cleanup(running.Stop)
			require.NoError(t, own.ApplySource(t.Context(), "matchless", map[string]string{"policy.rego": matchless("default")}, nil))
			eventually(t, func() bool {
				output, err := own.Kubectl(t.Context(), configMap("default", "c"), "apply", "-f", "-")
				return err != nil && strings.Contains(output, "nothing is written here")
			}, "the policy to be in force")

			// The Pods of a Deployment end without a word to the webhooks, as for an upgrade.
			running.Kill()
			output, err := own.Kubectl(t.Context(), configMap("default", "c"), "apply", "-f", "-")
			require.Error(t, err)
			require.Contains(t, output, notAnswered)
			must(append(remove, "--timeout=10m")...)
			eventually(t, func() bool {
				output, err := own.Kubectl(t.Context(), configMap("default", "c"), "apply", "-f", "-")
				t.Log(output)
				return err == nil
			}, "the cluster to be nobody's but its own")
			require.Empty(t, must("get", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "--field-selector=metadata.name=lintel", "-o", "name"))
			must("delete", "configmap", "c", "-n", "default")
			must("delete", "-k", "config/local", "--ignore-not-found", "--timeout=10m")
		})
	}
}
