package main

import (
	"bytes"
	"context"
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
	"github.com/lintel-policy/lintel/test/puppetca"
)

// policies are those of the tests: names below example.com, and their www.
var policies = signing.Rendered{
	Policies: []signing.Policy{
		{Name: "nodes", Pattern: &signing.Allow{Allow: []string{"*.example.com"}}, DNSAltNames: &signing.Allow{Allow: []string{"www.example.com"}}},
		{Name: "lab", Any: true},
	},
	Reserved: []string{"main-operator"},
}

func writePolicies(t *testing.T, rendered signing.Rendered) (path string) {
	t.Helper()
	text, err := rendered.Write()
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "signing-policies.yaml")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// build builds the program as it ships.
func build(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "openvox-autosign")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// TestProgram: its exit status and the one line that it writes.
func TestProgram(t *testing.T) {
	program, config := build(t), writePolicies(t, policies)
	good := csrtest.Template{CommonName: "web1.example.com"}.Make(t)
	broken, foreign := filepath.Join(t.TempDir(), "broken.yaml"), filepath.Join(t.TempDir(), "foreign.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("apiVersion: signing.lintel.dev/v1\nkind: SigningPolicies\nsigningPolicies: [{name: a, any: true, patern: {}}]"), 0o600))
	require.NoError(t, os.WriteFile(foreign, []byte("policies: [{name: a, any: true}]"), 0o600))
	for name, c := range map[string]struct {
		args    []string
		request []byte
		want    string // the line begins with it; empty is signed
	}{
		"signed":        {[]string{"--config", config, "web1.example.com"}, good, ""},
		"another flag":  {[]string{"-config=" + config, "web1.example.com"}, good, ""},
		"reserved":      {[]string{"--config", config, "main-operator"}, csrtest.Template{CommonName: "main-operator"}.Make(t), `"main-operator" is not signed: certname "main-operator" is reserved`},
		"no request":    {[]string{"--config", config, "a"}, nil, `"a" is not signed: the certificate request cannot be read: it does not begin with a PEM block`},
		"huge":          {[]string{"--config", config, "a"}, bytes.Repeat([]byte("A"), 1<<20), `"a" is not signed: the certificate request cannot be read: it has 65537 bytes`},
		"no file":       {[]string{"--config", config + "x", "a"}, good, `"a" is not signed: reading the signing policies: open `},
		"bad file":      {[]string{"--config", broken, "a"}, good, `"a" is not signed: ` + broken + ` is no policy file: `},
		"foreign file":  {[]string{"--config", foreign, "a"}, good, `"a" is not signed: ` + foreign + ` is no policy file: `},
		"no name":       {[]string{"--config", config}, good, "0 certnames are given, not one; usage: "},
		"two names":     {[]string{"--config", config, "a", "b"}, good, "2 certnames are given, not one; usage: "},
		"no such flag":  {[]string{"--confg", config, "a"}, good, "flag provided but not defined: -confg; usage: "},
		"line breaks":   {[]string{"--config", config, "a\nb"}, good, `"a\nb" is not signed: `},
		"no such flags": {[]string{"--help"}, good, "flag: help requested; usage: "},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), program, c.args...)
			command.Stdin = bytes.NewReader(c.request)
			var stdout, stderr strings.Builder
			command.Stdout, command.Stderr = &stdout, &stderr
			err := command.Run()
			require.Empty(t, stdout.String())
			if c.want == "" {
				require.NoError(t, err, stderr.String())
				require.Empty(t, stderr.String())
				return
			}
			require.Equal(t, 1, command.ProcessState.ExitCode())
			require.True(t, strings.HasPrefix(stderr.String(), "openvox-autosign: "+c.want), stderr.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %s", stderr.String())
		})
	}
}

// TestDeadline: whatever holds it up, the program ends, and nothing is signed.
func TestDeadline(t *testing.T) {
	program, config := build(t), writePolicies(t, policies)
	command := exec.CommandContext(t.Context(), program, "--config", config, "--timeout", "50ms", "web1.example.com")
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close() // until then the request has no end
	var stderr strings.Builder
	command.Stderr = &stderr
	require.Error(t, command.Run())
	require.Equal(t, 1, command.ProcessState.ExitCode())
	require.Equal(t, "openvox-autosign: \"web1.example.com\" is not signed: it is not decided after 50ms\n", stderr.String())
}

// TestPuppetCA: a real Puppet CA asks the program about each request, and does as it says.
func TestPuppetCA(t *testing.T) {
	hook := filepath.Join(t.TempDir(), "autosign")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nexec "+build(t)+" --config "+writePolicies(t, policies)+" \"$@\"\n"), 0o755))
	ca, err := puppetca.Start(t.Context(), puppetca.Options{Dir: t.TempDir(), Name: "ca.example.com", Operator: "main-operator", Autosign: hook})
	require.NoError(t, err)
	t.Cleanup(ca.Stop)

	submit := func(certname string, template csrtest.Template) {
		template.CommonName = certname
		status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/"+certname, template.Make(t))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s", answer)
	}
	signed := func(certname string) bool {
		status, _, err := ca.Do(t.Context(), http.MethodGet, "certificate/"+certname, nil)
		require.NoError(t, err)
		return status == http.StatusOK
	}
	submit("web1.example.com", csrtest.Template{DNSNames: []string{"www.example.com"}})
	require.True(t, signed("web1.example.com"))

	submit("web2.example.com", csrtest.Template{DNSNames: []string{"www.example.com"}, IPs: []string{"10.0.0.1"}})
	require.False(t, signed("web2.example.com"))
	require.Eventually(t, func() bool {
		return strings.Contains(ca.Log(), `openvox-autosign: "web2.example.com" is not signed: signing policies "lab", "nodes": IP address 10.0.0.1 in subjectAltName`)
	}, 2*time.Minute, 50*time.Millisecond, "the reason in the server's log")

	submit("main-operator", csrtest.Template{})
	require.False(t, signed("main-operator"), "`any` signs no reserved name")

	// What the CA itself would refuse later is refused here.
	notCA, err := asn1.Marshal(struct{}{})
	require.NoError(t, err)
	octets, err := asn1.Marshal([]byte{1, 2, 3})
	require.NoError(t, err)
	usage, err := asn1.Marshal(asn1.BitString{Bytes: []byte{0xa0}, BitLength: 3})
	require.NoError(t, err)
	extended, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 2}})
	require.NoError(t, err)
	for i, extension := range []pkix.Extension{
		{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: notCA}, {Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: notCA},
		{Id: asn1.ObjectIdentifier{2, 5, 29, 14}, Value: octets}, {Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: usage},
		{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: extended}, {Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Value: octets},
	} {
		certname := fmt.Sprintf("extension%d.example.com", i)
		submit(certname, csrtest.Template{Extensions: []pkix.Extension{extension}})
		require.False(t, signed(certname), certname)
		status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_status/"+certname, []byte(`{"desired_state":"signed"}`))
		require.NoError(t, err)
		require.GreaterOrEqual(t, status, 400, "%s: %s", certname, answer)
	}
	require.Eventually(t, func() bool {
		return strings.Contains(ca.Log(), `"extension0.example.com" is not signed: extension basicConstraints is neither subjectAltName nor Puppet's`)
	}, 2*time.Minute, 50*time.Millisecond, "the reason in the server's log")
	status, answer, err := ca.Do(t.Context(), http.MethodPut, "certificate_request/web-.example.com", csrtest.Template{CommonName: "web-.example.com"}.Make(t))
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status, "%s", answer)

	// An image without the program signs nothing.
	require.NoError(t, os.Remove(hook))
	submit("web3.example.com", csrtest.Template{})
	require.False(t, signed("web3.example.com"))
}

// BenchmarkProgram is the whole process, as a Puppet server starts it.
func BenchmarkProgram(b *testing.B) {
	folder := b.TempDir()
	program := filepath.Join(folder, "openvox-autosign")
	require.NoError(b, exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", program, ".").Run())
	text, err := policies.Write()
	require.NoError(b, err)
	config := filepath.Join(folder, "signing-policies.yaml")
	require.NoError(b, os.WriteFile(config, text, 0o600))
	request := csrtest.Template{CommonName: "web1.example.com"}.Make(b)
	for b.Loop() {
		command := exec.CommandContext(context.Background(), program, "--config", config, "web1.example.com")
		command.Stdin = bytes.NewReader(request)
		require.NoError(b, command.Run())
	}
}
