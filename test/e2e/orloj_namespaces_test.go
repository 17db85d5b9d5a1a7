package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// TestOrlojInSomeNamespaces: a manager that may do nothing of Orloj's in other namespaces
// stores the objects of one, and leaves the rows of others alone.
func TestOrlojInSomeNamespaces(t *testing.T) {
	// Last of all: tests that count writes come next.
	t.Cleanup(func() {
		eventually(t, func() bool {
			left, err := postgres.Psql(context.Background(), "SELECT count(*) FROM agents WHERE name LIKE 'e2e-%orloj%'")
			return err == nil && strings.TrimSpace(left) == "0"
		}, "the rows of deleted namespaces to go")
	})
	served, other := newNamespace(t), "e2e-orloj-elsewhere"
	makeNamespace(t, other)
	mustKubectl(t, agentIn(other, "before", "stored by a manager of all namespaces", nil), "apply", "-f", "-")
	waitStored(t, other, "agents.orloj.dev/before")

	withoutManager(t)
	withoutBindings(t, otherSystemsBindings(t)...)
	mustKubectl(t, "", "apply", "-n", served, "-k", "config/rbac/orloj-namespace")
	m, err := installation.StartManager(t.Context(), cluster, installation.ManagerOptions{
		Program: filepath.Join(programs, "manager"), Name: "manager-0",
		Args: append([]string{"--drain=0s", "--systems=orloj", "--orloj-namespaces=" + served}, orlojArgs()...),
	})
	require.NoError(t, err)
	t.Cleanup(m.Stop)
	require.NoError(t, waitRegistered(t.Context(), m))

	const wrong = `{"apiVersion":"orloj.dev/v1","kind":"Tool","metadata":{"name":"wrong"},"spec":{"type":"cli"}}`
	var output string
	eventually(t, func() (ok bool) {
		output, ok = kubectl(t, wrong, "apply", "-n", served, "-f", "-")
		return !ok
	}, "the manager to be asked about its namespace")
	require.Contains(t, output, "spec.cli.command: a value is needed, since spec.type is cli")
	mustKubectl(t, agentIn(served, "here", "stored", nil), "apply", "-f", "-")
	waitStored(t, served, "agents.orloj.dev/here")

	mustKubectl(t, wrong, "apply", "-n", other, "-f", "-")
	mustKubectl(t, agentIn(other, "after", "not stored", nil), "apply", "-f", "-")
	// By then it has looked for drift, too.
	mustKubectl(t, agentIn(served, "later", "stored", nil), "apply", "-f", "-")
	waitStored(t, served, "agents.orloj.dev/later")
	require.Empty(t, mustKubectl(t, "", "get", "agents.orloj.dev/after", "-n", other, "-o", "jsonpath={.status}"))
	require.Equal(t, other+"/before", psql(t, "SELECT string_agg(name, ' ') FROM agents WHERE name LIKE '"+other+"/%'"))
}
