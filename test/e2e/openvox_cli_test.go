package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
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
	submit("refused.example.com") // for testRefusedEvent
	submit("agent4")              // for testRestore
}

// testRefusedEvent: the manager reports the request that the hook has refused. It looks once a
// minute, so this comes last.
func testRefusedEvent(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, func() bool {
		said, _ := get(t, "events", "-n", namespace, "-o", "jsonpath={range .items[*]}{.reason} {.message}{.note}{'\\n'}{end}")
		return strings.Contains(said, `RequestsRefused the SigningPolicies refuse requests that wait at the CA: "refused.example.com" (signing policy "agents": `)
	}, "the Event about the refused request")
}

// testRestore: a CA is restored in another place from a backup. Certificates from before it stay
// valid and can be revoked, and new ones have serials above all that were used.
func testRestore(t *testing.T, ca *puppetca.CA, namespace string) {
	program := func(namespace string, ca *puppetca.CA, args ...string) string {
		output, code := lintelProgram(t, append([]string{"openvox", "ca"}, append(args, "-n", namespace, "--ca", "main", "--address", strings.TrimPrefix(ca.URL, "https://"))...)...)
		require.Zero(t, code, output)
		return output
	}
	file, folder := filepath.Join(t.TempDir(), "backup.tar.gz"), t.TempDir()
	program(namespace, ca, "revoke", "agent2")
	t.Log(program(namespace, ca, "backup", file))
	output, err := exec.CommandContext(t.Context(), "tar", "-xzf", file, "-C", folder).CombinedOutput()
	require.NoError(t, err, string(output))
	revoked := serialsIn(t, filepath.Join(folder, "crl.pem"))
	require.NotEmpty(t, revoked)
	ca.Stop()

	restored, dir := namespace+"-r", t.TempDir()
	makeNamespace(t, restored)
	words := []string{"create", "secret", "generic", "backup", "-n", restored}
	for _, name := range []string{"ca.pem", "key.pem", "crl.pem", "serial", "inventory.txt"} {
		words = append(words, "--from-file="+filepath.Join(folder, name))
	}
	mustKubectl(t, "", words...)
	mustKubectl(t, "", "annotate", "secret", "backup", "-n", restored, "openvox.voxpupuli.org/intermediate-ca=main")
	mustKubectl(t, certificateObject(restored, "server", `{"authorityRef":"main","certname":"ca.example.com","dnsAltNames":["localhost","127.0.0.1"]}`), "apply", "-f", "-")
	mustKubectl(t, internalCA(restored, "main", namesServer+`,"intermediateCA":{"enabled":true,"secretName":"backup"}`), "apply", "-f", "-")
	mustKubectl(t, configFor(restored, "main"), "apply", "-f", "-")
	waitFacts(t, restored, "main", "Initializing Initialized=False/SettingUp")
	waitConfig(t, restored, "main", "Running True/ConfigMapsCreated")
	volume := filepath.Join(dir, "ca")
	require.NoError(t, os.MkdirAll(volume, 0o755))
	text, err := runSetup(t, restored, "main", volume, folder, false)
	require.NoError(t, err, text)
	signed, err := os.ReadDir(filepath.Join(folder, "signed"))
	require.NoError(t, err)
	for _, one := range signed {
		if one.Name() != "ca.example.com.pem" {
			content, err := os.ReadFile(filepath.Join(folder, "signed", one.Name()))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(volume, "signed", one.Name()), content, 0o600))
		}
	}
	hook, _ := autosignHook(t)
	again, err := puppetca.ServeExisting(t.Context(), puppetca.Options{Dir: dir, Name: "ca.example.com", Autosign: hook, Rendered: renderedFiles(t, restored, "main")})
	require.NoError(t, err)
	t.Cleanup(again.Stop)
	services.lead("main-internal."+restored+".svc:8140", strings.TrimPrefix(again.URL, "https://"))
	waitFacts(t, restored, "main", "Ready Initialized=True/CAInitialized CAReady=True/CAAnswers OperatorSigningReady=True/CertificateSigned")

	require.Contains(t, program(restored, again, "list", "agent4"), "signed", "a certificate from before the backup")
	require.Contains(t, program(restored, again, "clean", "agent4"), "agent4: cleaned")
	mustKubectl(t, certificateObject(restored, "new", `{"authorityRef":"main","certname":"new.example.com"}`), "apply", "-f", "-")
	require.Greater(t, waitSigned(t, restored, "new", nil).SerialNumber.Int64(), int64(1<<16))
	eventually(t, func() bool {
		crl := filepath.Join(t.TempDir(), "crl.pem")
		require.NoError(t, os.WriteFile(crl, secretValue(t, restored, "main-ca-crl", "ca_crl.pem"), 0o600))
		now := serialsIn(t, crl)
		return len(now) > len(revoked) && !slices.ContainsFunc(revoked, func(serial string) bool { return !slices.Contains(now, serial) })
	}, "the CRL to have what was revoked before and after")
}

// serialsIn are the serials in a file with CRLs.
func serialsIn(t *testing.T, file string) (serials []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	lists, err := puppet.ParseCRLs(text)
	require.NoError(t, err)
	for _, list := range lists {
		for _, entry := range list.RevokedCertificateEntries {
			serials = append(serials, entry.SerialNumber.String())
		}
	}
	return serials
}
