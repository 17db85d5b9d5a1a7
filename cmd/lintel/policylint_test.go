package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/policy"
)

const podMatch = "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\n"

// autoscalers is METADATA of a policy for one version of the one kind that has two.
func autoscalers(version string) string {
	return "# METADATA\n# custom:\n#   match: {kinds: [{group: autoscaling, version: " + version + ", kind: HorizontalPodAutoscaler}]}\n"
}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
`

func TestPolicyLint(t *testing.T) {
	const passing = "package p_test\nimport rego.v1\ntest_it if true"
	for name, c := range map[string]struct {
		files map[string]string
		code  int
		want  []string
	}{
		"good": {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "p_test.rego": passing}, 0,
			[]string{"accepted: 1 policy, 1 rule, 1 test case (0 failed), 0 errors, 0 warnings\n"}},
		"does not compile": {map[string]string{"p.rego": "package p\n}"}, 1, []string{"error: ", "p.rego:2:1: ", "refused, CompileFailed: "}},
		"metadata":         {map[string]string{"p.rego": "# METADATA\n# custom:\n#   enforcment: warn\npackage p\ndeny contains \"x\""}, 1, []string{"did you mean enforcement?"}},
		"reference": {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if input.request.object.spec.containter"}, 1,
			[]string{"p.rego:5:22: input.request.object.spec.containter is in none of the kinds that policy p matches (Pod); did you mean containers?"}},
		"definition in the folder": {map[string]string{
			"p.rego":          "# METADATA\n# custom:\n#   match: {kinds: [{group: example.com, kind: Widget}]}\npackage p\ndeny contains \"x\" if input.request.object.spec.sise",
			"crds/widget.yml": widgetDefinition,
		}, 1, []string{"did you mean size?"}},
		"known kind": {map[string]string{
			"p.rego":          "# METADATA\n# custom:\n#   match: {kinds: [{group: example.com, kind: Widget}]}\npackage p\ndeny contains \"x\"",
			"p_test.rego":     passing,
			"crds/widget.yml": widgetDefinition,
		}, 0, []string{", 0 warnings"}},
		"unknown kind": {map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: example.com, kind: Widget}]}\npackage p\ndeny contains \"x\""}, 0, []string{"has no kind Widget"}},
		"kinds of Kubernetes": {map[string]string{
			"p.rego":      "# METADATA\n# custom:\n#   match: {kinds: [{group: networking.k8s.io, kind: ServiceCIDR}, {group: resource.k8s.io, kind: DeviceClass}, {group: storage.k8s.io, kind: CSINode}]}\npackage p\ndeny contains \"x\"",
			"p_test.rego": passing,
		}, 0, []string{", 0 warnings"}},
		"a kind of Lintel's": {map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: policy.lintel.dev, kind: PolicySource}]}\npackage p\ndeny contains \"x\" if input.request.object.spec.inlin"}, 1, []string{"did you mean inline?"}},
		"two versions": {map[string]string{"p.rego": autoscalers("v1") + "package p\ndeny contains \"x\"", "q.rego": autoscalers("v2") + "package q\ndeny contains \"x\""}, 1,
			[]string{"want HorizontalPodAutoscaler.autoscaling in two versions, v1 and v2", "refused, VersionConflict: "}},
		"every version": {map[string]string{"p.rego": autoscalers("v2") + "package p\ndeny contains \"x\"", "q.rego": "package q\ndeny contains \"x\""}, 1,
			[]string{"policy q (", "takes HorizontalPodAutoscaler.autoscaling in every version", "refused, VersionConflict: "}},
		"a resource for a kind": {map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: pods}]}\npackage p\ndeny contains \"x\""}, 0, []string{"p.rego:3: policy p: the cluster has no kind pods", `did you mean kind Pod in group ""?`}},
		"Gatekeeper's review":   {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if input.review.object.spec.hostPID"}, 1, []string{"p.rego:5:22: input.review is not available to policies; that is Gatekeeper's form: write input.request"}},
		"and of every kind":     {map[string]string{"p.rego": "package p\ndeny contains \"x\" if input.review.object.spec.hostPID"}, 1, []string{"p.rego:2:22: input.review is not available to policies; that is Gatekeeper's form: write input.request"}},
		"conftest's":            {map[string]string{"p.rego": "package main\ndeny contains \"x\" if not input.spec.a\nwarn_b contains \"x\""}, 1, []string{"p.rego:2:26: input.spec is not available to policies", "write input.request.object.spec", "refused, CompileFailed"}},
		"its rules":             {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"\ndeny_b contains \"x\""}, 0, []string{"p.rego:6:1: the rule deny_b is never asked, and no other uses it: conftest evaluates every rule of that prefix; name it deny"}},
		"for both":              {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if object.spec.hostPID\nobject := input.request.object\nobject := input.review.object", "p_test.rego": passing}, 0, []string{", 0 warnings"}},
		"Gatekeeper's rule":     {map[string]string{"p.rego": podMatch + "package p\nviolation contains {\"msg\": \"x\"}"}, 1, []string{"refused, CompileFailed", "nothing would ever be asked; line 5 has a rule violation: it is Gatekeeper's; name it deny, or bring"}},
		"without a match":       {map[string]string{"p.rego": "package p\nviolation contains {\"msg\": \"x\"}"}, 1, []string{"refused, NoPolicies", "p.rego:2:1: the rule violation is never asked, and no other uses it: it is Gatekeeper's; name it deny"}},
		"beside a policy":       {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "q.rego": "package q\nviolation contains {\"msg\": \"x\"}"}, 0, []string{"q.rego:2:1: the rule violation is never asked, and no other uses it: it is Gatekeeper's"}},
		"used by a policy":      {map[string]string{"p.rego": podMatch + "package p\ndeny contains v.msg if some v in violation\nviolation contains {\"msg\": \"x\"}", "p_test.rego": passing}, 0, []string{", 0 warnings"}},
		"nearly a rule":         {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"\ndenny contains \"y\""}, 0, []string{"p.rego:6:1: the rule denny is never asked, and no other uses it: did you mean deny?"}},
		"a helper":              {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if denied\ndenied if input.name == \"x\"", "p_test.rego": passing}, 0, []string{", 0 warnings"}},
		"Kyverno's":             {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "k.yaml": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: x}"}, 0, []string{"k.yaml:1: ClusterPolicy is Kyverno's, and Lintel does not enforce it: write it in Rego"}},
		"a kustomization": {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]"}, 0,
			[]string{"kustomization.yaml:1: the kustomization is not built, and ../base is not in the source: put what `kustomize build` prints into the source"}},
		"one that lists files": {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "p_test.rego": passing, "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [p.yaml]"}, 0,
			[]string{", 0 warnings"}},
		"one with patches": {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "kustomization.yaml": "resources: [p.yaml]\npatches: [{path: patch.yaml}]"}, 0,
			[]string{"kustomization.yaml:1: the kustomization is not built, and its patches change nothing here"}},
		"DELETE":          {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if input.request.operation == \"DELETE\""}, 0, []string{"warning: ", "p.rego:5:22: input.request.operation is never \"DELETE\" here"}},
		"a glob":          {map[string]string{"p.rego": "# METADATA\n# custom:\n#   match:\n#     namespaces: [\"!a\"]\n#     operations: [CREATE]\npackage p\ndeny contains \"x\""}, 0, []string{"warning: ", "p.rego:4: \"!a\" matches no namespace"}},
		"a constant":      {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if input.request.operation == \"create\""}, 1, []string{"error: ", "p.rego:5:22: input.request.operation is never \"create\"; did you mean CREATE?", "refused, CompileFailed"}},
		"missing data":    {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if data.lists.forbiden[_] == input.name", "lists/data.yaml": "forbidden: []"}, 0, []string{"warning: ", "p.rego:5:22: data.lists.forbiden is not in the source; did you mean forbidden?"}},
		"a missing rule":  {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if { data.p.helpr; helper }\nhelper if data.nowhere"}, 1, []string{"error: ", "warning: ", "p.rego:6:11: data.nowhere is not in the source", "p.rego:5:24: data.p.helpr is not in the source; did you mean helper?", "refused, CompileFailed"}},
		"tests elsewhere": {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "test.rego": "package p_test\ntest_it if true"}, 0, []string{"test.rego:2:1: test_it: not run as a test", "warning: there are no tests"}},
		"a chart":         {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "chart/Chart.yaml": "name: x"}, 0, []string{"Chart.yaml: a chart is not rendered", "put what `helm template` prints into the source"}},
		"failing test":    {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\"", "p_test.rego": "package p_test\nimport rego.v1\ntest_it if false"}, 1, []string{"p_test.rego:3", "refused, TestsFailed: "}},
		"no tests":        {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\""}, 0, []string{"warning: there are no tests"}},
		"name in a text":  {map[string]string{"p.rego": podMatch + "package p\ndeny contains sprintf(\"%v\", [input.request.object.metadata.name])"}, 0, []string{"p.rego:5:30: input.request.object.metadata.name in a message", "write input.name"}},
		"name in a body":  {map[string]string{"p.rego": podMatch + "package p\ndeny contains msg if msg := sprintf(\"%v\", [input.request.object.metadata.name])"}, 0, []string{"p.rego:5:44: input.request.object.metadata.name in a message"}},
		"name compared":   {map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if input.request.object.metadata.name == \"x\"", "p_test.rego": passing}, 0, []string{", 0 warnings"}},
		"on delete":       {map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}], operations: [DELETE]}\npackage p\ndeny contains \"x\" if input.request.object.spec.hostPID"}, 0, []string{"p.rego:5:22: ", "read input.request.oldObject"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := lintel(t, "", "policy", "lint", "-p", folder(t, c.files))
			require.Equal(t, c.code, found.code, found.stdout+found.stderr)
			for _, want := range c.want {
				require.Contains(t, found.stdout, want)
			}
		})
	}
}

func TestPolicyLintWithinTheScope(t *testing.T) {
	dir := folder(t, map[string]string{
		"policies/p.rego":      "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}], namespaces: [\"other-*\"]}\npackage p\ndeny contains \"x\"",
		"policies/p_test.rego": "package p_test\nimport rego.v1\ntest_it if true",
		"sources.yaml": `
apiVersion: policy.lintel.dev/v1alpha1
kind: PolicySource
metadata: {name: payments}
spec:
  git: {url: "https://example.com/payments.git"}
  scope: {level: team, name: payments, namespaces: ["payments-*"]}
---
apiVersion: policy.lintel.dev/v1alpha1
kind: PolicySource
metadata: {name: everyone}
spec:
  git: {url: "https://example.com/everyone.git"}
`,
	})
	policies, sources := filepath.Join(dir, "policies"), filepath.Join(dir, "sources.yaml")
	found := lintel(t, "", "policy", "lint", policies)
	require.Zero(t, found.code, found.stdout+found.stderr)

	found = lintel(t, "", "policy", "lint", policies, "--scope", sources, "--name", "payments")
	require.Equal(t, 1, found.code, found.stdout+found.stderr)
	require.Contains(t, found.stdout, "refused, MatchesOutsideScope: ")

	found = lintel(t, "", "policy", "lint", policies, "--scope", sources)
	require.Equal(t, 2, found.code)
	require.Contains(t, found.stderr, "has 2 PolicySources: say with --name")
}

func TestPolicyLintOfAFile(t *testing.T) {
	t.Chdir(folder(t, map[string]string{
		"p.rego":   podMatch + "package p\ndeny contains \"x\" if input.request.object.spec.containter",
		"one.yaml": policySourceText("one", "  inline: {files: {p.rego: \"package p\\n}\"}}"),
		"two.yaml": policySourceText("one", inlineSpec) + "---\n" + policySourceText("two", inlineSpec),
	}))
	for file, want := range map[string]string{
		"p.rego":   "error: p.rego:5:22: ",
		"one.yaml": "error: p.rego:2:1: ",
		"two.yaml": "two.yaml has 2 PolicySources: put the one that is meant into a file of its own",
	} {
		found := lintel(t, "", "policy", "lint", "-p", file)
		require.NotZero(t, found.code)
		require.Contains(t, found.stdout+found.stderr, want)
	}
}

func TestPolicyLintAsJSON(t *testing.T) {
	found := lintel(t, "", "policy", "lint", folder(t, map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\" if input.request.object.spec.containter"}), "-o", "json")
	require.Equal(t, 1, found.code)
	var report policy.LintReport
	require.NoError(t, json.Unmarshal([]byte(found.stdout), &report))
	require.Equal(t, "CompileFailed", report.Reason)
	require.Len(t, report.Errors, 1)
	require.Equal(t, 5, report.Errors[0].Line)
	require.NotContains(t, found.stdout, "null")
}

func TestShippedSamplesPassLint(t *testing.T) {
	found := lintel(t, "", "policy", "lint", samples+"policies")
	require.Zero(t, found.code, found.stdout+found.stderr)
	require.Contains(t, found.stdout, "0 errors, 0 warnings\n")
}
