package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const namesPolicy = `# METADATA
# custom:
#   external: [names]
package names

import rego.v1

deny contains sprintf("name %s is not allowed", [input.name]) if not input.name in data.external.names
`

// TestExternalDataOffline: commands without a cluster have the data by --external. Without it, a
// policy is undecided, and its tests fail.
func TestExternalDataOffline(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"policies/names.rego":    namesPolicy,
		"allowed.yaml":           "# names\n- web\n- c\n",
		"other.json":             `["other"]`,
		"broken.json":            `{"a": 1, "a": 2}`,
		"object.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n",
		"tested/names.rego":      namesPolicy,
		"tested/names_test.rego": "package names_test\n\nimport rego.v1\n\nimport data.names\n\ntest_mocked if count(names.deny) == 0 with input.name as \"web\" with data.external.names as [\"web\"]\n\ntest_given if count(names.deny) == 0 with input.name as \"web\"\n",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	check := func(args ...string) result {
		t.Helper()
		return lintel(t, "", append([]string{"check", "-p", at("policies"), "-f", at("object.yaml")}, args...)...)
	}
	got := check()
	require.Equal(t, 2, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, `it reads data.external["names"], which is not at hand: give it with --external names=FILE`)
	got = check("--external", "names="+at("allowed.yaml"))
	require.Equal(t, 0, got.code, got.stdout+got.stderr)
	got = check("--external", "names="+at("other.json"))
	require.Equal(t, 1, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "name c is not allowed")
	got = lintel(t, "", "why", "-p", at("policies"), "-f", at("object.yaml"), "--external", "names="+at("other.json"))
	require.Equal(t, 1, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "name c is not allowed")
	audit := func(args ...string) result {
		t.Helper()
		return lintel(t, "", append([]string{"audit", "-p", at("policies"), "-f", at("object.yaml")}, args...)...)
	}
	require.Equal(t, 2, audit().code)
	require.Equal(t, 1, audit("--external", "names="+at("other.json")).code)
	require.Equal(t, 0, audit("--external", "names="+at("allowed.yaml")).code)

	lines := replayLines(t, replayRecord("1", "web:1"))
	replay := func(args ...string) result {
		t.Helper()
		return lintel(t, lines, replayArgs(append([]string{"--against", at("policies"), "-"}, args...)...)...)
	}
	got = replay()
	require.Equal(t, 2, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "undecided")
	require.Equal(t, 0, replay("--external", "names="+at("allowed.yaml")).code)
	require.Equal(t, 1, replay("--external", "names="+at("other.json")).code)

	for value, words := range map[string]string{
		"names":                              "give the name of a DataSource and a file",
		"names=":                             "give the name of a DataSource and a file",
		"nmaes=" + at("other.json"):          "no policy names this DataSource in custom.external of its METADATA (named are: names)",
		"names=" + at("missing.json"):        "no such file",
		"names=" + at("broken.json"):         "duplicate",
		"names=/dev/zero":                    "4194304 bytes",
		"names=" + at("policies/names.rego"): "neither an object nor a list",
	} {
		got := check("--external", value)
		require.Equal(t, 2, got.code, value)
		require.Contains(t, got.stderr, words, value)
	}
	got = check("--external", "names="+at("other.json"), "--external", "names="+at("allowed.yaml"))
	require.Contains(t, got.stderr, "twice")

	got = lintel(t, "", "policy", "test", "-p", at("tested"))
	require.Equal(t, 1, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "1 passed, 1 failed")
	require.Contains(t, got.stdout, `it reads data.external["names"]`)
	got = lintel(t, "", "policy", "test", "-p", at("tested"), "--external", "names="+at("allowed.yaml"))
	require.Equal(t, 0, got.code, got.stdout+got.stderr)
	require.Equal(t, 1, strings.Count(got.stdout, "2 passed"))
}
