package puppetca

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// autosign is the path of openvox-autosign: of LINTEL_PROGRAMS, or built.
func autosign(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("LINTEL_PROGRAMS"); folder != "" {
		return filepath.Join(folder, "openvox-autosign")
	}
	program := filepath.Join(t.TempDir(), "openvox-autosign")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/openvox-autosign").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// TestCA: a Puppet CA answers as other tests expect, signs what openvox-autosign permits, and
// refuses later what openvox-autosign refuses because of its extensions.
func TestCA(t *testing.T) {
	rendered, err := signing.Rendered{
		Policies: []signing.Policy{
			{Name: "nodes", Pattern: &signing.Allow{Allow: []string{"*.example.com"}}, DNSAltNames: &signing.Allow{Allow: []string{"www.example.com"}}},
			{Name: "lab", Any: true},
		},
		Reserved: []string{"main-operator"},
	}.Write()
	require.NoError(t, err)
	policies, hook := filepath.Join(t.TempDir(), "signing-policies.yaml"), filepath.Join(t.TempDir(), "autosign")
	require.NoError(t, os.WriteFile(policies, rendered, 0o600))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nexec "+autosign(t)+" --config "+policies+" \"$@\"\n"), 0o755))
	ca, err := Start(t.Context(), Options{Dir: t.TempDir(), Name: "ca.example.com", Operator: "main-operator", Autosign: hook})
	require.NoError(t, err)
	t.Cleanup(ca.Stop)

	get := func(path string) (status int, answer string) {
		status, text, err := ca.Do(t.Context(), http.MethodGet, path, nil)
		require.NoError(t, err)
		return status, string(text)
	}
	submit := func(certname string, template csrtest.Template) int {
		template.CommonName = certname
		status, _, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/"+certname, template.Make(t))
		require.NoError(t, err)
		return status
	}
	signed := func(certname string, template csrtest.Template) bool {
		require.Equal(t, http.StatusOK, submit(certname, template), certname)
		status, _ := get("certificate/" + certname)
		return status == http.StatusOK
	}
	logged := func(text string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(ca.Log(), text) }, 2*time.Minute, 50*time.Millisecond, "the server logs %q", text)
	}

	status, list := get("certificate_revocation_list/ca")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, list, "BEGIN X509 CRL")
	status, _ = get("certificate/unknown")
	require.Equal(t, http.StatusNotFound, status)

	require.True(t, signed("web1.example.com", csrtest.Template{DNSNames: []string{"www.example.com"}}))
	require.False(t, signed("web2.example.com", csrtest.Template{DNSNames: []string{"www.example.com"}, IPs: []string{"10.0.0.1"}}))
	logged(`openvox-autosign: "web2.example.com" is not signed: signing policies "lab", "nodes": IP address 10.0.0.1 in subjectAltName`)
	require.False(t, signed("main-operator", csrtest.Template{}), "`any` signs no reserved name")
	require.Equal(t, http.StatusBadRequest, submit("web-.example.com", csrtest.Template{}))

	for i, extension := range refused(t) {
		certname := fmt.Sprintf("extension%d.example.com", i)
		require.False(t, signed(certname, csrtest.Template{Extensions: []pkix.Extension{extension}}), certname)
		status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_status/"+certname, []byte(`{"desired_state":"signed"}`))
		require.NoError(t, err)
		require.GreaterOrEqual(t, status, 400, "%s: %s", certname, answer)
	}
	logged(`"extension0.example.com" is not signed: extension basicConstraints is neither subjectAltName nor Puppet's`)

	require.NoError(t, os.Remove(hook))
	require.False(t, signed("web3.example.com", csrtest.Template{}), "an image without the program signs nothing")
}

// refused are extensions with which the CA itself signs no request.
func refused(t *testing.T) []pkix.Extension {
	t.Helper()
	der := func(value any) []byte {
		text, err := asn1.Marshal(value)
		require.NoError(t, err)
		return text
	}
	notCA, octets := der(struct{}{}), der([]byte{1, 2, 3})
	return []pkix.Extension{
		{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: notCA},
		{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: notCA},
		{Id: asn1.ObjectIdentifier{2, 5, 29, 14}, Value: octets},
		{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: der(asn1.BitString{Bytes: []byte{0xa0}, BitLength: 3})},
		{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: der([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 2}})},
		{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Value: octets},
	}
}
