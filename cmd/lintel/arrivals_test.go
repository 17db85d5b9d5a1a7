package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// patching is a folder with a policy about one kind, on CREATE and UPDATE.
func patching(t *testing.T, kind, rules string) string {
	t.Helper()
	return folder(t, map[string]string{"p.rego": "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [" + kind + "], operations: [CREATE, UPDATE]}\npackage p\n\nimport rego.v1\n\n" + rules + "\n"})
}

const (
	deploymentKind = `{group: apps, kind: Deployment}`
	deployment     = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}\n"
)

// TestPatchedObjectsAreDecoded: the API server refuses a patched object whose fields have the wrong
// type, before it calls the validating webhooks.
func TestPatchedObjectsAreDecoded(t *testing.T) {
	t.Parallel()
	const never = "\ndeny contains \"validated\" if input.request.object.spec.replicas != 1"
	for name, test := range map[string]struct{ patch, want string }{
		"another type":   {`patch contains {"op": "replace", "path": "/spec/replicas", "value": "three"} if input.request.object.spec.replicas == 1`, "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
		"a list":         {`patch contains {"op": "add", "path": "/metadata/labels", "value": ["x"]} if not input.request.object.metadata.labels`, "cannot unmarshal array into Go struct field"},
		"in an element":  {`defaults.spec.template.spec.containers := [{"name": 1}]`, "cannot unmarshal number into Go struct field"},
		"a number":       {`defaults.metadata.labels.a := 1`, "cannot unmarshal number into Go struct field"},
		"a null element": {`defaults.spec.template.spec.containers := {"a": 1}`, "cannot unmarshal object into Go struct field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{nil, {"--operation", "UPDATE"}} {
				got := lintel(t, deployment, append([]string{"check", "-p", patching(t, deploymentKind, test.patch+never), "-f", "-"}, args...)...)
				require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
				require.Contains(t, got.stdout, "Internal error occurred: ")
				require.Contains(t, got.stdout, test.want)
				require.NotContains(t, got.stdout, "validated")
				require.NotContains(t, got.stdout, "1 patched")
			}
		})
	}
	for name, patch := range map[string]string{
		"an unknown field": `defaults.spec.unknown := "x"`,
		"a valid value":    `defaults.spec.paused := true`,
	} {
		got := lintel(t, deployment, "check", "-p", patching(t, deploymentKind, patch), "-f", "-")
		require.Equal(t, exitAllowed, got.code, name+got.stdout+got.stderr)
	}
}

// TestNullsOfBuiltInKinds: the API server decodes objects into types, in which null means that a field is absent.
func TestNullsOfBuiltInKinds(t *testing.T) {
	t.Parallel()
	labels := `patch contains {"op": "add", "path": "/metadata/labels/team", "value": "a"} if not input.request.object.metadata.labels.team`
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop, labels: null, annotations: {x: null}}\ndata: null\n"
	got := lintel(t, configMap, "check", "-p", patching(t, `{group: "", kind: ConfigMap}`, labels), "-f", "-")
	require.Equal(t, exitAllowed, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, `add /metadata/labels = {}`)

	request := seen(t, configMap)["request"].(map[string]any)
	object := request["object"].(map[string]any)
	require.Equal(t, map[string]any{"name": "a", "namespace": "shop", "annotations": map[string]any{"x": ""}}, object["metadata"])
	require.NotContains(t, object, "data")

	mutator := "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: team}\nspec: {location: metadata.labels.team, parameters: {assign: {value: a}}}\n"
	got = lintel(t, configMap, "check", "-p", folder(t, map[string]string{"m.yaml": mutator}), "-f", "-")
	require.Equal(t, exitAllowed, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "1 patched")
}

// TestReviewsWithoutANamespace: the API server always sends the namespace of a namespaced object.
func TestReviewsWithoutANamespace(t *testing.T) {
	t.Parallel()
	namespaced := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {namespaces: [shop], kinds: [{group: \"\", kind: Pod}, {group: \"\", kind: Namespace}]}\npackage p\n\ndeny contains input.request.namespace\n"})
	pod := `{"uid":"1","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"name":"a","userInfo":{"username":"jane"},"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}`
	got := lintel(t, reviewOf(pod), "check", "-p", namespaced, "-f", "-", "-n", "shop")
	require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stderr, "the request lacks fields, which are taken from its object: namespace shop")
	got = lintel(t, reviewOf(pod), "check", "-p", namespaced, "-f", "-")
	require.Equal(t, exitAllowed, got.code, "the namespace is default: "+got.stdout)

	inObject := strings.Replace(pod, `{"name":"a"}}`, `{"name":"a","namespace":"shop"}}`, 1)
	require.Equal(t, exitDenied, lintel(t, reviewOf(inObject), "check", "-p", namespaced, "-f", "-", "-n", "other").code)
	deletion := strings.NewReplacer(`"CREATE"`, `"DELETE"`, `"object"`, `"oldObject"`).Replace(pod)
	deletions := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {namespaces: [shop], operations: [DELETE], kinds: [{group: \"\", kind: Pod}]}\npackage p\n\ndeny contains \"no\"\n"})
	require.Equal(t, exitDenied, lintel(t, reviewOf(deletion), "check", "-p", deletions, "-f", "-", "-n", "shop").code)

	cluster := `{"uid":"1","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Node"},"resource":{"group":"","version":"v1","resource":"nodes"},"name":"a","userInfo":{"username":"jane"},"object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}}`
	requests, stderr := requestsSeen(t, reviewOf(cluster), "-n", "shop")
	require.Empty(t, requests[0]["namespace"])
	require.NotContains(t, stderr, "namespace")
}

// TestRequestsWithoutAUserAreNoted if a policy that is evaluated reads the user.
func TestRequestsWithoutAUserAreNoted(t *testing.T) {
	t.Parallel()
	const note = "reads the user of the request (p.rego:"
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n"
	policy := func(rules string) string { return patching(t, `{group: "", kind: Pod}`, rules) }
	for name, test := range map[string]struct {
		rules string
		args  []string
		noted bool
	}{
		"groups":          {`deny contains "x" if "admins" in input.request.userInfo.groups`, nil, true},
		"negated":         {`warn contains "x" if not "admins" in input.request.userInfo.groups`, nil, true},
		"by a function":   {"user(request) := request.userInfo.username\ndeny contains \"x\" if user(input.request) == \"jane\"", nil, true},
		"an update":       {`deny contains "x" if { input.request.oldObject.metadata.name; input.request.userInfo.username == "jane" }`, []string{"--operation", "UPDATE"}, true},
		"with a user":     {`deny contains "x" if "admins" in input.request.userInfo.groups`, []string{"--as", "jane"}, false},
		"another field":   {`deny contains "x" if input.request.object.spec.hostNetwork`, nil, false},
		"another request": {`deny contains "x" if "admins" in input.request.userInfo.groups`, []string{"--operation", "DELETE"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"check", "why"} {
				got := lintel(t, pod, append([]string{command, "-p", policy(test.rules), "-f", "-"}, test.args...)...)
				require.Equal(t, exitAllowed, got.code, got.stdout+got.stderr)
				require.Equal(t, test.noted, strings.Contains(got.stderr, note), command+": "+got.stderr)
			}
		})
	}
}

// TestWhyOfMutatorsThatDoNotMatch: a mutator whose match selects other objects did not match.
func TestWhyOfMutatorsThatDoNotMatch(t *testing.T) {
	t.Parallel()
	mutator := func(match string) string {
		return folder(t, map[string]string{"m.yaml": "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: team}\nspec: {match: {" + match + "}, location: metadata.labels.team, parameters: {assign: {value: a}}}\n"})
	}
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop, labels: {team: b}}\n"
	for match, matches := range map[string]bool{
		`namespaces: [other]`:                     false,
		`labelSelector: {matchLabels: {team: c}}`: false,
		`name: b`: false,
		`kinds: [{apiGroups: [""], kinds: [Node]}]`: false,
		`labelSelector: {matchLabels: {team: b}}`:   true,
		``: true,
	} {
		got := lintel(t, pod, "why", "-p", mutator(match), "-f", "-")
		require.Equal(t, exitAllowed, got.code, got.stdout+got.stderr)
		require.Equal(t, matches, strings.Contains(got.stdout, "changes nothing"), match+"\n"+got.stdout)
		require.Equal(t, !matches, strings.Contains(got.stdout, "0 policies matched, 1 did not"), match+"\n"+got.stdout)
	}
}

// TestAuditAppliesNoPatches: objects are evaluated as they are stored.
func TestAuditAppliesNoPatches(t *testing.T) {
	t.Parallel()
	policies := patching(t, `{group: "", kind: Pod}`, "defaults.metadata.labels.team := \"a\"\ndeny contains \"no team\" if not input.request.object.metadata.labels.team")
	dump := folder(t, map[string]string{"pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n"})
	got := lintel(t, "", "audit", "-p", policies, "-f", dump)
	require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "no team")
}
