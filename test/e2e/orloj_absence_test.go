package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	orlojv1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/test/installation"
)

// TestOrlojManagerIsAway stops the manager once: objects change meanwhile, and a manager of
// one namespace runs.
func TestOrlojManagerIsAway(t *testing.T) {
	// Tests that count writes come next.
	t.Cleanup(func() {
		eventually(t, func() bool {
			left, err := postgres.Psql(context.Background(), "SELECT count(*) FROM agents WHERE name LIKE 'e2e-%orloj%'")
			return err == nil && strings.TrimSpace(left) == "0"
		}, "the rows of deleted namespaces to go")
	})
	namespace := newNamespace(t)
	served, other := namespace+"-served", namespace+"-other"
	makeNamespace(t, served)
	makeNamespace(t, other)
	mustKubectl(t, agentIn(namespace, "a", "p", nil)+"\n"+agentIn(other, "before", "stored by a manager of all namespaces", nil), "apply", "-f", "-")
	waitStored(t, namespace, "agent/a")
	waitStored(t, other, "agents.orloj.dev/before")

	manager.Stop()
	started := false
	t.Cleanup(func() {
		if !started {
			restartManager(t)
		}
	})
	t.Run("objects can be deleted", func(t *testing.T) { letGo(t, namespace) })
	mustKubectl(t, "", "delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "lintel")
	mustKubectl(t, agentIn(namespace, "status", "p", nil)+"\n"+agentIn(namespace, "fine", "p", nil), "apply", "-f", "-")
	t.Run("a manager of some namespaces", func(t *testing.T) { storesOneNamespace(t, served, other) })

	restartManager(t)
	started = true
	t.Run("what is wrong with old objects", func(t *testing.T) { saysWhatIsWrong(t, namespace) })
	t.Run("a name finds its row again", func(t *testing.T) {
		require.Equal(t, "1", psql(t, fmt.Sprintf("SELECT count(*) FROM agents WHERE name = '%s/a'", namespace)), "what nobody deletes stays")
		applyAllowed(t, agentIn(namespace, "a", "q", nil))
		waitStored(t, namespace, "agent/a")
		require.Equal(t, "q", psql(t, fmt.Sprintf("SELECT payload->'spec'->>'prompt' FROM agents WHERE name = '%s/a'", namespace)))
	})
}

// letGo: defect O15, that without the operator objects cannot be deleted; the documented
// command lets them go.
func letGo(t *testing.T, namespace string) {
	mustKubectl(t, "", "delete", "agent/a", "-n", namespace, "--wait=false")
	mustKubectl(t, "", "patch", "agent/a", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	_, found := get(t, "agent/a", "-n", namespace)
	require.False(t, found, "no webhook is asked about it")
}

// saysWhatIsWrong: defect O10, that what cannot go right is tried again and again, without a
// reason.
func saysWhatIsWrong(t *testing.T, namespace string) {
	message := waitReason(t, namespace, "status", "NotAdmitted")
	require.Equal(t, `metadata.name: "status" is a path of orlojd's API; take another name`, message)
	agent := agentOf(t, namespace, "status")
	require.Equal(t, "False Denied", says(agent.Status.Conditions, orlojv1.ConditionAdmitted))
	require.Equal(t, "True NotAdmitted", says(agent.Status.Conditions, orlojv1.ConditionStalled))
	require.Empty(t, agent.Finalizers, "nothing is stored, so nothing needs to go")
	waitStored(t, namespace, "agent/fine")
	require.Equal(t, "dynamic", psql(t, fmt.Sprintf("SELECT payload->'spec'->'execution'->>'profile' FROM agents WHERE name = '%s/fine'", namespace)), "defaults do not need the webhook")
}

// storesOneNamespace: a manager without permissions for Orloj in other namespaces stores the
// objects of one, and does not change the rows of others.
func storesOneNamespace(t *testing.T, served, other string) {
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
	require.Empty(t, mustGet(t, "agents.orloj.dev/after", "-n", other, "-o", "jsonpath={.status}"))
	require.Equal(t, other+"/before", psql(t, "SELECT string_agg(name, ' ') FROM agents WHERE name LIKE '"+other+"/%'"))
}
