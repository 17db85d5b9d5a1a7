package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/policy"
)

// TestPartialSources: without the flag or the field, a file that does not compile keeps all others
// out; with either, `check` and `policy lint` name the files that are left out.
func TestPartialSources(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"policies/good.rego": podMatch + "package good\ndeny contains \"good\"",
		"policies/bad.rego":  podMatch + "package bad\ndeny contains nope(1)",
		"source.yaml": "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: team}\nspec:\n  partial: true\n  inline:\n    files:\n" +
			"      good.rego: |\n        package good\n        deny contains \"good\"\n      bad.rego: |\n        package bad\n        deny contains nope(1)\n",
		"pod.yaml": whyPod,
	})
	policies, pod := filepath.Join(dir, "policies"), filepath.Join(dir, "pod.yaml")
	for name, source := range map[string][]string{"flag": {policies, "--partial"}, "field": {filepath.Join(dir, "source.yaml")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"check", "why"} {
				found := lintel(t, "", append([]string{command, "-f", pod, "-p"}, source...)...)
				require.Equal(t, 1, found.code, found.stdout+found.stderr)
				require.Contains(t, found.stdout, "good")
				require.Contains(t, found.stdout+found.stderr, "left out: ")
				require.Contains(t, found.stdout+found.stderr, "bad.rego:")
				require.Contains(t, found.stdout+found.stderr, "undefined function nope")
			}
			found := lintel(t, "", append([]string{"policy", "lint", "-p"}, source...)...)
			require.Zero(t, found.code, found.stdout+found.stderr)
			require.Contains(t, found.stdout, "accepted without 1 file: 1 policy")
			found = lintel(t, "", append([]string{"policy", "lint", "-o", "json", "-p"}, source...)...)
			var report policy.LintReport
			require.NoError(t, json.Unmarshal([]byte(found.stdout), &report))
			require.True(t, report.Accepted)
			require.Len(t, report.LeftOut, 1)
			require.Contains(t, report.LeftOut[0].Error(), "bad.rego:")
		})
	}
	written := lintel(t, "", "source", "-p", policies, "--partial")
	require.Zero(t, written.code, written.stderr)
	require.Contains(t, written.stdout, "spec:\n  failurePolicy: Fail\n  partial: true\n  inline:\n")
	require.Contains(t, written.stdout, "nope(1)", "the file is in the source, so that the cluster reports it")
	require.Contains(t, written.stderr, "left out: ")
	require.Equal(t, 2, lintel(t, "", "check", "-f", pod, "-p", policies).code)
	require.Equal(t, 1, lintel(t, "", "policy", "lint", policies).code)
	found := lintel(t, "", "prove", "-f", filepath.Join(dir, "source.yaml"))
	require.NotZero(t, found.code, "a proof is about all files")
	require.Contains(t, found.stdout+found.stderr, "undefined function nope")
}
