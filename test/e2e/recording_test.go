package e2e

import (
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
)

// TestTheManagerRecords kills a manager that records requests. The stored records are readable, and
// no masked value is in any file.
func TestTheManagerRecords(t *testing.T) {
	const canary = "canary-5b1e0c9d"
	namespace := newNamespace(t)
	folder := t.TempDir()
	manager.Stop()
	restarted := false
	t.Cleanup(func() {
		if !restarted {
			restartManager(t)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	recording, err := startManager(ctx, "--record=file://"+filepath.ToSlash(folder), "--record-sample=other=1", "--record-merge-within=0")
	require.NoError(t, err)
	manager = recording
	applyForTest(t, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"recording-policy-data","labels":{"lintel.dev/aggregate-to-policy-data":"true"}},
"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["list","watch"]}]}`)
	// The policy requires Secrets, and quotes the values of all objects.
	applySource(t, "quotes", `# METADATA
# custom:
#   match:
#     namespaces: ["`+namespace+`"]
#     kinds: [{group: "", kind: Secret}, {group: "", kind: Pod}, {group: "", kind: ConfigMap}]
#   requires: [{group: "", kind: Secret}]
package quotes
import rego.v1
deny contains sprintf("value %s", [base64.decode(value)]) if {
	some value in input.request.object.data
	input.name == "denied"
}
warn contains sprintf("env %s", [value]) if value := input.request.object.spec.containers[_].env[_].value
deny contains sprintf("stored %v", [data.cluster.Secret["`+namespace+`"].admitted.data]) if input.name == "reads"`, nil)

	mustKubectl(t, secret(namespace, "admitted", "key", canary), "apply", "-f", "-")
	mustKubectl(t, strings.ReplaceAll(secret(namespace, "admitted", "key", canary), `"data"`, `"stringData"`), "apply", "-f", "-")
	output, ok := apply(t, secret(namespace, "denied", "key", canary))
	require.False(t, ok, output)
	require.Contains(t, output, canary, "the policy quotes the value")
	output, ok = apply(t, configMap(namespace, "reads"))
	require.False(t, ok, output)
	mustKubectl(t, pod(namespace, "env", `{"containers":[{"name":"c","image":"nginx","env":[{"name":"A","value":"`+canary+`"}]}]}`), "apply", "-f", "-")

	store, err := record.OpenFolder(folder)
	require.NoError(t, err)
	defer store.Close()
	names := func() map[string]bool {
		found := map[string]bool{}
		for r, err := range store.Records(t.Context(), time.Time{}, time.Time{}) {
			if err != nil {
				continue // the frame that is being written
			}
			if strings.Contains(string(r.Request), `"namespace":"`+namespace+`"`) {
				for _, name := range []string{"admitted", "denied", "reads", "env"} {
					found[name] = found[name] || strings.Contains(string(r.Request), `"name":"`+name+`"`)
				}
			}
		}
		return found
	}
	eventually(t, func() bool {
		found := names()
		return found["admitted"] && found["denied"] && found["reads"] && found["env"]
	}, "the requests to be stored")
	recording.Kill()
	require.Len(t, names(), 4, "the records survive the process")

	denied := 0
	for r, err := range store.Records(t.Context(), time.Time{}, time.Time{}) {
		require.NoError(t, err)
		if !r.Decision.Allowed {
			denied++
			require.NotEmpty(t, r.Decision.Denials[0].Location)
			require.NotEmpty(t, r.Decision.Denials[0].Revision)
		}
	}
	require.GreaterOrEqual(t, denied, 2)
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	require.NoError(t, filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		plain, err := decoder.DecodeAll(text, nil)
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
			require.NotContains(t, string(text), form)
			require.NotContains(t, string(plain), form)
		}
		return err
	}))
	restartManager(t) // before the source is removed
	restarted = true
}
