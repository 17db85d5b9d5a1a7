package kinds

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// recordedArrival is an object that was sent to an API server of version 1.36.3 in order to create
// it, and the object in the review that its mutating webhooks received, without managedFields.
type recordedArrival struct {
	Sent, Reviewed map[string]any
}

func recordedArrivals(t *testing.T) (recorded []recordedArrival) {
	t.Helper()
	text, err := os.ReadFile("testdata/arrivals.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &recorded))
	require.NotEmpty(t, recorded)
	return recorded
}

// TestArrivalsAtAnAPIServer: objects arrive offline as they arrive at the webhooks of an API server,
// except for values that depend on the cluster.
func TestArrivalsAtAnAPIServer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, one := range recordedArrivals(t) {
		kind := schema.FromAPIVersionAndKind(one.Sent["apiVersion"].(string), one.Sent["kind"].(string))
		seen[kind.Kind] = true
		name, _ := one.Sent["metadata"].(map[string]any)["name"].(string)
		t.Run(kind.Kind+" "+name, func(t *testing.T) {
			sent, err := json.Marshal(one.Sent)
			require.NoError(t, err)
			arrived, err := New().Arrive(sent, kind, true)
			require.NoError(t, err)
			again, err := New().Arrive(arrived, kind, true)
			require.NoError(t, err)
			require.JSONEq(t, string(arrived), string(again), "an object that has arrived does not change")
			stored, err := New().Stored(arrived, kind)
			require.NoError(t, err)
			require.JSONEq(t, string(arrived), string(stored), "nor does one that is stored")
			assert.Equal(t, withoutClusterValues(t, kind, one.Reviewed), withoutClusterValues(t, kind, arrived))
		})
	}
	require.Greater(t, len(seen), 35, "kinds")
}

// withoutClusterValues is an object without the values that docs/reference/offline-evaluation.md
// lists: those that other objects, admission plugins or flags of the API server decide.
func withoutClusterValues(t *testing.T, kind schema.GroupVersionKind, object any) map[string]any {
	t.Helper()
	text, isText := object.([]byte)
	if !isText {
		var err error
		text, err = json.Marshal(object)
		require.NoError(t, err)
	}
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	metadata, _ := fields["metadata"].(map[string]any)
	for _, name := range []string{"uid", "creationTimestamp", "selfLink"} { // new ones before validation
		delete(metadata, name)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok && kind.Kind == "DaemonSet" {
		delete(annotations, "deprecated.daemonset.template.generation")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	spec, _ := fields["spec"].(map[string]any)
	switch kind.Kind {
	case "Pod":
		withoutPlugins(spec)
	case "Node":
		delete(spec, "taints")
	case "Namespace": // the label that each one has is set by the command line
		delete(metadata, "labels")
	case "PersistentVolume":
		delete(metadata, "finalizers")
	case "PersistentVolumeClaim":
		delete(metadata, "finalizers")
		delete(fields, "status") // empty before validation
	case "PriorityLevelConfiguration", "ResourceClaim":
		delete(fields, "spec")
	}
	return fields
}

// withoutPlugins removes what admission plugins set in a Pod, and the requests of the whole Pod.
func withoutPlugins(spec map[string]any) {
	for _, name := range []string{"priority", "preemptionPolicy", "tolerations", "resources"} {
		delete(spec, name)
	}
	isToken := func(item any) bool {
		name, _ := item.(map[string]any)["name"].(string)
		return strings.HasPrefix(name, "kube-api-access-")
	}
	remove := func(fields map[string]any, list string) {
		items, _ := fields[list].([]any)
		if items = slices.DeleteFunc(items, isToken); len(items) == 0 {
			delete(fields, list)
			return
		}
		fields[list] = items
	}
	remove(spec, "volumes")
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, container := range containers {
			remove(container.(map[string]any), "volumeMounts")
		}
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ object, want, refused string }{
		"defaults":        {"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: a}\nspec: {minReadySeconds: 3}", `"replicas":1`, ""},
		"an unknown one":  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatum: {}", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, ""},
		"a wrong type":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: []", "", "cannot be handled as a ConfigMap"},
		"a custom one":    {"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 1, sise: 2}", `"spec":{"color":"red","size":1}`, ""},
		"in deletion":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, deletionTimestamp: \"2026-01-01T00:00:00Z\"}", `"deletionTimestamp":"2026-01-01T00:00:00Z"`, ""},
		"an unknown kind": {"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nspec: {x: null}", `"spec":{"x":null}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, kind := read(t, test.object)
			got, err := widgetKinds(t).Stored(text, kind)
			if test.refused != "" {
				require.ErrorContains(t, err, test.refused)
				return
			}
			require.NoError(t, err)
			require.Contains(t, string(got), test.want)
		})
	}
}
