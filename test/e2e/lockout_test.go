package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

const notAnswered = `failed calling webhook "fail.policies.lintel.dev"`

// matchless is the widest policy there can be: it is asked about every object, and
// has nothing in one namespace.
func matchless(namespace string) string {
	return fmt.Sprintf("package matchless\n\nimport rego.v1\n\ndeny contains \"nothing is written here\" if input.request.namespace == %q", namespace)
}

// TestAPolicyThatDeniesEverythingCanBeRemoved: the author of such a policy deletes its source;
// no policy is evaluated for that, and none blocks writes of its own status.
func TestAPolicyThatDeniesEverythingCanBeRemoved(t *testing.T) {
	namespace := newNamespace(t)
	everything := "# METADATA\n# custom:\n#   match: {operations: [CREATE, UPDATE, DELETE, CONNECT], subresources: [\"*\"]}\npackage everything\n\ndeny contains \"nothing at all\""
	applySource(t, "everything", everything, nil)
	for _, args := range [][]string{{"create", "configmap", "c", "-n", namespace}, {"delete", "namespace", namespace}} {
		output, ok := kubectl(t, "", args...)
		require.False(t, ok)
		require.Contains(t, output, "denied the request: nothing at all")
	}
	mustKubectl(t, "", "patch", "policysource", "everything", "--subresource=status", "--type=merge", "-p", `{"status":{"policies":7}}`)
	eventually(t, func() bool { return readSource(t, "everything").Status.Policies == 1 }, "the manager to write the status, too")
	mustKubectl(t, "", "delete", "policysource", "everything")
	eventually(t, func() bool { _, ok := apply(t, configMap(namespace, "c")); return ok }, "writes to be possible again")
}

// TestAWidePolicyCannotRefuseItsOwnRepair: one that names no kinds says so when it is
// applied, is asked about everything, and not about the PolicySource that mends it.
func TestAWidePolicyCannotRefuseItsOwnRepair(t *testing.T) {
	namespace := newNamespace(t)
	// Also after a failure below: in force, the policy would deny the objects of all later tests.
	t.Cleanup(func() { removeSource(context.Background(), "wide") })
	const wide = "package wide\n\ndeny contains \"nothing at all\""
	output, ok := apply(t, installation.PolicySource("wide", map[string]string{"p.rego": "# METADATA\n# customs:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\n" + wide}, nil))
	require.False(t, ok)
	require.Contains(t, output, "customs: unknown; did you mean custom?")

	output, ok = apply(t, installation.PolicySource("wide", map[string]string{"p.rego": wide}, nil))
	require.True(t, ok, output)
	require.Contains(t, output, "Warning: p.rego:1: policy wide names no kinds: it is asked about every object")
	eventually(t, func() bool {
		output, ok := apply(t, configMap(namespace, "c"))
		return !ok && strings.Contains(output, "denied the request: nothing at all")
	}, "the policy to be live")

	mustKubectl(t, "", "patch", "policysource", "wide", "--type=merge", "-p", `{"spec":{"failurePolicy":"Ignore"}}`)
	mustKubectl(t, installation.PolicySource("wide", map[string]string{"p.rego": strings.Replace(wide, "contains \"nothing at all\"", "contains \"x\" if input.name == \"x\"", 1)}, nil), "apply", "--server-side", "--force-conflicts", "-f", "-")
	eventually(t, func() bool { _, ok := apply(t, configMap(namespace, "c")); return ok }, "writes to be possible again")
}
