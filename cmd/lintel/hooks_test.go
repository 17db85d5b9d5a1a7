package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestPreCommitHooksAreCommands: what pre-commit runs, with the arguments that docs/how-to/check-manifests-in-ci.md
// gives it.
func TestPreCommitHooksAreCommands(t *testing.T) {
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	require.NoError(t, err)
	var hooks []struct {
		ID, Name, Description, Entry, Language, Files string
		PassFilenames                                 *bool `json:"pass_filenames"`
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &hooks))
	arguments := map[string][]string{
		"lintel-check":       {"-p", "policies", "-f", "manifests"},
		"lintel-policy-test": {"-p", "policies"},
	}
	require.Len(t, hooks, len(arguments))
	t.Chdir(folder(t, map[string]string{
		"policies/p.rego": denyAll, "policies/p_test.rego": "package p_test\n\nimport rego.v1\n\ntest_it if false\n",
		"manifests/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n",
	}))
	for _, hook := range hooks {
		require.Equal(t, "golang", hook.Language)
		require.False(t, *hook.PassFilenames, "the command takes no file as an argument")
		words := strings.Fields(hook.Entry)
		require.Equal(t, "lintel", words[0])
		got := lintel(t, "", append(words[1:], arguments[hook.ID]...)...)
		require.Equal(t, exitDenied, got.code, got.stderr)
	}
}
