package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithoutItsNamespaceAPolicyIsUndecided(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"no team\" if not input.namespace.metadata.labels.team\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/a\", \"value\": \"b\"} if input.namespace")
	snapshot := snapshotOf(set)
	undecided := []Undecided{{"p", `it reads input.namespace, and namespace "shop" is not at hand`, LackNamespace}}
	review := makeReview(t, pod)

	decision := snapshot.Validate(t.Context(), review, Options{Offline: true})
	require.Equal(t, undecided, decision.Undecided)
	require.Empty(t, decision.Denials)
	require.Equal(t, undecided, snapshot.Mutate(t.Context(), review, Options{Offline: true}).Undecided)

	known := Options{Offline: true, Namespace: readNamespace(t, `{"metadata":{"name":"shop"}}`)}
	decision = snapshot.Validate(t.Context(), review, known)
	require.Empty(t, decision.Undecided)
	require.Len(t, decision.Denials, 1)

	decision = snapshot.Validate(t.Context(), review, Options{})
	require.Len(t, decision.Denials, 1, "beside a cluster, no Namespace is an answer")

	clusterScoped := makeReview(t, `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"}}`)
	decision = snapshot.Validate(t.Context(), clusterScoped, Options{Offline: true})
	require.Empty(t, decision.Undecided)
	require.Len(t, decision.Denials, 1)
}
