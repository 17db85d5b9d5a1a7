package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

func update(t *testing.T, object string) *admission.Review {
	t.Helper()
	review := makeReview(t, object)
	review.Operation = "UPDATE"
	return review
}

// TestPatchesOfScopesInOtherCalls: the API server asks more than once, for each entry,
// after other webhooks and at every update, and what a parent set then is in the object.
func TestPatchesOfScopesInOtherCalls(t *testing.T) {
	const (
		priority = "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/priority\", \"value\": 1} if not input.request.object.spec.priority"
		guard    = "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/-\", \"value\": {\"name\": \"guard\", \"image\": \"guard\"}} if {\n\tnot \"guard\" in {c.name | some c in input.request.object.spec.containers}\n}"
		secure   = "package parent\ndefaults.spec.securityContext := {\"runAsNonRoot\": true}"
		whole    = "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/securityContext\", \"value\": {\"runAsNonRoot\": true, \"runAsUser\": 1000}} if not input.request.object.spec.securityContext"
		labels   = "package parent\npatch contains [{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {}}, {\"op\": \"add\", \"path\": \"/metadata/labels/owner\", \"value\": \"acme\"}] if not input.request.object.metadata.labels"
		both     = "# METADATA\n# custom: {match: {operations: [CREATE, UPDATE]}}\n"
	)
	bare := strings.Replace(in("shop"), `,"priority":5`, "", 1)
	guarded := strings.Replace(in("shop"), `"image":"nginx"}`, `"image":"nginx"},{"name":"guard","image":"guard","terminationMessagePath":"/dev/log"}`, 1)
	secured := strings.Replace(in("shop"), `"priority":5`, `"securityContext":{"runAsNonRoot":true,"runAsUser":1000}`, 1)
	unlabelled := strings.Replace(in("shop"), `,"labels":{"app":"web"}`, "", 1)
	for name, c := range map[string]struct {
		parent, child, object string
		ignore, update        bool
		want                  string
	}{
		"in the entry that ignores failures": {priority, "package c\npatch contains {\"op\": \"add\", \"path\": concat(\"/\", [\"\", \"spec\", \"priority\"]), \"value\": 2} if not input.request.object.spec.priority", bare, true, false, "it changes /spec/priority"},
		"there, what is set already":         {priority, "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec/priority\", \"value\": 2} if input.request.object.spec.priority == 5", in("shop"), true, false, "it changes /spec/priority"},
		"there, another place":               {priority, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/hostname\", \"value\": \"x\"} if not input.request.object.spec.hostname", bare, true, false, ""},
		"at an update":                       {priority, both + "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec/priority\", \"value\": 2} if input.request.object.spec.priority == 5", in("shop"), false, true, "it changes /spec/priority"},
		"at an update, another place":        {priority, both + "package c\npatch contains {\"op\": \"replace\", \"path\": \"/metadata/labels/app\", \"value\": \"x\"} if input.request.object.metadata.labels.app == \"web\"", in("shop"), false, true, ""},
		"in what was appended":               {guard, "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec/containers/1/image\", \"value\": \"evil\"} if input.request.object.spec.containers[1].image == \"guard\"", guarded, false, false, "it changes /spec/containers/1/image"},
		"added to what was appended":         {guard, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/1/command\", \"value\": [\"true\"]} if not input.request.object.spec.containers[1].command", guarded, false, false, "it changes /spec/containers/1/command"},
		"beside what was appended":           {guard, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/0/tty\", \"value\": true} if not input.request.object.spec.containers[0].tty", guarded, false, false, ""},
		"appended beside it":                 {guard, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/-\", \"value\": {\"name\": \"mine\"}} if not input.request.object.spec.containers[2]", guarded, false, false, ""},
		"in a map that was set as a whole":   {whole, "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec/securityContext/runAsUser\", \"value\": 0} if input.request.object.spec.securityContext.runAsUser == 1000", secured, false, false, "it changes /spec/securityContext/runAsUser"},
		"beside what was put into a map":     {whole, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/securityContext/fsGroup\", \"value\": 7} if not input.request.object.spec.securityContext.fsGroup", secured, false, false, ""},
		"the map itself, as a whole":         {whole, "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec/securityContext\", \"value\": {\"fsGroup\": 7}} if not input.request.object.spec.securityContext.fsGroup", secured, false, false, "it changes /spec/securityContext"},
		"a label in a map that was made":     {labels, "package c\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/team\", \"value\": \"a\"} if not input.request.object.metadata.labels.team", unlabelled, false, false, ""},
		"the map that is made, by both":      {labels, "package c\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {}} if not input.request.object.metadata.labels", unlabelled, false, false, ""},
		"the label that was put there":       {labels, "package c\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/owner\", \"value\": \"me\"} if not input.request.object.metadata.labels.owner == \"me\"", unlabelled, false, false, "it changes /metadata/labels/owner"},
		"the map away":                       {labels, "package c\npatch contains {\"op\": \"remove\", \"path\": \"/metadata/labels\"} if input.request.object.metadata.labels.owner", unlabelled, false, false, "it changes /metadata/labels"},
		"in a map of defaults":               {secure, "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec/securityContext/runAsUser\", \"value\": 0} if input.request.object.spec.securityContext.runAsUser == 1000", secured, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := snapshotOf(
				scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, c.parent),
				scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), c.child, func(s *definition.Source) {
					if c.ignore {
						s.FailurePolicy = definition.Ignore
					}
				}),
			)
			review, options := makeReview(t, c.object), Options{}
			if c.ignore {
				options.FailurePolicy = definition.Ignore
			}
			if c.update {
				review = update(t, c.object)
			}
			mutation := snapshot.Mutate(t.Context(), review, options)
			if c.want == "" {
				require.Empty(t, wordsOf(append(mutation.Denials, mutation.Warnings...)))
				require.NotEmpty(t, mutation.Patch)
				return
			}
			require.Empty(t, mutation.Patch)
			found := mutation.Denials
			if c.ignore {
				found = mutation.Warnings
			}
			require.Len(t, found, 1)
			require.Equal(t, "c", found[0].Policy)
			require.Contains(t, found[0].Words, c.want)
		})
	}
}

// TestTheWorkOfComparingIsTheNarrowerScopes: else a source could have the policies above
// it asked for as long as it likes.
func TestTheWorkOfComparingIsTheNarrowerScopes(t *testing.T) {
	snapshot := snapshotOf(
		scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/priority\", \"value\": 1} if not input.request.object.spec.priority"),
		scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), "package c\npatch contains {\"op\": \"replace\", \"path\": \"/metadata/labels/app\", \"value\": \"x\"}"),
	)
	e := newEvaluation(makeReview(t, in("shop")), Options{})
	m := newMutator(t.Context(), snapshot, e, &Mutation{})
	root := func() any { return toJSON(e.review.New.Value()) }
	by := member{policy: snapshot.policies[1], ops: []jsonpatch.Step{{Op: "replace", Path: []string{"metadata", "labels", "app"}, Value: "x"}}}
	require.Nil(t, m.overrides(by, m.parentsOf(e, root)))
	require.Positive(t, e.usage.bySource["team"])
	require.Zero(t, e.usage.bySource["all"])
	e.usage.bySource["team"] = sourceSteps
	require.Contains(t, m.overrides(by, m.parentsOf(e, root)).reason(), "takes more than the 2500000 steps")
}

// TestOverwrittenPlacesAreBounded: for each of them the policies above are asked again.
func TestOverwrittenPlacesAreBounded(t *testing.T) {
	snapshot := snapshotOf(
		scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/priority\", \"value\": 1} if not input.request.object.spec.priority"),
		scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), `package c
patch contains {"op": "replace", "path": concat("/", ["/metadata/labels", name]), "value": "mine"} if {
	some name, value in input.request.object.metadata.labels
	value == "theirs"
}`),
	)
	for places, want := range map[int]string{
		maxOverwritten:     "",
		maxOverwritten + 1: "it changes more than 32 places that hold something already",
	} {
		labels := make([]string, places)
		for i := range labels {
			labels[i] = fmt.Sprintf(`"l%d":"theirs"`, i)
		}
		object := strings.Replace(in("shop"), `"app":"web"`, strings.Join(labels, ","), 1)
		mutation := snapshot.Mutate(t.Context(), makeReview(t, object), Options{})
		if want == "" {
			require.Empty(t, wordsOf(mutation.Denials))
			require.Len(t, mutation.Patch, places)
			continue
		}
		require.Len(t, mutation.Denials, 1)
		require.Contains(t, mutation.Denials[0].Words, want)
	}
}

// TestANarrowerScopeUnsettlesNobodyElse: only the mutators that never reach a fixpoint are
// excluded, not the mutators that react to them.
func TestANarrowerScopeUnsettlesNobodyElse(t *testing.T) {
	const follows = `# METADATA
# custom: {enforcement: warn}
package parent
patch contains {"op": "add", "path": "/metadata/labels/copy", "value": app} if {
	app := input.request.object.metadata.labels.app
	not input.request.object.metadata.labels.copy == app
}`
	const turns = `package c
patch contains {"op": "replace", "path": "/metadata/labels/app", "value": sprintf("%s-", [input.request.object.metadata.labels.app])}`
	for failurePolicy, patched := range map[definition.FailurePolicy]int{definition.Fail: 0, definition.Ignore: 1} {
		snapshot := snapshotOf(
			scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, follows),
			scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), turns, func(s *definition.Source) { s.FailurePolicy = failurePolicy }),
		)
		mutation := snapshot.Mutate(t.Context(), makeReview(t, in("shop")), Options{})
		found := append(mutation.Denials, mutation.Warnings...)
		require.Len(t, found, 1)
		require.Equal(t, "c", found[0].Policy)
		require.Len(t, mutation.Patch, patched, failurePolicy)
	}
}
