package definition

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

func TestMetadataThatIsRefused(t *testing.T) {
	custom := func(line string) string { return "# METADATA\n# custom:\n#   " + line + "\npackage p" }
	for name, c := range map[string]struct{ rego, want string }{
		"nothing":             {"package p", ""},
		"a timeout":           {custom("timeout: 1s"), ""},
		"a long timeout":      {custom("timeout: 1001ms"), "1001ms is not between 0 and 1s"},
		"no time":             {custom("timeout: 0s"), "0s is not between 0 and 1s"},
		"a glob":              {custom("match: {namespaces: [\"a-*\"]}"), ""},
		"half a glob":         {custom("match: {namespaces: [\"[\"]}"), "custom.match.namespaces[0]: \"[\" is not a glob"},
		"an empty glob":       {custom("match: {excludedNamespaces: [\"\"]}"), "custom.match.excludedNamespaces[0]: \"\" is not a glob"},
		"an unknown operator": {custom("match: {objectSelector: {matchExpressions: [{key: a, operator: Near}]}}"), "matchExpressions[0]"},
		"an unknown field":    {custom("match: {objectSelector: {labels: {a: b}}}"), "unknown field \"labels\""},
		"an operation":        {custom("match: {operations: [PATCH]}"), "\"PATCH\" is not one of CREATE"},
		"any kind, required":  {custom("requires: [{group: apps, kind: \"*\"}]"), "name one kind and its group"},
		"a version, required": {custom("requires: [{group: apps, version: v1, kind: Deployment}]"), "leave out version"},
		"the clock":           {custom("clock: true") + "\nx := time.now_ns()", ""},
		"no leave to read it": {"package p\nx := time.now_ns()", "time.now_ns needs `clock: true`"},
		"a key misspelled":    {custom("matches: {}"), "custom.matches: unknown; did you mean match?"},
		"a key of the author": {custom("severity: high"), ""},
		"a key of nobody":     {"# METADATA\n# severity: high\npackage p", "severity: unknown"},
		"a match of a rule":   {"package p\n# METADATA\n# custom:\n#   match: {}\nx := 1", "match is read from the METADATA of the package only, not of a rule"},
		"a word misspelled":   {"# METDATA\n# title: T\npackage p", "\"METDATA\" begins no METADATA block"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := ReadMetadata("p", parse(t, c.rego))
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs, c.want)
		})
	}
}

// TestAPackageHasOneMatch, in whichever of its files.
func TestAPackageHasOneMatch(t *testing.T) {
	var modules []*ast.Module
	for range 2 {
		modules = append(modules, parse(t, "# METADATA\n# custom:\n#   match: {operations: [CREATE]}\n#   enforcement: warn\npackage p")...)
	}
	_, errs := ReadMetadata("p", modules)
	require.Len(t, errs, 2)
	require.ErrorContains(t, errs, "custom.match: the package has one already, at p.rego:1; keep one")
	require.ErrorContains(t, errs, "custom.enforcement: the package has one already; keep one")
}
