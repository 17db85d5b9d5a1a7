package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lintelProgram runs the command line against the cluster.
func lintelProgram(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), append(args, "--kubeconfig", cluster.Kubeconfig)...)
	text, err := command.CombinedOutput()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err, string(text))
	}
	return string(text), command.ProcessState.ExitCode()
}

func TestWhyOfACluster(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, "", "label", "namespace", namespace, "why=asked")
	mustKubectl(t, configMap(namespace, "before"), "apply", "-f", "-")
	applySource(t, "why", "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}], namespaceSelector: {matchLabels: {why: asked}}}\npackage why\nimport rego.v1\ndeny contains \"explained\" if input.name == \"before\"", nil)
	applySource(t, "why-not", "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}], namespaces: [\"elsewhere-*\"]}\npackage elsewhere\ndeny contains \"never\"", nil)

	output, code := lintelProgram(t, "why", "--live", "configmap/before", "-n", namespace)
	require.Equal(t, 1, code, output)
	require.Contains(t, output, "ConfigMap "+namespace+"/before: denied by why; 1 policy matched")
	require.Contains(t, output, "deny       explained [why deny, policy.rego:6, why@")
	require.Regexp(t, `namespaces +namespace "`+namespace+`" is not one of elsewhere-\*`, output)

	manifest := filepath.Join(t.TempDir(), "after.yaml")
	mustWrite(t, manifest, configMap(namespace, "after"))
	output, code = lintelProgram(t, "why", "--live", "-f", manifest)
	require.Equal(t, 0, code, output)
	require.Contains(t, output, "has nothing against it")

	output, code = lintelProgram(t, "why", "--live", "cm/before", "-n", namespace)
	require.Equal(t, 1, code, output)

	output, code = lintelProgram(t, "why", "--live", "configmapp/before", "-n", namespace)
	require.Equal(t, 2, code)
	require.Contains(t, output, `the cluster has no kind "configmapp"; did you mean kind ConfigMap`)

	output, code = lintelProgram(t, "why", "--live", "nosuch/before", "-n", namespace)
	require.Equal(t, 2, code)
	require.Contains(t, output, `the cluster has no kind "nosuch"`)
}

func TestPolicyStatusOfACluster(t *testing.T) {
	namespace := newNamespace(t)
	applySource(t, "status", inNamespace(namespace, configMapKind, "package status\ndeny contains \"x\""), nil)

	output, code := lintelProgram(t, "policy", "status")
	require.Zero(t, code, output)
	require.Regexp(t, `NAME +SCOPE +READY +REVISION +POLICIES +RULES +REPLICAS +AGE`, output)
	require.Regexp(t, `(?m)^status +enterprise +True +[0-9a-f]{12} +1 +1 +1/1 +\d+s$`, output)

	one, code := lintelProgram(t, "policy", "status", "status")
	require.Zero(t, code, one)
	require.Regexp(t, `(?m)^status +enterprise`, one)
	one, code = lintelProgram(t, "policy", "status", "statsu")
	require.Equal(t, 2, code)
	require.Contains(t, one, `the cluster has no PolicySource "statsu"; did you mean status?`)

	output, code = lintelProgram(t, "policy", "status", "-o", "json")
	require.Zero(t, code, output)
	var report struct {
		Sources []struct {
			Name     string
			Ready    string
			Serving  int
			Replicas []struct {
				Name    string
				Current bool
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(output), &report))
	require.NotContains(t, output, "null")
	for _, source := range report.Sources {
		if source.Name == "status" {
			require.Equal(t, "True", source.Ready)
			require.Equal(t, 1, source.Serving)
			require.True(t, source.Replicas[0].Current)
			return
		}
	}
	t.Fatal("the source is missing")
}

// TestCompletionOfACluster: what shells offer is what the cluster has.
func TestCompletionOfACluster(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, configMap(namespace, "offered"), "apply", "-f", "-")
	applySource(t, "offered-source", inNamespace(namespace, configMapKind, "package offered\ndeny contains \"never\" if false"), nil)
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"why", "--live", "--kubeconfig", cluster.Kubeconfig, "-n", namespace, "cm/"}, "cm/offered"},
		{[]string{"why", "--live", "--kubeconfig", cluster.Kubeconfig, ""}, "policysources/"},
		{[]string{"why", "--live", "--kubeconfig", cluster.Kubeconfig, "-n", ""}, namespace},
		{[]string{"policy", "status", "--kubeconfig", cluster.Kubeconfig, ""}, "offered-source"},
	} {
		output, err := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), append([]string{"__complete"}, c.words...)...).Output()
		require.NoError(t, err)
		require.Contains(t, strings.Split(string(output), "\n"), c.want, string(output))
	}
}
