package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/test/puppetca"
)

// accountKubeconfig is a kubeconfig of a new ServiceAccount.
func accountKubeconfig(t *testing.T, namespace, account string) (file string) {
	t.Helper()
	mustKubectl(t, "", "create", "serviceaccount", account, "-n", namespace)
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	require.NoError(t, err)
	current := config.Contexts[config.CurrentContext]
	config.AuthInfos[current.AuthInfo] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(mustKubectl(t, "", "create", "token", account, "-n", namespace))}
	current.Namespace = namespace
	file = filepath.Join(t.TempDir(), account)
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// testCommandLine: with the Role of the samples, `lintel openvox ca` operates a real CA.
func testCommandLine(t *testing.T, ca *puppetca.CA, namespace string) {
	role, err := os.ReadFile("../../config/samples/openvox/ca-administrator.yaml")
	require.NoError(t, err)
	mustKubectl(t, strings.ReplaceAll(string(role), "production-ca", "main"), "apply", "-n", namespace, "-f", "-")
	mustKubectl(t, "", "create", "rolebinding", "administrator", "-n", namespace, "--role=main-administrator", "--serviceaccount="+namespace+":administrator")
	administrator, stranger := accountKubeconfig(t, namespace, "administrator"), accountKubeconfig(t, namespace, "stranger")
	run := func(kubeconfig string, args ...string) (output string, code int) {
		command := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), append([]string{"openvox", "ca"}, args...)...)
		command.Args = append(command.Args, "--kubeconfig", kubeconfig, "--ca", "main", "--address", strings.TrimPrefix(ca.URL, "https://"))
		text, err := command.CombinedOutput()
		if _, exited := err.(*exec.ExitError); !exited {
			require.NoError(t, err)
		}
		t.Logf("lintel %s: %d\n%s", strings.Join(args, " "), command.ProcessState.ExitCode(), text)
		return string(text), command.ProcessState.ExitCode()
	}
	must := func(want int, args ...string) (output string) {
		t.Helper()
		output, code := run(administrator, args...)
		require.Equal(t, want, code, output)
		return output
	}
	submit := func(certname string) {
		status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/"+certname, csrtest.Template{CommonName: certname}.Make(t))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s", answer)
	}

	output, code := run(stranger, "list")
	require.Equal(t, 2, code)
	require.Contains(t, output, "forbidden")

	// Those of the hook, which has refused them: one by its pattern, one because of its name.
	var found struct {
		Certificates []struct {
			Certname, State, Policies, Fingerprint string
			Reasons                                []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(must(0, "list", "--state", "pending", "-o", "json")), &found))
	reasons := map[string]string{}
	for _, one := range found.Certificates {
		require.Equal(t, "refused", one.Policies)
		require.Len(t, one.Fingerprint, 95)
		reasons[one.Certname] = strings.Join(one.Reasons, "; ")
	}
	require.Contains(t, reasons["other"], `signing policy "agents": certname "other" matches none of its patterns`)
	require.Contains(t, reasons["agent.main-operator"], `certname "agent.main-operator" is reserved`)
	for certname, reason := range reasons { // the server logs what its hook says
		eventually(t, func() bool { return strings.Contains(ca.Log(), `"`+certname+`" is not signed: `+reason) }, "the hook's own reasons for "+certname)
	}

	require.Contains(t, must(1, "sign", "--all"), "other: not signed: the signing policies refuse it")
	require.Contains(t, must(0, "sign", "other", "--override"), "other: signed, serial ")
	require.Contains(t, mustGet(t, "events", "-n", namespace, "-o", "jsonpath={.items[*].reason}"), "SigningPoliciesOverridden")
	require.Regexp(t, `(?s)State: +signed\nOn the CRL: +no\n.*BEGIN CERTIFICATE-`, must(0, "show", "other"))

	submit("agent2")
	submit("agent3")
	require.Contains(t, must(1, "revoke", "agent2", "nobody"), "nobody: the CA has neither a certificate nor a request")
	require.NotContains(t, must(0, "list", "--state", "revoked"), "agent2")
	require.Contains(t, must(0, "revoke", "agent2"), "revoked, and on the CRL")
	require.Contains(t, must(0, "list", "--state", "revoked"), "agent2")
	require.Contains(t, must(1, "clean", "ca.example.com"), "the certname belongs to Certificate server")
	output = must(0, "clean", "agent1", "agent2", "agent3", "agent.main-operator")
	require.Equal(t, 3, strings.Count(output, "revoked, and on the CRL"), output)
	require.Equal(t, 4, strings.Count(output, ": cleaned"), output)
	require.Contains(t, must(0, "list", "agent*", "*.main-operator", "--state", "pending,revoked"), "no certificates")
	submit("agent2")
	require.Contains(t, must(0, "list", "agent2"), "signed", "its certname is free")
}
