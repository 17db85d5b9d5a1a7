package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
)

// checkSays runs `lintel check` on manifests, and checks its output.
func checkSays(t *testing.T, manifests string, flags []string, code int, says []string) {
	t.Helper()
	is, output := checkShipped(t, manifests, flags...)
	require.Equal(t, code, is, output)
	for _, words := range says {
		require.Contains(t, output, words)
	}
	require.NotContains(t, output, "@built-in", "a rule that ships speaks for itself")
}

// checkShipped checks manifests by the rules that ship with Lintel.
func checkShipped(t *testing.T, manifests string, flags ...string) (code int, output string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(file, []byte(manifests), 0o600))
	var stdout, stderr strings.Builder
	exit := run(t.Context(), append([]string{"lintel", "check", "-f", file}, flags...), strings.NewReader(""), &stdout, &stderr)
	return int(exit), stdout.String() + stderr.String()
}

const (
	goodAgent   = "apiVersion: orloj.dev/v1\nkind: Agent\nmetadata: {name: a, namespace: gitops}\nspec: {model_ref: m, prompt: p}\n"
	mappedAgent = "apiVersion: orloj.dev/v1\nkind: Agent\nmetadata: {name: a, namespace: gitops, annotations: {orloj.dev/target-namespace: production}}\nspec: {model_ref: m, prompt: p}\n"
	namespaceOf = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: gitops, annotations: {orloj.dev/allowed-target-namespaces: \"prod*\"}}\n"
)

func TestCheckAsksTheRulesOfOrloj(t *testing.T) {
	for name, c := range map[string]struct {
		manifests string
		flags     []string
		code      int
		says      []string
	}{
		"good":                {manifests: goodAgent, code: exitAllowed, says: []string{"Agent gitops/a: admitted", `add /spec/limits`, "1 object: 1 admitted, 1 patched"}},
		"bad":                 {manifests: strings.Replace(goodAgent, "model_ref: m", "limits: {timeout: soon}", 1), code: exitDenied, says: []string{`spec.limits.timeout: "soon" is not a duration such as 30s or 1m30s`, "field spec.limits.timeout", "spec.model_ref: a value is needed"}},
		"namespace at hand":   {manifests: mappedAgent + namespaceOf, code: exitAllowed},
		"namespace forbids":   {manifests: mappedAgent + strings.Replace(namespaceOf, "prod*", "test", 1), code: exitDenied, says: []string{"kubectl annotate --overwrite namespace gitops 'orloj.dev/allowed-target-namespaces=test,production'"}},
		"namespace not given": {manifests: mappedAgent, code: exitError, says: []string{"Agent gitops/a: undecided", `policy orloj.mapping: it reads input.namespace, and namespace "gitops" is not at hand`}},
		"open":                {manifests: mappedAgent + strings.Replace(namespaceOf, "prod*", "test", 1), flags: []string{"--orloj-namespace-mapping=open"}, code: exitAllowed},
		"open, no namespace":  {manifests: mappedAgent, flags: []string{"--orloj-namespace-mapping=Open"}, code: exitAllowed},
		"no such mode":        {manifests: goodAgent, flags: []string{"--orloj-namespace-mapping=closed"}, code: exitError, says: []string{`--orloj-namespace-mapping: "closed" is not one of Restricted, Open`}},
		"one key twice": {
			manifests: mappedAgent + namespaceOf + "---\n" + strings.Replace(goodAgent, "gitops", "production", 1), code: exitDenied,
			says: []string{"Agent gitops/a: admitted", "the store key production/a belongs to Agent gitops/a"},
		},
		"no rules at all": {manifests: namespaceOf, code: exitError, says: []string{"no policies: give a folder, a .rego file or a PolicySource with -p"}},
	} {
		t.Run(name, func(t *testing.T) { checkSays(t, c.manifests, c.flags, c.code, c.says) })
	}
}

// TestUserPoliciesSeeTheDefaults: as in the cluster, where the built-in entry comes first.
func TestUserPoliciesSeeTheDefaults(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "p.rego")
	require.NoError(t, os.WriteFile(policy, []byte("package p\nimport rego.v1\ndeny contains \"few steps\" if input.request.object.spec.limits.max_steps < 20\n"), 0o600))
	code, output := checkShipped(t, goodAgent, "-p", policy)
	require.Equal(t, exitDenied, code)
	require.Contains(t, output, "few steps [p deny, p.rego:3")
}

func TestOrlojGuardIsStarted(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--upstream", "orlojd:8080"}, `--upstream "orlojd:8080" is not a URL such as http://orlojd.orloj.svc:8080`},
		{[]string{"http://x"}, "stands alone"},
		{[]string{"--upstream", "http://x", "--listen", "nowhere:1:2"}, "listening on nowhere:1:2"},
	} {
		var stdout, stderr strings.Builder
		require.Equal(t, report.Error, run(t.Context(), append([]string{"lintel", "orloj-guard"}, c.args...), strings.NewReader(""), &stdout, &stderr))
		require.Contains(t, stderr.String(), c.says)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr strings.Builder
	require.Equal(t, report.Allowed, run(ctx, []string{"lintel", "orloj-guard", "--upstream", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"}, strings.NewReader(""), &stdout, &stderr))
	require.Contains(t, stderr.String(), "standing in front of orlojd")
}
