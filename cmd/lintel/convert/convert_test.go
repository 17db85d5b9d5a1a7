package convert

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
)

const hostPID = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: host-pid}
spec:
  rules:
    - name: check
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {message: no, pattern: {spec: {=(hostPID): false}}}
`

const generated = `---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: quota}
spec: {rules: [{name: quota, match: {any: [{resources: {kinds: [Namespace]}}]}, generate: {kind: ResourceQuota}}]}
`

const pods = `apiVersion: v1
kind: Pod
metadata: {name: bad, namespace: a}
spec: {hostPID: true, containers: [{name: c, image: i}]}
`

// convertFolder runs the command with a folder of files, and returns its report.
func convertFolder(t *testing.T, files map[string]string, flags ...string) (out Report, folder string, err error) {
	t.Helper()
	input := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(input, name), []byte(text), 0o600))
	}
	folder = filepath.Join(t.TempDir(), "policies")
	cmd := NewCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"kyverno", input, "-o", folder, "--report", "json"}, flags...))
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	err = cmd.ExecuteContext(t.Context())
	if stdout.Len() > 0 {
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &out))
	}
	return out, folder, err
}

func TestConvertedAndRefusedPolicies(t *testing.T) {
	t.Parallel()
	out, folder, err := convertFolder(t, map[string]string{"policies.yaml": hostPID + generated})
	require.ErrorIs(t, err, report.Denied, "a refused policy is not a success")
	require.Len(t, out.Converted, 1)
	require.Len(t, out.Refused, 1)
	assert.Equal(t, "generate", out.Refused[0].Refusals[0].Construct)
	assert.FileExists(t, filepath.Join(folder, "host_pid", "check.rego"))
	assert.FileExists(t, filepath.Join(folder, "lib", "kyverno", "kyverno.rego"))
	assert.NoDirExists(t, filepath.Join(folder, "quota"))
	_, _, err = convertFolder(t, map[string]string{"policies.yaml": hostPID})
	require.NoError(t, err)
	_, _, err = convertFolder(t, map[string]string{"pod.yaml": pods})
	require.ErrorContains(t, err, "there are no policies of Kyverno in")
}

// kyvernoThat is a program that answers as a kyverno command.
func kyvernoThat(t *testing.T, answer string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kyverno")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ncat <<'END'\n"+answer+"\nEND\n"), 0o755))
	return program
}

func TestDifferencesFromKyvernoAreReported(t *testing.T) {
	t.Parallel()
	files := map[string]string{"policy.yaml": hostPID, "pod.yaml": pods}
	out, _, err := convertFolder(t, files, "--kyverno", kyvernoThat(t, `{"kind":"ClusterReport","results":[]}`))
	require.ErrorIs(t, err, report.Denied)
	require.Len(t, out.Comparisons, 1)
	assert.Greater(t, out.Comparisons[0].Objects, 20)
	require.NotEmpty(t, out.Comparisons[0].Differences)
	for _, one := range out.Comparisons[0].Differences {
		assert.Equal(t, "no", one.Lintel)
		assert.Empty(t, one.Kyverno)
	}
}

func TestFailureOfKyvernoIsNotEquality(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "kyverno")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho 'cannot load the policy' >&2\nexit 3\n"), 0o755))
	out, _, err := convertFolder(t, map[string]string{"policy.yaml": hostPID, "pod.yaml": pods}, "--kyverno", program)
	require.ErrorIs(t, err, report.Denied)
	require.Len(t, out.Comparisons, 1)
	assert.Contains(t, out.Comparisons[0].Error, "cannot load the policy")
}

func TestVariationsAreDeterministic(t *testing.T) {
	t.Parallel()
	generate := func() []map[string]any {
		out := variations(samples(map[string]any{"spec": map[string]any{"kinds": []any{"Pod"}}}), []string{"a"}, 50)
		for _, object := range out {
			compact(object)
		}
		return out
	}
	first := generate()
	assert.Equal(t, first, generate())
	names := map[string]bool{}
	for _, object := range first {
		assert.False(t, names[keyOf(object)], "%s is repeated", keyOf(object))
		names[keyOf(object)] = true
	}
	assert.Len(t, first, 53)
}
