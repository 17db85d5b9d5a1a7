package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// ofOtherModules are the folders of tests that no package of the main module runs.
var ofOtherModules = []string{
	"config/release/", "test/apiserver/", "test/bench/", "test/chart/", "test/cluster/", "test/gator/", "!*/*.md",
}

// TestEveryOtherModuleHasASuite: a change there that no suite depends on would never be
// tested.
func TestEveryOtherModuleHasASuite(t *testing.T) {
	c, err := findCheckout()
	require.NoError(t, err)
	in, err := c.inputs(t.Context())
	require.NoError(t, err)
	for name := range in.files {
		if matches(ofOtherModules, name) {
			depends := func(s suite) bool { return matches(s.inputs, name) }
			require.True(t, slices.ContainsFunc(catalogByInput(), depends), "no suite depends on %s", name)
		}
	}
}

// TestEveryPatternMatchesAFile: a pattern that matches nothing is a folder that has moved.
func TestEveryPatternMatchesAFile(t *testing.T) {
	c, err := findCheckout()
	require.NoError(t, err)
	in, err := c.inputs(t.Context())
	require.NoError(t, err)
	for _, s := range catalogByInput() {
		for _, pattern := range s.inputs {
			positive := pattern
			if positive[0] == '!' {
				positive = positive[1:]
			}
			found := false
			for name := range in.files {
				found = found || matchesOne(positive, name)
			}
			require.True(t, found, "suite %s: %s matches no file", s.name, pattern)
		}
	}
}

func catalogByInput() []suite {
	return slices.DeleteFunc(slices.Clone(catalog), func(s suite) bool { return s.tier != byInput })
}

// TestASystemsChangeRunsItsOwnSuites: a file of one system leaves the suites of the others
// alone, and a file of the engine runs all of them.
func TestASystemsChangeRunsItsOwnSuites(t *testing.T) {
	runs := func(name string) (suites []string) {
		for _, s := range catalogByInput() {
			if matches(s.inputs, name) {
				suites = append(suites, s.name)
			}
		}
		return suites
	}
	require.Equal(t, []string{"e2e-zopp"}, runs("test/e2e/zopp_test.go"))
	require.Contains(t, runs("controllers/zopp/hub.go"), "e2e-zopp")
	require.NotContains(t, runs("controllers/zopp/hub.go"), "e2e-orloj")
	require.NotContains(t, runs("controllers/openvox/issuing/issue.go"), "e2e-zopp")
	require.Contains(t, runs("controllers/openvox/issuing/issue.go"), "chart-openvox")
	for _, s := range []string{"e2e-openclaw", "e2e-openvox", "e2e-openzro", "e2e-orloj", "e2e-zopp", "gator"} {
		require.Contains(t, runs("policies/engine/compile.go"), s)
		require.NotContains(t, runs("policies/engine/compile_test.go"), s)
	}
	require.Contains(t, runs("config/chart/lintel/values.yaml"), "chart")
	require.Contains(t, runs("config/chart/lintel/values.yaml"), "chart-installed")
	require.NotContains(t, runs("docs/openvox.md"), "e2e-openvox")
	require.Contains(t, runs("test/cluster/up.go"), "cluster")
}

// TestPackagesExist: a list that names a missing package would leave the package that it
// meant in another one.
func TestPackagesExist(t *testing.T) {
	c, err := findCheckout()
	require.NoError(t, err)
	in, err := c.inputs(t.Context())
	require.NoError(t, err)
	lists := slices.Concat(raced, ofSuites)
	require.Equal(t, len(lists), len(slices.Compact(slices.Sorted(slices.Values(lists)))), "no package is listed twice")
	for _, pkg := range lists {
		found := false
		for name := range in.files {
			found = found || matchesOne(pkg+"/*_test.go", name)
		}
		require.True(t, found, "no tests in %s", pkg)
	}
}
