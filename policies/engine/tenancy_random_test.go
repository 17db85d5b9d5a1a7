//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/test/properties"
)

// TestScopesOnlyRestrict evaluates random policies with and without a random child: an object
// that is admitted with the child is admitted without it, a parent sets the same values, and
// outside the child's namespaces nothing changes.
func TestScopesOnlyRestrict(t *testing.T) {
	t.Parallel()
	rounds := properties.Count(300, 3000)
	random := rand.New(rand.NewPCG(properties.Seed(1), 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	condition := func() string {
		return pick("true", `input.request.object.metadata.labels.app == "web"`, "not input.request.object.spec.priority",
			"input.request.object.spec.priority > 3", "input.request.object.spec.priority == 1", `input.request.object.metadata.labels.tier`)
	}
	rule := func() string {
		switch random.IntN(3) {
		case 0:
			return "deny contains \"no\" if " + condition()
		case 1:
			return fmt.Sprintf("patch contains {\"op\": %q, \"path\": %s, \"value\": %s} if {\n\t%s\n\tnot input.request.object.metadata.labels.%s\n}", pick("add", "replace"),
				pick(`"/spec/priority"`, `"/metadata/labels/tier"`, `concat("/", ["", "metadata", "labels", "app"])`, `"/metadata/labels"`),
				pick("1", "7", `"x"`, `{"tier": "z"}`), condition(), pick("tier", "app", "other"))
		default:
			return fmt.Sprintf("defaults := {\"metadata\": {\"labels\": {%q: %q}}}", pick("tier", "app", "extra"), pick("a", "b"))
		}
	}
	var denied, patched, refused, entered int
	for range rounds {
		parent := scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, "package parent\n"+rule()+"\n"+pick("", "deny contains \"never\" if "+condition()))
		childText := "package child\n" + rule()
		child := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), childText)
		object := in(pick("shop", "other"))
		if random.IntN(2) == 0 {
			object = strings.Replace(object, `,"priority":5`, "", 1)
		}
		alone, both := admit(t, object, parent), admit(t, object, parent, child)
		byEntries := admitBy(t, object, []func(hierarchy.Key) bool{ofLevel(hierarchy.Enterprise), ofLevel(hierarchy.Team)}, parent, child)
		context := fmt.Sprintf("%s\n---\n%s\n---\n%s", parent.Files()["policy.rego"], childText, object)
		if strings.Contains(object, `"other"`) {
			require.Equal(t, alone, both, context)
			require.Equal(t, alone, byEntries, context)
			continue
		}
		if byEntries != "" {
			require.Equal(t, byEntries, admit(t, byEntries, parent), context)
			entered++
		}
		if both == "" {
			refused++
			continue
		}
		// A change by the child can make the parent's condition false, like a change by the
		// user. The stored object passes the parent alone, unchanged.
		require.Equal(t, both, admit(t, both, parent), context)
		if alone == "" {
			denied++
		}
		if both != alone {
			patched++
		}
	}
	require.Greater(t, refused, rounds/25, "and yet the children did something")
	require.Greater(t, patched, rounds/25)
	require.Greater(t, entered, rounds/25)
	t.Logf("refused %d, patched %d, admitted by the change of a child what was refused without %d", refused, patched, denied)
}

// admit is the object that is stored, or nothing.
func admit(t *testing.T, object string, sets ...*PolicySet) string {
	t.Helper()
	return admitBy(t, object, []func(hierarchy.Key) bool{nil}, sets...)
}

func ofLevel(level hierarchy.Level) func(hierarchy.Key) bool {
	return func(key hierarchy.Key) bool { return key.Level == level }
}

// admitBy is the object that is stored where each entry evaluates the policies of the scopes
// that it selects: it mutates once, and again after a later one has changed the object.
func admitBy(t *testing.T, object string, entries []func(hierarchy.Key) bool, sets ...*PolicySet) string {
	t.Helper()
	snapshot, review := snapshotOf(sets...), makeReview(t, object)
	for range 2 {
		for _, entry := range entries {
			mutation := snapshot.Mutate(t.Context(), review, Options{Scopes: entry})
			if !mutation.Allowed() {
				return ""
			}
			review = mutation.Review
		}
		if len(entries) == 1 {
			break
		}
	}
	for _, entry := range entries {
		if !snapshot.Validate(t.Context(), review, Options{Scopes: entry}).Allowed() {
			return ""
		}
	}
	after, err := review.Object()
	require.NoError(t, err)
	return string(after)
}
