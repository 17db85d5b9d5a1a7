package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/review"
)

const exceptionText = `apiVersion: policy.lintel.dev/v1alpha1
kind: PolicyException
metadata: {name: friday}
spec:
  source: pods
  policy: p
  match: {namespaces: [shop]}
  reason: the migration is not done yet
  expiresAt: %s
`

// inFromNow is a time as PolicyExceptions have it.
func inFromNow(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

// TestWhatAFolderDoesNotContain: objects that have no effect within a source, there or in a cluster,
// are named with the way to give them.
func TestWhatAFolderDoesNotContain(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"pods/p.rego":         "package p\nimport rego.v1\ndeny contains \"no\"",
		"pods/exception.yaml": fmt.Sprintf(exceptionText, inFromNow(time.Hour)),
		"pods/data.d.yaml":    "apiVersion: policy.lintel.dev/v1alpha1\nkind: DataSource\nmetadata: {name: d}\n",
		"pods/template.json":  `{"apiVersion":"templates.gatekeeper.sh/v1","kind":"ConstraintTemplate"}`,
		"pods/pod.json":       `{"apiVersion":"v1","kind":"Pod"}`,
	})
	got := lintel(t, whyPod, "check", "-p", filepath.Join(dir, "pods"), "-f", "-")
	require.Equal(t, 1, got.code, got)
	for _, want := range []string{
		"exception.yaml:1: a PolicyException within a source has no effect: apply it. Commands read it from its own file, with another -p",
		"data.d.yaml:1: a DataSource within a source has no effect: apply it. Commands read its data with --external NAME=FILE",
		"template.json:1: the ConstraintTemplate is not read: files of a source that contain objects are .yaml or .yml",
	} {
		assert.Contains(t, got.stderr, want)
	}
	assert.NotContains(t, got.stderr, "pod.json")
}

func TestCheckAppliesExceptions(t *testing.T) {
	t.Parallel()
	source := "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: pods}\nspec:\n  inline:\n    files:\n      p.rego: |\n        package p\n        import rego.v1\n        deny contains \"no\"\n---\n"
	until := inFromNow(time.Hour)
	dir := folder(t, map[string]string{
		"all.yaml":     source + fmt.Sprintf(exceptionText, until),
		"alone.yaml":   fmt.Sprintf(exceptionText, until),
		"expired.yaml": source + fmt.Sprintf(exceptionText, "2020-01-01T00:00:00Z"),
		"far.yaml":     source + fmt.Sprintf(exceptionText, inFromNow(91*24*time.Hour)),
		"missing.yaml": source + strings.Replace(fmt.Sprintf(exceptionText, until), "policy: p", "policy: q", 1),
		"outside.yaml": strings.Replace(source, "spec:\n", "spec:\n  scope: {level: team, name: a, namespaces: [shop]}\n", 1) +
			strings.Replace(strings.Replace(fmt.Sprintf(exceptionText, until), "namespaces: [shop]", "namespaces: [\"*\"]", 1), "spec:\n", "spec:\n  scope: {level: team, name: a}\n", 1),
		"none.yaml":     source + strings.Replace(fmt.Sprintf(exceptionText, until), "  expiresAt: "+until+"\n", "", 1),
		"reason.yaml":   source + strings.Replace(fmt.Sprintf(exceptionText, until), "the migration is not done yet", "because", 1),
		"match.yaml":    source + strings.Replace(fmt.Sprintf(exceptionText, until), "{namespaces: [shop]}", "{}", 1),
		"unknown.yaml":  source + strings.Replace(fmt.Sprintf(exceptionText, until), "  policy: p\n", "  policy: p\n  forever: true\n", 1),
		"v2.yaml":       source + strings.Replace(fmt.Sprintf(exceptionText, until), "v1alpha1", "v2", 1),
		"rule.yaml":     source + strings.Replace(fmt.Sprintf(exceptionText, until), "  policy: p\n", "  policy: p\n  rule: patch\n", 1),
		"pods/p.rego":   "package p\nimport rego.v1\ndeny contains \"no\"",
		"twice/a.yaml":  source + fmt.Sprintf(exceptionText, until) + "---\n" + fmt.Sprintf(exceptionText, until),
		"podsource.yml": source,
	})
	check := func(args ...string) result {
		t.Helper()
		for i, arg := range args {
			if strings.Contains(arg, ".y") || arg == "pods" {
				args[i] = filepath.Join(dir, arg)
			}
		}
		return lintel(t, whyPod, append(append([]string{"check", "-p"}, args...), "-f", "-")...)
	}
	for name, args := range map[string][]string{
		"in the file of its source": {"all.yaml"},
		"in a file of its own":      {"podsource.yml", "-p", "alone.yaml"},
		"with a folder":             {"pods", "-p", "alone.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			found := check(args...)
			require.Equal(t, 0, found.code, found.stdout+found.stderr)
			assert.Contains(t, found.stdout, "Pod shop/web: admitted\n  exempt     no [p deny, p.rego:3, pods@")
			assert.Contains(t, found.stdout, "\n             exempt by PolicyException friday, until "+until+"\n")
			assert.Empty(t, found.stderr)
		})
	}
	for file, want := range map[string]string{
		"expired.yaml": "spec.expiresAt: it expired at 2020-01-01T00:00:00Z",
		"far.yaml":     "allows exceptions for 90d at most",
		"missing.yaml": `PolicySource pods has no policy "q"`,
		"outside.yaml": "is outside team a, which has shop only",
	} {
		found := check(file)
		assert.Contains(t, found.stderr, "note: PolicyException friday at "+filepath.Join(dir, file), file)
		assert.Contains(t, found.stderr, want, file)
		if file != "outside.yaml" { // in the team's own namespace the engine applies it
			assert.Equal(t, 1, found.code, file)
		}
	}
	for file, want := range map[string]string{
		"none.yaml":    "spec.expiresAt: Required value",
		"reason.yaml":  "must explain the exception in at least 10 characters",
		"match.yaml":   "at least one of namespaces, kinds and names must be set",
		"unknown.yaml": `unknown field "spec.forever"`,
		"v2.yaml":      "version v2 of PolicyException is not known",
		"rule.yaml":    `spec.rule: Unsupported value "patch"`,
		"twice/a.yaml": `are both PolicyException "friday"`,
		"alone.yaml":   "there are no policies in ",
	} {
		found := check(file)
		assert.Equal(t, 2, found.code, file)
		assert.Contains(t, found.stderr, want, file)
	}
}

func TestWhyExplainsExceptions(t *testing.T) {
	t.Parallel()
	until := inFromNow(time.Hour)
	dir := folder(t, map[string]string{"pods/p.rego": "package p\nimport rego.v1\ndeny contains \"no\"", "e.yaml": fmt.Sprintf(exceptionText, until)})
	args := []string{"why", "-p", filepath.Join(dir, "pods"), "-p", filepath.Join(dir, "e.yaml"), "-f", "-"}
	found := lintel(t, whyPod, args...)
	require.Equal(t, 0, found.code, found.stderr)
	assert.Contains(t, found.stdout, "exempts the object\n")
	assert.Contains(t, found.stdout, "exempt by PolicyException friday, until "+until)

	found = lintel(t, whyPod, append(args, "-o", "json")...)
	var report review.WhyReport
	require.NoError(t, json.Unmarshal([]byte(found.stdout), &report))
	require.Len(t, report.Results, 1)
	assert.True(t, report.Results[0].Allowed)
	require.Len(t, report.Results[0].Exempted, 1)
	assert.Equal(t, "friday", report.Results[0].Exempted[0].Exception)
	require.Len(t, report.Results[0].Policies, 1)
	require.Len(t, report.Results[0].Policies[0].Exempted, 1)
	assert.Equal(t, until, report.Results[0].Policies[0].Exempted[0].Until.Format(time.RFC3339))
}

func TestPolicyLintReportsExceptions(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"pods/p.rego":   podMatch + "package p\nimport rego.v1\ndeny contains \"no\"",
		"scope.yaml":    "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: pods}\nspec: {git: {url: https://example.com/pods}}\n---\n" + fmt.Sprintf(exceptionText, inFromNow(time.Hour)),
		"expired.yaml":  "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: pods}\nspec: {git: {url: https://example.com/pods}}\n---\n" + fmt.Sprintf(exceptionText, "2020-01-01T00:00:00Z"),
		"no-field.yaml": "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: pods}\nspec: {git: {url: https://example.com/pods}}\n---\n" + fmt.Sprintf(exceptionText, inFromNow(time.Hour)) + "  containers: [debug]\n",
	})
	for file, want := range map[string]string{
		"scope.yaml":    "accepted: ",
		"expired.yaml":  "error: PolicyException friday at " + filepath.Join(dir, "expired.yaml"),
		"no-field.yaml": "no denial of policy p has a field",
	} {
		found := lintel(t, "", "policy", "lint", "-p", filepath.Join(dir, "pods"), "--scope", filepath.Join(dir, file))
		assert.Contains(t, found.stdout, want, file+found.stderr)
		if file != "scope.yaml" {
			assert.Equal(t, 1, found.code, file)
			assert.Contains(t, found.stdout, "refused, InvalidExceptions", file)
		}
	}
}
