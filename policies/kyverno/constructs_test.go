package kyverno

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/suite"
)

// runTests runs Rego tests of the only rule of a policy, which they know as policy.
func runTests(t *testing.T, text, tests string) {
	t.Helper()
	policy := convertOne(t, text)
	require.Empty(t, policy.Refusals)
	files, err := Library()
	require.NoError(t, err)
	for name, rego := range policy.Files {
		files[name] = rego
	}
	files["sample/check_test.rego"] = "package sample.check_test\n\nimport rego.v1\n\nimport data.sample.check as policy\n\n" + `
pod(spec) := {"name": "a", "namespace": {"metadata": {"name": "n"}}, "request": {"operation": "CREATE", "name": "a", "namespace": "n", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "object": {"metadata": {"name": "a", "namespace": "n", "labels": {"app": "web"}}, "spec": spec}, "userInfo": {"username": "u", "groups": []}}}

update(old, new) := {"name": "a", "request": object.union(pod(new).request, {"operation": "UPDATE", "oldObject": {"metadata": {"name": "a"}, "spec": old}})}
` + "\n" + tests
	ran, err := suite.Run(context.Background(), definition.Source{Name: "converted", Files: files}, suite.Options{})
	require.NoError(t, err)
	want := strings.Count(tests, "\ntest_") + map[bool]int{true: 1}[strings.HasPrefix(tests, "test_")]
	assert.Equal(t, want, ran.Totals.Passed, "%+v\n%s", ran, policy.Files["sample/check.rego"])
}

func TestConvertedConstructs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rule, tests string }{
		"a variable in quotes is text, and quotes in its value are an error": {
			"validate: {deny: {conditions: {any: [{key: \"{{ regex_match('^a.c$', '{{ request.object.spec.x }}') }}\", operator: Equals, value: true}]}}}",
			`test_match if count(policy.deny) == 1 with input as pod({"x": "abc"})
test_no_match if count(policy.deny) == 0 with input as pod({"x": "b"})
test_quotes if count(policy.deny) == 1 with input as pod({"x": "b') || regex_match('b"})
test_missing if count(policy.deny) == 1 with input as pod({})
`,
		},
		"a variable as a key": {
			"context: [{name: m, variable: {value: {n: {x: 1}}}}]\nvalidate: {deny: {conditions: {any: [{key: '{{ m.\"{{ request.namespace }}\".x }}', operator: Equals, value: '{{ request.object.spec.x }}'}]}}}",
			`test_equal if count(policy.deny) == 1 with input as pod({"x": 1})
test_different if count(policy.deny) == 0 with input as pod({"x": 2})
`,
		},
		"a list of the API": {
			"context: [{name: names, apiCall: {urlPath: '/api/v1/namespaces/{{ request.namespace }}/services', jmesPath: 'items[?label_match(spec.selector, `{{ request.object.metadata.labels }}`)].metadata.name'}}]\nvalidate: {deny: {conditions: {any: [{key: '{{ request.object.spec.x }}', operator: AnyNotIn, value: '{{ names }}'}]}}}",
			`services := {"Service": {"n": {"s": {"metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}}}, "other": {"metadata": {"name": "other"}, "spec": {"selector": {"app": "db"}}}}}}
test_listed if count(policy.deny) == 0 with input as pod({"x": "s"}) with data.cluster as services
test_not_selected if count(policy.deny) == 1 with input as pod({"x": "other"}) with data.cluster as services
`,
		},
		"an object of the API, whose absence is an error": {
			"context: [{name: p, apiCall: {urlPath: '/apis/scheduling.k8s.io/v1/priorityclasses/{{ request.object.spec.x }}', jmesPath: value}}]\nvalidate: {deny: {conditions: {any: [{key: '{{ p }}', operator: GreaterThan, value: 5}]}}}",
			`classes := {"PriorityClass.scheduling.k8s.io": {"": {"high": {"value": 9}, "low": {"value": 1}}}}
test_high if count(policy.deny) == 1 with input as pod({"x": "high"}) with data.cluster as classes
test_low if count(policy.deny) == 0 with input as pod({"x": "low"}) with data.cluster as classes
test_absent if count(policy.deny) == 1 with input as pod({"x": "none"}) with data.cluster as classes
`,
		},
		"a ConfigMap": {
			"context: [{name: m, configMap: {name: allowed, namespace: ops}}]\nvalidate: {deny: {conditions: {any: [{key: '{{ request.object.spec.x }}', operator: AnyNotIn, value: '{{ m.data.list }}'}]}}}",
			`maps := {"ConfigMap": {"ops": {"allowed": {"metadata": {"name": "allowed"}, "data": {"list": "[\"a\"]"}}}}}
test_listed if count(policy.deny) == 0 with input as pod({"x": "a"}) with data.cluster as maps
test_not_listed if count(policy.deny) == 1 with input as pod({"x": "b"}) with data.cluster as maps
test_absent if count(policy.deny) == 1 with input as pod({"x": "a"}) with data.cluster as {"ConfigMap": {}}
`,
		},
		"images": {
			"validate: {deny: {conditions: {any: [{key: '{{ images.containers.*.registry }}', operator: AnyNotIn, value: ['ghcr.io', 'docker.io']}]}}}",
			`test_default_registry if count(policy.deny) == 0 with input as pod({"containers": [{"name": "c", "image": "nginx:1"}]})
test_other_registry if count(policy.deny) == 1 with input as pod({"containers": [{"name": "c", "image": "quay.io/a/b@sha256:0123456789012345678901234567890123456789012345678901234567890123"}]})
`,
		},
		"wildcards in keys": {
			"validate: {pattern: {metadata: {labels: {'a*': 'w?b'}}}}",
			`test_all_match if count(policy.deny) == 0 with input as pod({})
test_none_matches if count(policy.deny) == 1 with input as object.union(pod({}), {"request": {"object": {"metadata": {"labels": {"app": "x"}}}}})
`,
		},
		"removals in a loop": {
			"mutate: {foreach: [{list: 'request.object.spec.volumes[]', order: Descending, preconditions: {all: [{key: hostPath, operator: AnyIn, value: '{{ element.keys(@) }}'}]}, patchesJson6902: \"- {op: remove, path: '/spec/volumes/{{elementIndex}}'}\"}]}",
			`test_last_first if policy.patch == {[{"op": "remove", "path": "/spec/volumes/2"}, {"op": "remove", "path": "/spec/volumes/0"}]} with input as pod({"volumes": [{"hostPath": {}}, {"name": "b"}, {"hostPath": {}}]})
test_nothing if policy.patch == set() with input as pod({"volumes": [{"name": "b"}]})
`,
		},
		"elements with a merge key": {
			"mutate: {patchStrategicMerge: {spec: {imagePullSecrets: [{name: a}, {name: b}]}}}",
			`test_missing_list if policy.patch == {{"op": "add", "path": "/spec/imagePullSecrets", "value": [{"name": "a"}, {"name": "b"}]}} with input as pod({})
test_in_front if policy.patch == {[{"op": "add", "path": "/spec/imagePullSecrets/0", "value": {"name": "a"}}]} with input as pod({"imagePullSecrets": [{"name": "b"}]})
test_nothing if policy.patch == set() with input as pod({"imagePullSecrets": [{"name": "b"}, {"name": "a"}]})
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runTests(t, policyOf(c.rule), c.tests)
		})
	}
}

// TestEarlierViolations: an update of an object that violated an enforced rule is admitted, and one
// of an object that did not is denied.
func TestEarlierViolations(t *testing.T) {
	t.Parallel()
	text := strings.Replace(policyOf("validate: {message: no, pattern: {spec: {x: 1}}}"), "operations: [CREATE]", "operations: [CREATE, UPDATE]", 1)
	denied := "test_both_violate if count(policy.deny) == 1 with input as update({\"x\": 2}, {\"x\": 3})\n"
	runTests(t, text, `test_created if count(policy.deny) == 1 with input as pod({"x": 2})
test_new_violation if count(policy.deny) == 1 with input as update({"x": 1}, {"x": 2})
test_repaired if count(policy.deny) == 0 with input as update({"x": 2}, {"x": 1})
test_both_violate if count(policy.deny) == 0 with input as update({"x": 2}, {"x": 3})
`)
	runTests(t, strings.Replace(text, "{message: no,", "{allowExistingViolations: false, message: no,", 1), denied)
	runTests(t, strings.Replace(text, "Enforce", "Audit", 1), denied)
}

// TestSettingsHaveNotes: what the Rego does not contain is reported with its line.
func TestSettingsHaveNotes(t *testing.T) {
	t.Parallel()
	for key := range settingsInstead {
		text := strings.Replace(policyOf("validate: {pattern: {spec: {x: 1}}}"), "spec:\n", "spec:\n  "+key+": {timeoutSeconds: 5}\n", 1)
		policy := convertOne(t, text)
		require.Empty(t, policy.Refusals, key)
		require.Len(t, policy.Notes, 1, key)
		assert.Equal(t, "spec."+key, policy.Notes[0].Field)
		assert.Equal(t, 7, policy.Notes[0].Line)
		assert.NotEmpty(t, policy.Notes[0].Instead)
	}
	for _, key := range specKeys {
		_, noted := settingsInstead[key]
		read := map[string]bool{"rules": true, "validationFailureAction": true, "validationFailureActionOverrides": true, "emitWarning": true, "applyRules": true, "admission": true}
		assert.True(t, noted || read[key], "%s is dropped without a note", key)
	}
	refused := convertOne(t, strings.Replace(policyOf("validate: {pattern: {spec: {x: 1}}}"), "spec:\n", "spec:\n  admission: false\n", 1))
	require.Len(t, refused.Refusals, 1)
	assert.Equal(t, "spec.admission: false", refused.Refusals[0].Construct)
}

// TestLongNamesFitIntoFiles: names of files are bounded, and stay different.
func TestLongNamesFitIntoFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-", 100)
	text := strings.Replace(policyOf("validate: {pattern: {spec: {x: 1}}}"), "name: check", "name: "+long+"a", 1)
	second := text[strings.Index(text, "    - name: "):]
	policy := convertOne(t, strings.Replace(text+strings.Replace(second, long+"a", long+"b", 1), "name: sample", "name: "+long, 1))
	require.Empty(t, policy.Refusals)
	require.Len(t, policy.Files, 2)
	for file := range policy.Files {
		for _, part := range strings.Split(file, "/") {
			assert.Less(t, len(part), 200)
		}
	}
}

// TestExceptionsStayInTheirFolder: the name of an exception cannot lead to another folder.
func TestExceptionsStayInTheirFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../x", "..", "/etc/x", strings.Repeat("a", 300), ".hidden"} {
		path := Exception{Name: name}.Path()
		assert.Regexp(t, `^exceptions/[A-Za-z0-9-][A-Za-z0-9._-]{0,200}\.yaml$`, path, name)
	}
}
