package e2e

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/gitserver"
)

// TestPolicyFromGit follows one repository through what happens to it.
func TestPolicyFromGit(t *testing.T) {
	namespace := newNamespace(t)
	folder := t.TempDir()
	repository, err := gitserver.NewRepository(t.Context(), folder, "policies")
	require.NoError(t, err)
	server, err := gitserver.Start(folder, "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(func() { server.Stop() })

	push := func(words string) string {
		t.Helper()
		hash, err := repository.Push(t.Context(), map[string]string{
			"lintel/team.rego": inNamespace(namespace, configMapKind, "package team\ndeny contains \""+words+"\" if input.name == \""+words+"\""),
		})
		require.NoError(t, err)
		return hash
	}
	denied := func(words string) func() bool {
		return func() bool {
			output, ok := kubectl(t, configMap(namespace, words), "create", "--dry-run=server", "-f", "-")
			return !ok && strings.Contains(output, "denied the request: "+words+" [team deny, team.rego:")
		}
	}

	first := push("one")
	applyGitSource(t, "team-git", map[string]any{
		"git":      map[string]any{"url": server.URL + "/" + filepath.Base(repository.Bare), "ref": map[string]any{"branch": "main"}, "path": "lintel"},
		"interval": "5s",
	})
	require.NoError(t, cluster.WaitSource(t.Context(), "team-git"))
	require.Equal(t, "main@sha1:"+first, readSource(t, "team-git").Status.Revision)
	require.True(t, denied("one")())

	t.Run("a push goes live by polling", func(t *testing.T) {
		push("two")
		eventually(t, denied("two"), "the pushed rule to deny")
	})
}

// applyGitSource applies a PolicySource that goes with the test.
func applyGitSource(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	t.Cleanup(func() { removeSource(context.Background(), name) })
	text, err := json.Marshal(map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "PolicySource",
		"metadata": map[string]any{"name": name}, "spec": spec,
	})
	require.NoError(t, err)
	mustKubectl(t, string(text), "apply", "--server-side", "-f", "-")
}
