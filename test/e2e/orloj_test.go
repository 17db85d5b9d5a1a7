package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// orlojKey encrypts the Secrets of the tests.
const orlojKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// permitOrloj gives the manager of the tests Orloj's permissions and no others.
func permitOrloj(ctx context.Context) error { return installation.PermitOrloj(ctx, cluster) }

// orlojArgs are the manager's flags: with short intervals, so that little is waited for.
func orlojArgs() []string {
	return []string{
		"--orloj-postgres-dsn=" + postgres.DSN, "--orloj-secret-encryption-key=" + orlojKey, "--orloj-create-tables",
		"--orloj-status-sync-interval=1s", "--orloj-drift-interval=3s",
	}
}

// psql selects from the store as a person would.
func psql(t *testing.T, statements string) string {
	t.Helper()
	output, err := postgres.Psql(t.Context(), statements)
	require.NoError(t, err)
	return strings.TrimSpace(output)
}

const summarizer = `
apiVersion: orloj.dev/v1
kind: Agent
metadata:
  name: summarizer
  namespace: default
spec:
  prompt: You are a concise summarizer.
  model_ref: gpt-4o
  limits:
    max_steps: 5
`

func TestOrlojFirstUse(t *testing.T) {
	mustKubectl(t, summarizer, "apply", "-f", "-")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "agent/summarizer", "-n", "default")
	})
	mustKubectl(t, "", "wait", "--for=jsonpath={.status.phase}=Synced", "agent/summarizer", "-n", "default", "--timeout=30s")
	t.Log(mustKubectl(t, "", "get", "agent/summarizer", "-n", "default", "-o", "yaml"))
	t.Log(psql(t, "SELECT payload FROM agents"))
	mustKubectl(t, "", "delete", "agent/summarizer", "-n", "default", "--timeout=30s")
	require.Equal(t, "0", psql(t, "SELECT count(*) FROM agents"))
}
