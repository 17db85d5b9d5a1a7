package sources

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

// TestMain makes the test binary its own compiler.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == source.CompileArgument {
		os.Exit(source.CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const denyAll = "package p\n\nimport rego.v1\n\ndeny contains \"no\"\n"

// policySourceText is a PolicySource that holds denyAll, with more of its spec.
func policySourceText(name, more string) string {
	return "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: " + name + "}\nspec:\n" +
		"  inline: {files: {p.rego: \"package p\\n\\nimport rego.v1\\n\\ndeny contains \\\"no\\\"\\n\"}}\n" + more + "\n"
}

// folder writes files, by their slash-separated paths, into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

func TestReadPolicyFolder(t *testing.T) {
	dir := folder(t, map[string]string{
		"p.rego":               denyAll,
		"deep/er/q_test.rego":  "package q_test\n",
		"limits/data.yaml":     "max: 1\n",
		"limits/data.json":     "{}",
		"values.yaml":          "ignored: true",
		"README.md":            "ignored",
		".git/x.rego":          "hidden",
		".hidden.rego":         "hidden",
		"deep/.terraform/data": "hidden",
	})
	sources, err := readPath(dir)
	require.NoError(t, err)
	require.Len(t, sources, 1)
	assert.Equal(t, []string{"deep/er/q_test.rego", "limits/data.json", "limits/data.yaml", "p.rego", "values.yaml"}, slices.Sorted(maps.Keys(sources[0].Files)))
	assert.Equal(t, filepath.Base(dir), sources[0].Name)

	t.Chdir(dir)
	here, err := readPath(".")
	require.NoError(t, err)
	assert.Equal(t, filepath.Base(dir), here[0].Name)
	assert.Equal(t, sources[0].Digest(), here[0].Digest())
}

func TestReadPolicyFile(t *testing.T) {
	dir := folder(t, map[string]string{"p.rego": denyAll, "q.rego": denyAll})
	sources, err := readPath(filepath.Join(dir, "p.rego"))
	require.NoError(t, err)
	assert.Equal(t, "p", sources[0].Name)
	assert.Equal(t, map[string]string{"p.rego": denyAll}, sources[0].Files)
}

func TestReadFileOfTemplates(t *testing.T) {
	const template = "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: x}\n"
	dir := folder(t, map[string]string{"x.yaml": template, "y.yaml": template + "---\n" + policySourceText("s", ""), "q.rego": denyAll})
	sources, err := readPath(filepath.Join(dir, "x.yaml"))
	require.NoError(t, err)
	assert.Equal(t, "x", sources[0].Name)
	assert.Equal(t, map[string]string{"x.yaml": template}, sources[0].Files)
	_, err = readPath(filepath.Join(dir, "y.yaml"))
	require.ErrorContains(t, err, "is of kind ConstraintTemplate, not PolicySource")
}

func TestLinksInAFolder(t *testing.T) {
	outside := folder(t, map[string]string{"p.rego": denyAll})
	for name, test := range map[string]struct {
		link, target string
		want         string // empty: it is read, or not needed
	}{
		"inside":               {"q.rego", "p.rego", ""},
		"leaves, but not read": {"notes.md", filepath.Join(outside, "p.rego"), ""},
		"nowhere, not read":    {"notes.md", "nothing", ""},
		"leaves":               {"q.rego", filepath.Join(outside, "p.rego"), "q.rego is a link that leaves the folder"},
		"nowhere":              {"q.rego", "nothing.rego", "q.rego is a link that leaves the folder or leads nowhere"},
		"folder outside":       {"more", outside, "more is a link to a folder"},
		"folder inside":        {"more", "sub", "more is a link to a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"p.rego": denyAll, "sub/x.rego": denyAll})
			require.NoError(t, os.Symlink(test.target, filepath.Join(dir, test.link)))
			_, err := readPath(dir)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestFolderOverItsLimit(t *testing.T) {
	dir := folder(t, map[string]string{"a.rego": "12345", "b.rego": "12345", "huge.bin": strings.Repeat("x", 100)})
	_, err := source.ReadFolder(dir, definition.IsPolicyFile, 10)
	require.NoError(t, err, "what is not wanted does not count")
	_, err = source.ReadFolder(dir, definition.IsPolicyFile, 9)
	require.ErrorContains(t, err, "b.rego and the files before it are too large together")
}

func TestReadPolicySources(t *testing.T) {
	dir := folder(t, map[string]string{"s.yaml": policySourceText("one", "  failurePolicy: Ignore\n  parameters: {a: 1}") + "---\n" + policySourceText("two", "")})
	sources, err := readPath(filepath.Join(dir, "s.yaml"))
	require.NoError(t, err)
	require.Len(t, sources, 2)
	assert.Equal(t, "one", sources[0].Name)
	assert.EqualValues(t, "Ignore", sources[0].FailurePolicy)
	assert.JSONEq(t, `{"a":1}`, string(sources[0].Parameters))
	assert.Equal(t, denyAll, sources[1].Files["p.rego"])
	sets, err := CompileAll(sources)
	require.NoError(t, err)
	assert.Len(t, sets, 2)
}
