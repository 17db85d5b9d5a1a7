package gatekeeper

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// ownExpansion expands a kind of users, whose Pod template is at spec.run.pod.
const ownExpansion = `apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: webs}
spec:
  applyTo: [{groups: [example.com], versions: [v1, v2], kinds: [Web]}]
  templateSource: spec.run.pod
  generatedGVK: {version: v1, kind: Pod}
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: batches}
spec:
  applyTo: [{groups: [example.com], versions: [v1], kinds: [Web]}]
  templateSource: spec.cleanup
  generatedGVK: {group: batch, version: v1, kind: Job}
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: jobs}
spec:
  applyTo: [{groups: [batch], versions: [v1], kinds: [Job]}]
  templateSource: spec.template
  generatedGVK: {version: v1, kind: Pod}
`

// describePod reports the parts of a Pod that expansions and mutators decide.
const describePod = `package x

violation[{"msg": msg}] {
  pod := input.review.object
  owner := pod.metadata.ownerReferences[_]
  msg := sprintf("%v of %v %v, team %v, host %v", [pod.metadata.name, owner.kind, owner.name, object.get(pod.metadata, "labels", {}), object.get(pod.spec, "hostPID", "unset")])
}`

// makeWeb is an object of the kind that ownExpansion expands.
func makeWeb(version string, spec jsonObject) jsonObject {
	return jsonObject{
		"uid": "u", "operation": "CREATE", "name": "shop", "namespace": "team",
		"kind":     jsonObject{"group": "example.com", "version": version, "kind": "Web"},
		"resource": jsonObject{"group": "example.com", "version": version, "resource": "webs"},
		"object":   jsonObject{"apiVersion": "example.com/" + version, "kind": "Web", "metadata": jsonObject{"name": "shop", "namespace": "team"}, "spec": spec},
		"userInfo": jsonObject{"username": "alice"},
	}
}

var (
	podTemplate = jsonObject{"metadata": jsonObject{"labels": jsonObject{"app": "web"}}, "spec": jsonObject{"hostPID": true}}
	webSpec     = jsonObject{"run": jsonObject{"pod": podTemplate}, "cleanup": jsonObject{"spec": jsonObject{"template": podTemplate}}}
)

func TestExpansionOfOwnKinds(t *testing.T) {
	t.Parallel()
	const direct, byJob = "[Implied by webs] shop-pod of Web shop, team {\"app\": \"web\"}, host true", "[Implied by jobs] shop-job-pod of Job shop-job, team {\"app\": \"web\"}, host true"
	files := map[string]string{"t.yaml": makeTemplate("X", describePod), "c.yaml": makeConstraint("X", "a", "{match: {kinds: [{apiGroups: [''], kinds: [Pod]}]}}"), "e.yaml": ownExpansion}
	for name, test := range map[string]struct {
		request jsonObject
		denials []string
		failure string
	}{
		"both templates":        {makeWeb("v1", webSpec), []string{direct, byJob}, ""},
		"a version with one":    {makeWeb("v2", webSpec), []string{direct}, ""},
		"a version without any": {makeWeb("v3", webSpec), nil, ""},
		"no template":           {makeWeb("v2", jsonObject{"run": jsonObject{}}), nil, "the object has no Pod template at spec.run.pod, where an ExpansionTemplate expects it"},
		"not a template":        {makeWeb("v2", jsonObject{"run": jsonObject{"pod": "none"}}), nil, "the object has no Pod template at spec.run.pod"},
		"a null template":       {makeWeb("v2", jsonObject{"run": nil}), nil, "the object has no Pod template at spec.run.pod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := ask(t, mustCompile(t, files), test.request, engine.Options{})
			if test.failure != "" {
				require.Len(t, decision.Denials, 1, "an object that cannot be expanded is not admitted")
				require.Contains(t, decision.Denials[0].Words, test.failure)
				return
			}
			require.ElementsMatch(t, test.denials, words(decision.Denials))
		})
	}
}

// TestMutatorsOfExpandedPods: mutators change the Pods of workloads before constraints review them,
// as they change the Pods that the workloads create.
func TestMutatorsOfExpandedPods(t *testing.T) {
	t.Parallel()
	assign := func(more string) string {
		return "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: host}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: spec.hostPID, parameters: {assign: {value: false}}}\n" + more
	}
	label := "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: team}\nspec: {location: metadata.labels.team, parameters: {assign: {value: red}}}\n"
	of := func(labels, host string) []string {
		return []string{"[Implied by webs] shop-pod of Web shop, team " + labels + ", host " + host}
	}
	const app, team = `{"app": "web"}`, `{"app": "web", "team": "red"}`
	for name, test := range map[string]struct {
		mutators string
		match    string
		denials  []string
		failure  string
	}{
		"none":                       {"", "{}", of(app, "true"), ""},
		"one":                        {assign(""), "{}", of(app, "false"), ""},
		"two":                        {assign("---\n" + label), "{}", of(team, "false"), ""},
		"a label that is selected":   {label, "{labelSelector: {matchLabels: {team: red}}}", of(team, "true"), ""},
		"a label that is excluded":   {label, "{labelSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}", nil, ""},
		"for all operations":         {strings.Replace(assign(""), "kinds: [Pod]", "kinds: [Pod], operations: [CREATE, UPDATE]", 1), "{}", of(app, "false"), ""},
		"for one operation":          {strings.Replace(assign(""), "kinds: [Pod]", "kinds: [Pod], operations: [CREATE]", 1), "{}", of(app, "true"), ""},
		"for originals":              {strings.Replace(assign(""), "location", "match: {source: Original}, location", 1), "{}", of(app, "true"), ""},
		"for generated Pods":         {strings.Replace(assign(""), "location", "match: {source: Generated}, location", 1), "{}", of(app, "false"), ""},
		"for another namespace":      {strings.Replace(assign(""), "location", "match: {namespaces: [other]}, location", 1), "{}", of(app, "true"), ""},
		"for the workload":           {strings.Replace(strings.Replace(assign(""), "kinds: [Pod]", "kinds: [Web]", 1), "groups: ['']", "groups: [example.com]", 1), "{}", of(app, "true"), ""},
		"that does not fit the Pod":  {strings.Replace(assign(""), "spec.hostPID", "spec.hostPID.x", 1), "{}", nil, "mutators cannot be applied to its Pod template: "},
		"of a constraint for others": {strings.Replace(assign(""), "spec.hostPID", "spec.hostPID.x", 1), "{namespaces: [other]}", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := mustCompile(t, map[string]string{
				"t.yaml": makeTemplate("X", describePod), "m.yaml": test.mutators, "e.yaml": strings.SplitAfter(ownExpansion, "---\n")[0],
				"c.yaml": makeConstraint("X", "a", "{match: "+strings.Replace(test.match, "{", "{kinds: [{apiGroups: [''], kinds: [Pod]}], ", 1)+"}"),
			})
			web := makeWeb("v1", webSpec)
			decision := ask(t, set, web, engine.Options{})
			if test.failure != "" {
				require.Len(t, decision.Denials, 1)
				require.Contains(t, decision.Denials[0].Words, test.failure)
				return
			}
			require.Equal(t, test.denials, words(decision.Denials))
			spec := web["object"].(jsonObject)["spec"].(jsonObject)
			require.Equal(t, webSpec, spec, "the workload itself is unchanged")
		})
	}
}
