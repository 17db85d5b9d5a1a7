package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/test/installation"
)

// TestOpenVoxInSomeNamespaces: a manager without permissions for OpenVox in other namespaces
// serves one, and needs no Jobs where no CA is set up.
func TestOpenVoxInSomeNamespaces(t *testing.T) {
	served, other := newNamespace(t), "e2e-openvox-elsewhere"
	makeNamespace(t, other)
	go func() { _, _ = puppetCA() }() // for the tests that follow, since it takes its time
	withoutManager(t)
	t.Cleanup(func() { mustApply(t, "config/rbac/openvox") })
	withoutBindings(t, append(otherSystemsBindings(t), "openvox-operator-manager-rolebinding", "openvox-operator-authorities-rolebinding")...)
	mustKubectl(t, "", "apply", "-k", "config/rbac/openvox-namespaced")
	mustKubectl(t, "", "apply", "-n", served, "-k", "config/rbac/openvox-namespace")
	may := func(namespace string, what ...string) bool {
		return isPermitted(t, "system:serviceaccount:"+installation.Namespace+":lintel-manager", namespace, what[0], what[1])
	}
	for _, what := range [][]string{{"create", "jobs"}, {"list", "secrets"}, {"create", "roles"}, {"patch", "secrets"}} {
		require.True(t, may(served, what...), what)
		require.False(t, may(other, what...), what)
	}
	start := func(args ...string) *installation.Manager {
		m, err := installation.StartManager(t.Context(), cluster, installation.ManagerOptions{
			Program: filepath.Join(programs, "manager"), Name: "manager-0", Args: append([]string{"--drain=0s", "--systems=openvox", "--openvox-key-bits=2048", "--openvox-namespaces=" + served}, args...),
		})
		require.NoError(t, err)
		t.Cleanup(m.Stop)
		require.NoError(t, waitRegistered(t.Context(), m))
		return m
	}
	m := start()
	reserved := func(namespace string) (string, bool) {
		return apply(t, certificateObject(namespace, "taken", `{"authorityRef":"main","certname":"main-operator"}`))
	}
	eventually(t, func() bool {
		output, ok := reserved(served)
		return !ok && strings.Contains(output, "is the operator's own")
	}, "the manager to be asked about its namespace")
	output, ok := reserved(other)
	require.True(t, ok, "what is elsewhere is not evaluated: %s", output)

	output, ok = apply(t, certificateObject(other, "up", `{"authorityRef":"main","certname":"../../up"}`))
	require.False(t, ok, "the CRD itself has a pattern")
	require.Contains(t, output, "spec.certname")

	for _, namespace := range []string{other, served} {
		mustKubectl(t, internalCA(namespace, "main", ""), "apply", "-f", "-")
		mustKubectl(t, configFor(namespace, "main"), "apply", "-f", "-")
	}
	waitFacts(t, served, "main", "Initializing Initialized=False/SettingUp")
	waitConfig(t, served, "main", "Running True/ConfigMapsCreated")
	require.Empty(t, mustGet(t, "ca", "main", "-n", other, "-o", "jsonpath={.status}"), "nor is it carried out")
	require.NotContains(t, mustGet(t, "secrets,jobs", "-n", other, "-o", "name"), "main")

	refused, ok := apply(t, requestToMain(t, served, "e2e-served", csrtest.Template{CommonName: "a.example.com"}))
	require.False(t, ok)
	require.Contains(t, refused, "there is no signing policy")
	output, ok = apply(t, requestToMain(t, other, "e2e-elsewhere", csrtest.Template{CommonName: "a.example.com"}))
	require.True(t, ok, "a request to a CA elsewhere is not evaluated: %s", output)

	// Without Jobs, volumes and Roles, CAs that run elsewhere are served all the same.
	m.Stop()
	mustKubectl(t, "", "delete", "rolebinding", "openvox-operator-authorities-rolebinding", "-n", served)
	require.False(t, may(served, "create", "jobs"))
	start("--openvox-external-only")
	waitFacts(t, served, "main", "Error Initialized=False/ExternalOnly")
	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"CertificateAuthority","metadata":{"name":"far","namespace":%q},"spec":{"external":{"url":"https://127.0.0.1:1","insecureSkipVerify":true}}}`, served), "apply", "-f", "-")
	waitFacts(t, served, "far", "Error CAReady=False/NotAnswering")
}

func mustApply(t *testing.T, folder string) {
	t.Helper()
	if output, err := cluster.Kubectl(context.Background(), "", "apply", "-k", folder); err != nil {
		t.Errorf("applying %s: %v: %s", folder, err, output)
	}
}
