package kyverno

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/suite"
)

// policyOf is a ClusterPolicy about Pods with a rule, which begins at line 9.
func policyOf(rule string) string {
	return `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: sample
  annotations: {pod-policies.kyverno.io/autogen-controllers: none}
spec:
  validationFailureAction: Enforce
  rules:
    - name: check
      match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}
      ` + strings.ReplaceAll(strings.TrimSpace(rule), "\n", "\n      ") + "\n"
}

func convertOne(t *testing.T, text string) Policy {
	t.Helper()
	results, err := Convert([]Input{{"sample.yaml", []byte(text)}}, ExceptionSettings{}, os.ReadFile)
	require.NoError(t, err)
	require.Len(t, results.Policies, 1)
	return results.Policies[0]
}

// regoOf is the Rego of the only rule, which compiles.
func regoOf(t *testing.T, rule string) string {
	t.Helper()
	policy := convertOne(t, policyOf(rule))
	require.Empty(t, policy.Refusals)
	require.Len(t, policy.Files, 1)
	compile(t, policy.Files)
	return policy.Files["sample/check.rego"]
}

func compile(t *testing.T, files map[string]string) {
	t.Helper()
	all, err := Library()
	require.NoError(t, err)
	for name, text := range files {
		all[name] = text
	}
	_, err = policyset.Compile(definition.Source{Name: "converted", Files: all})
	require.NoError(t, err)
}

func TestRulesAreReadableRego(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule string
		want []string
	}{
		"a pattern": {
			"validate: {message: no, pattern: {spec: {containers: [{image: '!*:latest'}]}}}",
			[]string{"every container in input.request.object.spec.containers {", `kyverno.matches(container.image, "!*:latest")`, `msg := "no"`},
		},
		"an optional field": {
			"validate: {pattern: {spec: {=(hostNetwork): false}}}",
			[]string{`kyverno.matches_if_present(input.request.object.spec, "hostNetwork", false)`},
		},
		"a condition selects elements": {
			"validate: {pattern: {spec: {containers: [{(name): 'a*', image: 'b*'}]}}}",
			[]string{`kyverno.matches(container.name, "a*")`, `kyverno.matches(container.image, "b*")`},
		},
		"a forbidden field": {
			"validate: {pattern: {spec: {X(hostPID): 'null'}}}",
			[]string{`kyverno.absent(input.request.object.spec, "hostPID")`},
		},
		"deny": {
			"validate: {deny: {conditions: {any: [{key: '{{ request.object.metadata.labels.a || `\"\"` }}', operator: Equals, value: x}]}}}",
			[]string{`kyverno.equals(kyverno.either(object.get(input.request.object, ["metadata", "labels", "a"], null), ""), "x")`},
		},
		"a loop": {
			"validate: {foreach: [{list: request.object.spec.containers, deny: {conditions: {all: [{key: '{{ element.image }}', operator: AnyNotIn, value: ['a*']}]}}}]}",
			[]string{"some element in kyverno.elements(", `kyverno.any_not_in(element.image, ["a*"])`, "kyverno.missing([value | value := element.image])"},
		},
		"CEL": {
			"validate: {cel: {expressions: [{expression: '!has(object.spec.hostPID) || object.spec.hostPID == false', message: no}]}}",
			[]string{`kyverno.has_key(input.request.object.spec, "hostPID") == false`, "input.request.object.spec.hostPID == false", `msg := "no"`},
		},
		"a loop in CEL": {
			"validate: {cel: {expressions: [{expression: \"object.spec.containers.all(c, c.?image.orValue('').startsWith('a'))\"}]}}",
			[]string{"every each_c in kyverno.range(input.request.object.spec.containers) {", `kyverno.starts_with(kyverno.optional(each_c, ["image"], ""), "a") == true`},
		},
		"a mutation": {
			"mutate: {patchStrategicMerge: {metadata: {labels: {+(team): none}}}}",
			[]string{`object.get(input.request.object, ["metadata", "labels", "team"], null) == null`, `"path": "/metadata/labels/team"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rego := regoOf(t, c.rule)
			for _, want := range c.want {
				assert.Contains(t, rego, want)
			}
		})
	}
}

func TestRefusalsNameFileLineAndField(t *testing.T) {
	t.Parallel()
	for construct, c := range map[string]struct{ rule, field string }{
		"generate":                                    {"generate: {kind: NetworkPolicy}", "generate"},
		"verifyImages":                                {"verifyImages: [{imageReferences: ['*']}]", "verifyImages"},
		"context.apiCall to /x":                       {"context: [{name: a, apiCall: {urlPath: /x}}]\nvalidate: {deny: {}}", "context[0].apiCall.urlPath"},
		"context.apiCall to a service":                {"context: [{name: a, apiCall: {service: {url: 'http://x'}}}]\nvalidate: {deny: {}}", "context[0].apiCall.service"},
		"context.apiCall that is not a GET":           {"context: [{name: a, apiCall: {urlPath: /api/v1/pods, method: POST}}]\nvalidate: {deny: {}}", "context[0].apiCall"},
		"context.apiCall with a query":                {"context: [{name: a, apiCall: {urlPath: '/api/v1/pods?limit=1'}}]\nvalidate: {deny: {}}", "context[0].apiCall.urlPath"},
		"context.apiCall to the resource things":      {"context: [{name: a, apiCall: {urlPath: /apis/acme.io/v1/things}}]\nvalidate: {deny: {}}", "context[0].apiCall.urlPath"},
		"unterminated {{":                             {"validate: {message: \"a {{ request.name\", deny: {}}", "validate.message"},
		"variable images":                             {"match: {any: [{resources: {kinds: [Service]}}]}\nvalidate: {message: '{{ images }}', deny: {}}", "validate.message"},
		"list in patchesJson6902":                     {"mutate: {foreach: [{list: request.object.spec.containers, patchesJson6902: \"- {op: add, path: '/spec/containers/{{elementIndex}}/env/-', value: a}\"}]}", "mutate.foreach[0].patchesJson6902"},
		"value that depends on the field it replaces": {"mutate: {foreach: [{list: request.object.spec.containers, patchesJson6902: \"- {op: replace, path: '/spec/containers/{{elementIndex}}/image', value: {a: 'a{{element.image.a}}'}}\"}]}", "mutate.foreach"},
		"context.globalReference":                     {"context: [{name: a, globalReference: {name: x}}]\nvalidate: {deny: {}}", "context[0].globalReference"},
		"mutate.targets":                              {"mutate: {targets: [{kind: Pod}]}", "mutate.targets"},
		"validate.podSecurity":                        {"validate: {podSecurity: {level: baseline}}", "validate.podSecurity"},
		"CEL variable params":                         {"validate: {cel: {expressions: [{expression: object.spec.replicas > params.max}]}}", "validate.cel.expressions[0].expression"},
		"template in a template":                      {"validate: {deny: {conditions: {any: [{key: \"{{ request.object.{{request.object.kind}} }}\", operator: Equals, value: true}]}}}", "validate.deny.conditions.any[0].key"},
		"JMESPath function random":                    {"validate: {deny: {conditions: {any: [{key: \"{{ random('a') }}\", operator: Equals, value: a}]}}}", "validate.deny.conditions.any[0].key"},
		"unknown field patern":                        {"validate: {patern: {}}", "validate.patern"},
		"operator Near":                               {"validate: {deny: {conditions: {any: [{key: a, operator: Near, value: a}]}}}", "validate.deny.conditions.any[0].operator"},
		"match or exclude by roles":                   {"exclude: {any: [{roles: [a]}]}\nvalidate: {deny: {}}", "exclude.any[0].roles"},
		"variable in a key":                           {"mutate: {patchStrategicMerge: {metadata: {labels: {'{{request.name}}': {a: b}}}}}", "mutate.patchStrategicMerge"},
		"reference $( )":                              {"validate: {pattern: {spec: {a: '$(./../b)'}}}", "validate.pattern"},
		"mutate.foreach without a patch":              {"mutate: {foreach: [{list: request.object.spec.containers}]}", "mutate.foreach[0]"},
		"wildcard in a key of a pattern":              {"validate: {pattern: {spec: {'a/*': x}}}", "validate.pattern"},
	} {
		t.Run(construct, func(t *testing.T) {
			t.Parallel()
			policy := convertOne(t, policyOf(c.rule))
			require.NotEmpty(t, policy.Refusals)
			assert.Empty(t, policy.Files, "a refused policy has no Rego")
			first := policy.Refusals[0]
			assert.Equal(t, construct, first.Construct)
			assert.Equal(t, "sample.yaml", first.File)
			assert.Equal(t, "spec.rules[0]."+c.field, first.Field)
			assert.GreaterOrEqual(t, first.Line, 11)
			assert.NotEmpty(t, first.Hint)
		})
	}
}

func TestOverridesOfTheFailureAction(t *testing.T) {
	t.Parallel()
	rego := regoOf(t, "validate: {failureActionOverrides: [{action: Audit, namespaces: ['dev-*']}], pattern: {spec: {hostPID: false}}}")
	assert.Contains(t, rego, "#   enforcement: deny")
	assert.Contains(t, rego, "warn contains msg if {\n\tsome msg in finding\n\toverridden\n}")
	assert.Contains(t, rego, `kyverno.like_any(["dev-*"], kyverno.namespace)`)
}

func TestWorkloadsFollowPods(t *testing.T) {
	t.Parallel()
	text := strings.Replace(policyOf("validate: {pattern: {spec: {hostPID: false}}}"), "autogen-controllers: none", "autogen-controllers: 'Deployment,CronJob'", 1)
	policy := convertOne(t, text)
	require.Empty(t, policy.Refusals)
	rego := policy.Files["sample/check.rego"]
	compile(t, policy.Files)
	assert.Contains(t, rego, `{group: "apps", kind: "Deployment"}`)
	assert.Contains(t, rego, "input.request.object.spec.jobTemplate.spec.template")
	assert.NotContains(t, rego, "DaemonSet")
}

func TestExceptionsAndTests(t *testing.T) {
	t.Parallel()
	exception := `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: legacy}
spec:
  exceptions: [{policyName: sample, ruleNames: [check, autogen-check]}]
  match: {any: [{resources: {kinds: [Pod], namespaces: [old], names: ['web-*']}}]}
`
	tests := `apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: sample}
policies: [sample.yaml]
resources: [pod.yaml]
results:
- {policy: sample, rule: check, kind: Pod, resources: [web], result: fail}
- {policy: sample, rule: other, kind: Pod, resources: [web], result: fail}
`
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {hostPID: true}\n"
	results, err := Convert([]Input{
		{"tests/kyverno-test.yaml", []byte(tests)}, {"exception.yaml", []byte(exception)},
		{"sample.yaml", []byte(policyOf("validate: {pattern: {spec: {hostPID: false}}}"))},
	}, ExceptionSettings{Source: "acme"}, func(name string) ([]byte, error) {
		if name != "tests/pod.yaml" {
			return nil, errors.New(name)
		}
		return []byte(pod), nil
	})
	require.NoError(t, err)
	require.Len(t, results.Exceptions, 1)
	require.Empty(t, results.Exceptions[0].Refusals)
	require.Len(t, results.Exceptions[0].Objects, 1, "both names are of one package")
	spec := results.Exceptions[0].Objects[0].Spec
	assert.Equal(t, "sample.check", spec.Policy)
	assert.Equal(t, []string{"old"}, spec.Match.Namespaces)
	require.Len(t, results.Suites, 1)
	assert.Equal(t, 1, results.Suites[0].Cases)
	require.Len(t, results.Suites[0].Refusals, 1)
	assert.Equal(t, "test of an unknown rule", results.Suites[0].Refusals[0].Construct)
	files := results.Policies[0].Files
	for name, text := range results.Tests {
		files[name] = text
	}
	library, err := Library()
	require.NoError(t, err)
	for name, text := range library {
		files[name] = text
	}
	ran, err := suite.Run(context.Background(), definition.Source{Name: "converted", Files: files}, suite.Options{})
	require.NoError(t, err)
	assert.Equal(t, 1, ran.Totals.Passed, "%+v", ran)
}

// TestLibrary runs the tests of the library.
func TestLibrary(t *testing.T) {
	t.Parallel()
	files, err := Library()
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/kyverno_test.rego")
	require.NoError(t, err)
	files["kyverno_test.rego"] = string(text)
	files["policy.rego"] = "package policy\n\nimport rego.v1\n\ndeny contains \"no\" if input.never\n"
	ran, err := suite.Run(context.Background(), definition.Source{Name: "library", Files: files}, suite.Options{})
	require.NoError(t, err)
	assert.Equal(t, 2, ran.Totals.Passed, "%+v", ran)
}

// TestNoPolicyIsLost: each rule has a file of its own that no test suite reads, objects of lists are
// read, and other kinds are refused by name.
func TestNoPolicyIsLost(t *testing.T) {
	t.Parallel()
	rule := func(name string) string {
		return "    - name: " + name + "\n      match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}\n      validate: {message: m, pattern: {metadata: {labels: {team: \"?*\"}}}}\n"
	}
	policy := func(name string, rules ...string) string {
		text := "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: " + name + "\n  annotations: {pod-policies.kyverno.io/autogen-controllers: none}\nspec:\n  validationFailureAction: Enforce\n  rules:\n"
		for _, name := range rules {
			text += rule(name)
		}
		return text
	}
	names := []string{"x-y", "x_y", "é", "ü", "checkA", "check-a", "smoke-test"}
	converted := convertOne(t, policy("lib", names...))
	require.Empty(t, converted.Refusals)
	require.Len(t, converted.Files, len(names))
	require.Len(t, converted.Rules, len(names))
	for file := range converted.Files {
		require.NotRegexp(t, `_test\.rego$|^lib/`, file)
	}
	require.Contains(t, convertOne(t, policy("twice", "a", "a")).Refusals[0].Construct, "two rules of the name a")

	indent := func(text string) string {
		return "- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	for _, kind := range []string{"v1\nkind: List", "kyverno.io/v1\nkind: ClusterPolicyList"} {
		results, err := Convert([]Input{{"list.yaml", []byte("apiVersion: " + kind + "\nitems:\n" + indent(policy("one", "a")) + indent(policy("two", "a")))}}, ExceptionSettings{}, os.ReadFile)
		require.NoError(t, err)
		require.Len(t, results.Policies, 2, kind)
		require.Empty(t, results.Policies[1].Refusals)
	}
	for _, other := range []string{"policies.kyverno.io/v1alpha1\nkind: ValidatingPolicy", "kyverno.io/v2alpha1\nkind: CleanupPolicy", "kyverno.io/v1\nkind: ClusterPolicy"} {
		refused := convertOne(t, "apiVersion: "+other+"\nmetadata: {name: p}\n").Refusals
		require.NotEmpty(t, refused, other)
		require.Equal(t, "sample.yaml", refused[0].File)
	}
}
