package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
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

// build builds the program as it ships, unless LINTEL_PROGRAMS is a folder that has it.
func build(t *testing.T) (program string) {
	t.Helper()
	if folder := os.Getenv("LINTEL_PROGRAMS"); folder != "" {
		return filepath.Join(folder, "openvox-autosign")
	}
	program = filepath.Join(t.TempDir(), "openvox-autosign")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// documented is the line in docs/openvox/signing-policies.md that the program writes about a request
// with an IP address.
func documented(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/openvox/signing-policies.md")
	require.NoError(t, err)
	_, line, ok := strings.Cut(string(page), "\nopenvox-autosign: ")
	require.True(t, ok)
	line, _, _ = strings.Cut(line, "\n")
	return line + "\n"
}

// TestProgram: its exit status and the one line that it writes.
func TestProgram(t *testing.T) {
	program, config := build(t), writePolicies(t, policies)
	web := writePolicies(t, signing.Rendered{Policies: []signing.Policy{{Name: "web", Pattern: &signing.Allow{Allow: []string{"web*.example.com"}}}}})
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
		"documented":    {[]string{"--config", web, "web1.example.com"}, csrtest.Template{CommonName: "web1.example.com", IPs: []string{"10.0.0.1"}}.Make(t), documented(t)},
		"no request":    {[]string{"--config", config, "a"}, nil, `"a" is not signed: the certificate request cannot be read: it does not begin with a PEM block`},
		"huge":          {[]string{"--config", config, "a"}, bytes.Repeat([]byte("A"), 1<<20), `"a" is not signed: the certificate request cannot be read: it has 65537 bytes`},
		"no file":       {[]string{"--config", config + "x", "a"}, good, `"a" is not signed: reading the signing policies: open `},
		"bad file":      {[]string{"--config", broken, "a"}, good, `"a" is not signed: ` + broken + ` is not a policy file: `},
		"foreign file":  {[]string{"--config", foreign, "a"}, good, `"a" is not signed: ` + foreign + ` is not a policy file: `},
		"no name":       {[]string{"--config", config}, good, "0 certnames are specified instead of one; usage: "},
		"two names":     {[]string{"--config", config, "a", "b"}, good, "2 certnames are specified instead of one; usage: "},
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

// TestDeadline: the program ends in time for any cause of a delay, and nothing is signed.
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
