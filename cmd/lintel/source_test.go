package main

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSourceGivesWhatCheckReads(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"rules/p.rego": denyAll, "rules/p_test.rego": "package p_test", "rules/data.yaml": "a: 1", "pod.json": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`}))
	written := lintel(t, "", "source", "rules", "--name", "team", "--failure-policy", "Ignore")
	require.Equal(t, exitAllowed, written.code, written.stderr)
	require.Contains(t, written.stdout, "failurePolicy: Ignore")
	require.Contains(t, written.stdout, "name: team")
	require.Contains(t, written.stdout, "p_test.rego")
	require.NotContains(t, written.stdout, "status")

	ofFile := lintel(t, "", "source", "-p", "rules/p.rego")
	require.Equal(t, exitAllowed, ofFile.code, ofFile.stderr)
	require.Contains(t, ofFile.stdout, "name: p\n")

	t.Chdir(folder(t, map[string]string{"source.yaml": written.stdout, "pod.json": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`}))
	require.Equal(t, exitDenied, lintel(t, "", "check", "-p", "source.yaml", "-f", "pod.json").code)
}

func TestSourceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":          {[]string{"source"}, "no policies: give a folder or a .rego file with -p"},
		"two":              {[]string{"source", "a", "b"}, "a and b are two sources: give one"},
		"two in two ways":  {[]string{"source", "a", "-p", "b"}, `b and a are two sources: give one`},
		"two folders":      {[]string{"source", "-p", "a", "-p", "b"}, `a and b are two sources: give one`},
		"one already":      {[]string{"source", "source.yaml"}, `PolicySource "one" at source.yaml:1: document 1 is one already: apply it with kubectl apply --server-side -f source.yaml`},
		"no folder":        {[]string{"source", "missing"}, "no such file"},
		"no policies":      {[]string{"source", "empty"}, "has no policies"},
		"a folder's name":  {[]string{"source", "My_Rules"}, `"My_Rules" cannot be the name of a PolicySource: `},
		"a name":           {[]string{"source", "rules", "--name", "a/b"}, `"a/b" cannot be the name of a PolicySource: `},
		"a long name":      {[]string{"source", "rules", "--name", strings.Repeat("a", 64)}, "it is longer than 63 characters; choose another with --name"},
		"too much":         {[]string{"source", "large"}, "bytes are more than"},
		"a failure policy": {[]string{"source", "rules", "--failure-policy", "Maybe"}, "neither Fail nor Ignore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(folder(t, map[string]string{"broken/p.rego": "package", "empty/x.txt": "", "rules/p.rego": denyAll, "source.yaml": policySourceText("one", inlineSpec), "My_Rules/p.rego": denyAll,
				"large/p.rego": denyAll, "large/data.json": `{"a":"` + strings.Repeat("x", 1400<<10) + `"}`}))
			result := lintel(t, "", c.args...)
			require.Equal(t, exitError, result.code)
			require.Contains(t, result.stderr, c.want)
		})
	}
}

// TestSourceRefusesWhatTheGateRefuses: a source that is written is accepted by a cluster.
func TestSourceRefusesWhatTheGateRefuses(t *testing.T) {
	for name, c := range map[string]struct{ rego, test, want string }{
		"what does not compile": {"package", "", "error: rules/p.rego:1:"},
		"a reference":           {podMatch + "package p\ndeny contains \"x\" if input.request.object.spec.containter", "", "error: rules/p.rego:5:22: input.request.object.spec.containter is in none"},
		"two versions":          {"package p\ndeny contains \"x\"", autoscalers("v1") + "package q\ndeny contains \"x\"", "policy p (rules) takes HorizontalPodAutoscaler.autoscaling in every version"},
		"a test":                {podMatch + "package p\ndeny contains \"x\"", "package q_test\nimport rego.v1\ntest_it if false", "error: rules/q_test.rego:3"},
	} {
		t.Run(name, func(t *testing.T) {
			second := "q.rego"
			if strings.Contains(c.test, "_test") {
				second = "q_test.rego"
			}
			t.Chdir(folder(t, map[string]string{"rules/p.rego": c.rego, "rules/" + second: cmp.Or(c.test, "package q_helpers")}))
			result := lintel(t, "", "source", "-p", "rules")
			require.Equal(t, exitDenied, result.code, result.stderr)
			require.Empty(t, result.stdout)
			require.Contains(t, result.stderr, c.want)
		})
	}
}

func TestSourceWarns(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"rules/p.rego": strings.ReplaceAll(podMatch, "Pod", "Pods") + "package p\ndeny contains \"x\""}))
	result := lintel(t, "", "source", "-p", "rules")
	require.Equal(t, exitAllowed, result.code, result.stderr)
	require.Contains(t, result.stderr, `warning: rules/p.rego:3: policy p: the cluster has no kind Pods in group "" (yet); did you mean kind Pod in group ""?`)
	require.Contains(t, result.stdout, "kind: PolicySource")
}
