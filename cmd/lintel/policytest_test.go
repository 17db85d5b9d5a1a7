package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/suite"
)

const testedPolicy = "package p\n\nimport rego.v1\n\ndeny contains \"no\" if input.request.name == \"x\"\n\ndeny contains \"never\" if input.request.object.never\n"

func TestPolicyTest(t *testing.T) {
	passing := "package p_test\n\nimport rego.v1\n\ntest_denied if data.p.deny == {\"no\"} with input as {\"request\": {\"name\": \"x\"}}\n"
	t.Chdir(folder(t, map[string]string{"rules/p.rego": testedPolicy, "rules/p_test.rego": passing}))
	got := lintel(t, "", "policy", "test", "-p", "rules")
	require.Equal(t, result{exitAllowed, "1 suite, 1 test, 1 case: 1 passed, 0 failed\n", ""}, got)

	got = lintel(t, "", "policy", "test", "rules", "--coverage")
	require.Equal(t, result{exitAllowed, "rules/p.rego: 50 % of the lines are covered; not 7\n1 suite, 1 test, 1 case: 1 passed, 0 failed\n", ""}, got)

	got = lintel(t, "", "policy", "test", "rules", "--coverage", "-o", "json")
	require.Equal(t, exitAllowed, got.code)
	var results suite.Results
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &results))
	require.Equal(t, 1, results.Totals.Passed)
	require.Equal(t, "test_denied", results.Cases[0].Test)
	require.Equal(t, []suite.Coverage{{File: "p.rego", Percent: 50, NotCovered: []suite.Lines{{From: 7, To: 7}}}}, results.Coverage)

	t.Chdir(folder(t, map[string]string{"rules/p.rego": testedPolicy, "rules/p_test.rego": passing + "\ntest_wrong if { print(\"at\", 1); count(data.p.deny) == 5 }\n\ntodo_test_later if false\n"}))
	got = lintel(t, "", "policy", "test", "rules")
	require.Equal(t, result{exitDenied, "rules/p_test.rego:7: p_test / test_wrong: failed\n  it is not true\n  printed: at 1\n1 suite, 3 tests, 3 cases: 1 passed, 1 failed, 1 skipped\n", ""}, got)
}

// TestTestsElsewhere: whether a file has tests is in its name alone.
func TestTestsElsewhere(t *testing.T) {
	t.Chdir(folder(t, map[string]string{
		"rules/p.rego":      testedPolicy + "\ntest_mode if input.test\n\ndeny contains \"in a test\" if test_mode\n",
		"rules/p_test.rego": "package p_test\n\nimport rego.v1\n\ntest_it if true\n",
		"rules/test.rego":   "package q_test\n\nimport rego.v1\n\ntest_wrong if false\n",
	}))
	require.Equal(t, result{exitAllowed, "1 suite, 1 test, 1 case: 1 passed, 0 failed\n",
		"note: rules/test.rego:5:1: test_wrong: not run as a test: tests must be in files named *_test.rego; rename the file, or move the rule\n"}, lintel(t, "", "policy", "test", "rules"))
	require.Equal(t, result{exitAllowed, "1 suite, 1 test, 1 case: 1 passed, 0 failed\n", ""}, lintel(t, "", "policy", "test", "rules/p_test.rego"))
}

func TestPolicyTestWithoutVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no folder":       {nil, "no policies: give a folder or a .rego file with -p"},
		"bad output":      {[]string{".", "-o", "xml"}, "--output xml is not text, json, sarif or junit"},
		"missing folder":  {[]string{"nowhere"}, "reading policies: stat nowhere"},
		"no tests":        {[]string{folder(t, map[string]string{"p.rego": testedPolicy})}, "has no tests: write rules named test_"},
		"tests elsewhere": {[]string{folder(t, map[string]string{"p.rego": testedPolicy, "test.rego": "package p_test\n\ntest_b if true\n\ntodo_test_c if true\n"})}, "test.rego:3:1: test_b, todo_test_c: not run as a test: tests must be in files named *_test.rego"},
		"a file":          {[]string{filepath.Join(folder(t, map[string]string{"p.rego": testedPolicy}), "p.rego")}, "and give the folder that has them"},
		"does not parse":  {[]string{folder(t, map[string]string{"p_test.rego": "package p\n}"})}, "p_test.rego:2:1: "},
		"unknown command": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"policy", "test"}, test.args...)
			if name == "unknown command" {
				args, test.want = []string{"policy", "tests"}, `there is no command "tests"`
			}
			got := lintel(t, "", args...)
			require.Equal(t, exitError, got.code)
			require.Contains(t, got.stderr, test.want)
			require.Empty(t, got.stdout)
		})
	}
}

// namesTemplate is a template with a constraint, whose spec may follow.
const namesTemplate = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: shortnames}
spec:
  crd: {spec: {names: {kind: ShortNames}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package shortnames
        violation[{"msg": "longer than one letter"}] { count(input.review.object.metadata.name) > 1 }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: ShortNames
metadata: {name: one}
`

func TestCheckAFolderThatMixesForms(t *testing.T) {
	dir := folder(t, map[string]string{
		"p.rego":     testedPolicy,
		"names.yaml": namesTemplate,
	})
	got := lintel(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: xy}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "check", "-p", dir, "--name", "mixed", "-f", "-")
	require.Equal(t, exitDenied, got.code, got.stderr)
	require.Contains(t, got.stdout, "longer than one letter [ShortNames/one deny, names.yaml:10, mixed@")
	require.Contains(t, got.stdout, "no [p deny, p.rego:5, mixed@")
	require.Contains(t, got.stdout, "2 objects: 2 denied")
}
