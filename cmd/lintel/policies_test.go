package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const denyAll = "package p\n\nimport rego.v1\n\ndeny contains \"no\"\n"

// policySourceText is a PolicySource with a spec.
func policySourceText(name, spec string) string {
	return "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: " + name + "}\nspec:\n" + spec + "\n"
}

const inlineSpec = "  inline: {files: {p.rego: \"package p\\n\\nimport rego.v1\\n\\ndeny contains \\\"no\\\"\\n\"}}"

// Each is a bad -p: exit 2, nothing on standard output, and a message that says what
// to do.
func TestBadPolicies(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		args  []string // of -p, in the folder of files; "." if none
		want  []string
	}{
		"missing":         {nil, []string{"nothing"}, []string{"reading policies: stat nothing: no such file"}},
		"empty folder":    {nil, nil, []string{". has no policies: there is no .rego file, no ConstraintTemplate, no admission policy of Kubernetes and no ValidatingPolicy of Kyverno in it"}},
		"only libraries":  {map[string]string{"lib.rego": "package lib\n\nimport rego.v1\n\nx := 1\n"}, nil, []string{". has no policies: no package has a rule deny, warn, patch or defaults"}},
		"only tests":      {map[string]string{"p_test.rego": "package p_test\n"}, nil, []string{"has no policies"}},
		"another file":    {map[string]string{"p.txt": denyAll}, []string{"p.txt"}, []string{"p.txt is not policy: -p takes a folder, a .rego file, or YAML with PolicySources"}},
		"does not parse":  {map[string]string{"sub/p.rego": "package p\n\ndeny contains"}, nil, []string{"sub/p.rego:3:"}},
		"all errors":      {map[string]string{"a.rego": "package a\n\ndeny[", "b.rego": "package b\n\ndeny["}, []string{"a.rego", "b.rego"}, []string{"a.rego:3", "b.rego:3"}},
		"one name twice":  {map[string]string{"a/p.rego": denyAll, "b/a/p.rego": denyAll}, []string{"a", "b/a"}, []string{`a and b/a are both named "a"`, "give each a name with --name"}},
		"another kind":    {map[string]string{"pod.yaml": "apiVersion: v1\nkind: Pod\n"}, []string{"pod.yaml"}, []string{"pod.yaml:1: document 1 is of kind Pod, not PolicySource: give manifests to check with -f"}},
		"another group":   {map[string]string{"s.yaml": "apiVersion: x.io/v1\nkind: PolicySource\n"}, []string{"s.yaml"}, []string{"not PolicySource"}},
		"another version": {map[string]string{"s.yaml": "apiVersion: policy.lintel.dev/v2\nkind: PolicySource\n"}, []string{"s.yaml"}, []string{"version v2 of PolicySource is not known: use policy.lintel.dev/v1alpha1"}},
		"no documents":    {map[string]string{"s.yaml": "# nothing\n"}, []string{"s.yaml"}, []string{"s.yaml has no policies: it holds no PolicySource"}},
		"no name":         {map[string]string{"s.yaml": policySourceText("", inlineSpec)}, []string{"s.yaml"}, []string{"metadata.name is missing"}},
		"git":             {map[string]string{"s.yaml": policySourceText("s", "  git: {url: https://x}")}, []string{"s.yaml"}, []string{`PolicySource "s": its origin is git, and only inline can be read offline: check a clone of it with -p <folder>`}},
		"oci":             {map[string]string{"s.yaml": policySourceText("s", "  oci: {url: oci://x/y}")}, []string{"s.yaml"}, []string{"its origin is oci"}},
		"two origins":     {map[string]string{"s.yaml": policySourceText("s", inlineSpec+"\n  git: {url: https://x}")}, []string{"s.yaml"}, []string{"exactly one of inline, git and oci"}},
		"no origin":       {map[string]string{"s.yaml": policySourceText("s", "  suspend: true")}, []string{"s.yaml"}, []string{"exactly one of inline, git and oci"}},
		"unknown field":   {map[string]string{"s.yaml": policySourceText("s", inlineSpec+"\n  failurepolicy: Ignore")}, []string{"s.yaml"}, []string{`unknown field "spec.failurepolicy"`}},
		"failure policy":  {map[string]string{"s.yaml": policySourceText("s", inlineSpec+"\n  failurePolicy: ignore")}, []string{"s.yaml"}, []string{`spec.failurePolicy is "ignore", not Fail or Ignore`}},
		"scope level":     {map[string]string{"s.yaml": policySourceText("s", inlineSpec+"\n  scope: {level: galaxy}")}, []string{"s.yaml"}, []string{`spec.scope.level is "galaxy", not one of`}},
		"parameters":      {map[string]string{"s.yaml": policySourceText("s", inlineSpec+"\n  parameters: [1]")}, []string{"s.yaml"}, []string{`parameters: not an object (in PolicySource "s" at s.yaml:1`}},
		"a reference":     {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if input.request.object.spec.containter"}, nil, []string{"p.rego:5:22: input.request.object.spec.containter is in none of the kinds", ".: a cluster would refuse these policies, so no object is evaluated"}},
		"its definition":  {map[string]string{"p.rego": strings.NewReplacer(`""`, "example.com", "Pod", "Widget").Replace(podMatch) + "package p\ndeny contains \"x\" if input.request.object.spec.sise", "crd.yaml": widgetDefinition}, nil, []string{"did you mean size?"}},
		"inline errors":   {map[string]string{"s.yaml": policySourceText("s", "  inline: {files: {p.rego: \"package p\\n\\ndeny[\"}}")}, []string{"s.yaml"}, []string{"p.rego:3", `(in PolicySource "s" at s.yaml:1`}},
		"duplicate key":   {map[string]string{"s.yaml": policySourceText("s", inlineSpec+"\n  suspend: true\n  suspend: false")}, []string{"s.yaml"}, []string{`s.yaml:7: key "suspend" already set in map`}},
		"duplicate data":  {map[string]string{"p.rego": denyAll, "data.yaml": "a: 1\na: 2\n"}, nil, []string{"data.yaml: reading data", `key "a" is already set`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(folder(t, test.files))
			args := []string{"check", "-f", "-"}
			for _, path := range test.args {
				args = append(args, "-p", path)
			}
			if test.args == nil {
				args = append(args, "-p", ".")
			}
			got := lintel(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", args...)
			assert.Equal(t, 2, got.code)
			assert.Empty(t, got.stdout)
			for _, want := range test.want {
				assert.Contains(t, got.stderr, want)
			}
			for line := range strings.Lines(got.stderr) {
				assert.True(t, strings.HasPrefix(line, "lintel: "), line)
			}
		})
	}
}

func TestNameOfAFolderIsTheSources(t *testing.T) {
	t.Chdir(folder(t, map[string]string{
		"rules/p.rego": denyAll, "more/p.rego": denyAll, "s.yaml": policySourceText("one", inlineSpec),
		"pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n",
	}))
	written := lintel(t, "", "source", "rules", "--name", "team")
	require.NoError(t, os.WriteFile("team.yaml", []byte(written.stdout), 0o600))
	want := lintel(t, "", "check", "-p", "team.yaml", "-f", "pod.yaml")
	require.Contains(t, want.stdout, "p.rego:5, team@")
	require.Equal(t, want, lintel(t, "", "check", "-p", "rules", "--name", "team", "-f", "pod.yaml"), "byte for byte")
	require.Contains(t, lintel(t, "", "check", "-p", "rules/p.rego", "--name", "team", "-f", "pod.yaml").stdout, "team@")

	for want, args := range map[string][]string{
		"--name names the source of a folder or .rego file: PolicySource \"one\" at s.yaml:1: document 1 has a name of its own": {"-p", "s.yaml"},
		"--name is specified 1 times, and -p 2 times: specify a name for each -p, in their order, or none":                      {"-p", "rules", "-p", "more"},
	} {
		got := lintel(t, "", append([]string{"check", "--name", "team", "-f", "pod.yaml"}, args...)...)
		require.Equal(t, exitError, got.code)
		require.Contains(t, got.stderr, want)
	}
	require.Contains(t, lintel(t, "", "check", "-p", "rules", "--name", "", "-f", "pod.yaml").stderr, "--name is empty")
	require.Contains(t, lintel(t, "", "check", "-p", "rules", "--name", "My Team", "-f", "pod.yaml").stderr, `"My Team" cannot be the name of a PolicySource`)
}

func TestASourceBeyondItsScopeIsNoted(t *testing.T) {
	team := "\n  scope: {level: team, name: shop, namespaces: [shop]}"
	aboutPods := strings.Replace(inlineSpec, `"package`, `"# METADATA\n# custom:\n#   match: {kinds: [{group: '', kind: Pod}]}\npackage`, 1)
	t.Chdir(folder(t, map[string]string{
		"team.yaml":    policySourceText("one", aboutPods+team),
		"every.yaml":   policySourceText("one", inlineSpec+team),
		"user.yaml":    policySourceText("one", inlineSpec+"\n  scope: {level: user, name: jane, parent: nobody, namespaces: [shop]}"),
		"pod.yaml":     "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n",
		"another.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: bank}\n",
	}))
	got := lintel(t, "", "check", "-p", "team.yaml", "-f", "pod.yaml")
	require.Equal(t, exitDenied, got.code)
	require.Empty(t, got.stderr)
	require.Zero(t, lintel(t, "", "check", "-p", "team.yaml", "-f", "another.yaml").code, "not of the team's namespaces")
	require.Contains(t, lintel(t, "", "check", "-p", "every.yaml", "-f", "pod.yaml").stderr, "spec.scope.grants.wildcards")
	require.Contains(t, lintel(t, "", "check", "-p", "user.yaml", "-f", "pod.yaml").stderr,
		`note: a cluster would refuse PolicySource "one" at user.yaml:1: document 1: no live source declares a scope named "nobody"`)
}
