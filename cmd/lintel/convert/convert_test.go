package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

const replicas = `---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: replicas}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: 'object.spec.replicas > 2', message: too few}]
`

func TestValidatingPoliciesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	impure := strings.NewReplacer("replicas}", "other}", "object.spec.replicas > 2", `resource.Get("v1", "nodes", "a") != null`).Replace(replicas)
	mutating := strings.NewReplacer("replicas}", "mutating}", "ValidatingPolicy", "MutatingPolicy").Replace(replicas)
	ready := "---\napiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: replicas}\nstatus: {}\n"
	out, folder, err := convertFolder(t, map[string]string{"policies.yaml": replicas + impure + mutating + ready})
	require.ErrorIs(t, err, report.Denied)
	require.Len(t, out.Converted, 1)
	assert.True(t, out.Converted[0].Unchanged)
	text, err := os.ReadFile(filepath.Join(folder, "validatingpolicy--replicas.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "object.spec.replicas > 2")
	refused := map[string]string{}
	for _, one := range out.Refused {
		refused[one.Name] = one.Refusals[0].String()
	}
	assert.Contains(t, refused["other"], "policies.yaml:14: spec.validations[0].expression: resource.Get: it reads or writes objects")
	assert.Contains(t, refused["mutating"], "kind MutatingPolicy")
	assert.Len(t, refused, 2)
}

// TestAnswersOfKyvernoAreCompared lets Kyverno fail, pass and err.
func TestAnswersOfKyvernoAreCompared(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: only, namespace: a}\nspec: {replicas: 1}\n"
	result := func(result, message string) string {
		return fmt.Sprintf(`{"kind":"ClusterReport","results":[{"result":%q,"message":%q,"resources":[{"kind":"Deployment","namespace":"a","name":"only"}]}]}`, result, message)
	}
	for answer, lintel := range map[string]string{
		result("fail", "too few"): "",
		result("fail", "other"):   "fail: too few",
		result("fail", "CEL expression validation failed at index 0"): "",
		result("pass", "success"):                                     "fail: too few",
		result("error", "too few"):                                    "fail: too few",
		`{"kind":"ClusterReport","results":[]}`:                       "fail: too few",
	} {
		out, _, err := convertFolder(t, map[string]string{"policy.yaml": replicas, "object.yaml": object}, "--kyverno", kyvernoThat(t, answer))
		require.ErrorIs(t, err, report.Denied, "the variations differ")
		found := ""
		for _, one := range out.Comparisons[0].Differences {
			if metadata, _ := one.Object["metadata"].(map[string]any); metadata["name"] == "only" {
				found = one.Lintel
			}
		}
		assert.Equal(t, lintel, found, answer)
	}
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
