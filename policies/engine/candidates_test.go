package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

// TestPlacesAreTakenByAllThatMakesThem asks one snapshot about reviews that differ in one
// property: a policy that the index skips for one review must be evaluated for the next.
func TestPlacesAreTakenByAllThatMakesThem(t *testing.T) {
	gold := Options{Namespace: readNamespace(t, `{"metadata":{"name":"shop","labels":{"tier":"gold"}}}`)}
	silver := Options{Namespace: readNamespace(t, `{"metadata":{"name":"shop","labels":{"tier":"silver"}}}`)}
	snapshot := snapshotOf(compile(t, `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Pod}], namespaces: ["sh*"], namespaceSelector: {matchLabels: {tier: gold}}, objectSelector: {matchLabels: {app: web}}}
package p
deny contains "matched"`))
	other := strings.Replace(pod, `"app":"web"`, `"app":"db"`, 1)
	for range 2 {
		for _, c := range []struct {
			review  *admission.Review
			options Options
			want    bool
		}{
			{makeReview(t, pod), silver, false},
			{makeReview(t, pod), gold, true},
			{makeReview(t, pod), Options{}, true}, // the labels are not known: it fails closed
			{makeReview(t, other), gold, false},
			{makeReview(t, pod, operation("DELETE")), gold, false},
			{makeReview(t, pod, field("subResource", "status")), gold, false},
			{makeReview(t, pod, field("namespace", "team")), gold, false},
		} {
			decision := snapshot.Validate(t.Context(), c.review, c.options)
			require.Equal(t, c.want, !decision.Allowed(), "%+v: %v", c, denials(decision))
		}
	}
	require.NotEmpty(t, snapshot.cache.lists)
}

func TestPlacesAreBounded(t *testing.T) {
	snapshot := snapshotOf(compile(t, "package p\ndeny contains \"matched\""))
	padding := strings.Repeat("x", 64<<10)
	for i := range 3 * maxCachedCandidates / len(padding) {
		namespace := fmt.Sprintf(`{"metadata":{"name":"n%d","annotations":{"a":"%s"}}}`, i, padding)
		review := makeReview(t, pod, field("namespace", fmt.Sprintf("n%d", i)))
		require.False(t, snapshot.Validate(t.Context(), review, Options{Namespace: readNamespace(t, namespace)}).Allowed())
		require.LessOrEqual(t, snapshot.cache.size, maxCachedCandidates)
	}
	require.Less(t, len(snapshot.cache.lists), maxCachedCandidates/len(padding)+1)
}
