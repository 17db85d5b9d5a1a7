package gatekeeper

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/admission"
)

// TestKindsThatAreNotServed are reported in the status of the object that names them, and do not
// keep constraints from reading the objects of the others.
func TestKindsThatAreNotServed(t *testing.T) {
	t.Parallel()
	const config, syncSet = "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\n", "apiVersion: syncset.gatekeeper.sh/v1alpha1\nkind: SyncSet\nmetadata: {name: s}\n"
	for name, c := range map[string]struct {
		object string
		at     []string
		want   int // kinds that are left
		why    string
	}{
		"served":           {syncSet + "spec: {gvks: [{group: '', version: v1, kind: Pod}]}", []string{"spec", "gvks"}, 1, ""},
		"unknown":          {syncSet + "spec: {gvks: [{group: '', version: v1, kind: Pod}, {group: example.com, version: v1, kind: Web}]}", []string{"spec", "gvks"}, 1, "spec.gvks[1]: the cluster has no kind Web.example.com"},
		"misspelled":       {syncSet + "spec: {gvks: [{group: '', version: v1, kind: Pods}]}", []string{"spec", "gvks"}, 0, "did you mean"},
		"another group":    {syncSet + "spec: {gvks: [{group: '', version: v1, kind: Deployment}]}", []string{"spec", "gvks"}, 0, "the cluster has no kind Deployment"},
		"of a Config":      {config + "spec: {sync: {syncOnly: [{group: example.com, version: v1, kind: Web}, {group: '', version: v1, kind: Pod}]}}", []string{"spec", "sync", "syncOnly"}, 1, "spec.sync.syncOnly[0]: the cluster has no kind Web.example.com"},
		"several":          {syncSet + "spec: {gvks: [{group: a.com, version: v1, kind: A}, {group: b.com, version: v1, kind: B}]}", []string{"spec", "gvks"}, 0, "A.a.com; spec.gvks[1]: the cluster has no kind B.b.com"},
		"a pattern":        {syncSet + "spec: {gvks: [{group: '*', version: v1, kind: Web}]}", []string{"spec", "gvks"}, 1, ""},
		"a wrong type":     {syncSet + "spec: {gvks: {}}", nil, 0, ""},
		"nothing":          {config + "spec: {}", nil, 0, ""},
		"another kind":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nspec: {gvks: [{kind: Web}]}", []string{"spec", "gvks"}, 1, ""},
		"a wrong list":     {syncSet + "spec: {gvks: [1]}", []string{"spec", "gvks"}, 1, ""},
		"without a kind":   {syncSet + "spec: {gvks: [{group: example.com}]}", []string{"spec", "gvks"}, 1, ""},
		"a type of a kind": {syncSet + "spec: {gvks: [{group: example.com, kind: 1}]}", []string{"spec", "gvks"}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(c.object), &object.Object))
			before := object.DeepCopy()
			served, why := withoutUnserved(object, admission.BuiltinResources())
			require.Equal(t, before, &object, "the object in the cache is unchanged")
			if c.why == "" {
				require.Empty(t, why)
			}
			require.Contains(t, why, c.why)
			if c.at != nil {
				left, _, err := unstructured.NestedSlice(served.Object, c.at...)
				require.NoError(t, err)
				require.Len(t, left, c.want)
			}
		})
	}
}
