package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// TestOneFaultySourceHarmsNoOther: with one source that was brought past admission
// broken, and one that runs into its limits on every object, every replica is ready
// and the other sources enforce.
func TestOneFaultySourceHarmsNoOther(t *testing.T) {
	namespace := newNamespace(t)
	sound := inNamespace(namespace, configMapKind+", "+`{group: "", kind: Secret}`, `package sound
deny contains "unsound" if input.request.object.metadata.labels.unsound == "yes"`)
	applySource(t, "sound", sound, nil)
	applySource(t, "spinning", inNamespace(namespace, configMapKind, `package spinning
deny contains "never said" if {
	some i in numbers.range(1, 5000)
	some j in numbers.range(1, 5000)
	i * j == -1
}`), nil)

	withoutManager(t)
	mustKubectl(t, "", "delete", "validatingwebhookconfiguration", "lintel")
	mustKubectl(t, installation.PolicySource("broken", map[string]string{"policy.rego": broken}, nil), "apply", "--server-side", "-f", "-")
	t.Cleanup(func() { removeSource(context.Background(), "broken") })
	r := &replicas{relay: startRelay(t)}
	r.start(t, "replica-a")
	r.start(t, "replica-b")
	eventually(t, func() bool { return len(readSource(t, "broken").Status.Errors) > 0 }, "the broken source to say so")
	require.Empty(t, readSource(t, "broken").Status.Digest, "it never goes live")
	for _, source := range []string{"sound", "spinning"} {
		require.NoError(t, cluster.WaitSource(t.Context(), source))
	}

	// More than enough for each replica to meet the spinning policy many times.
	for n := range 20 {
		// Without trying again: that the spinning policy took too long is what is to be heard.
		output, err := cluster.Kubectl(t.Context(), labelled(namespace, fmt.Sprint("c", n), "unsound"), "apply", "-f", "-")
		require.Error(t, err)
		require.Contains(t, output, "unsound [sound deny, policy.rego:7, sound@", "the sound policy is heard beside the spinning one")
		require.Contains(t, output, "policy spinning ")
	}
	secret := func(object string) string { return strings.Replace(object, `"ConfigMap"`, `"Secret"`, 1) }
	output, ok := apply(t, secret(labelled(namespace, "s", "unsound")))
	require.False(t, ok)
	require.Contains(t, output, "denied the request: unsound [")
	require.NotContains(t, output, "spinning")
	output, ok = apply(t, secret(configMap(namespace, "s")))
	require.True(t, ok, output)

	for _, m := range r.all {
		response, err := http.Get(m.Health + "/readyz")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, "every replica stays ready")
	}
}
