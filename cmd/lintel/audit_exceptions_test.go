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
)

// TestAuditAppliesExceptions: what an exception of -p exempts is skipped, in every format, and
// counts again after its end.
func TestAuditAppliesExceptions(t *testing.T) {
	t.Parallel()
	source := "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: pods}\nspec:\n  inline:\n    files:\n      p.rego: |\n        # METADATA\n        # custom:\n        #   match: {kinds: [{group: \"\", kind: ConfigMap}]}\n        package p\n        import rego.v1\n        deny contains \"no\"\n---\n"
	until := inFromNow(time.Hour)
	dir := folder(t, map[string]string{
		"exempt.yaml":  source + fmt.Sprintf(exceptionText, until),
		"none.yaml":    source,
		"expired.yaml": source + fmt.Sprintf(exceptionText, "2020-01-01T00:00:00Z"),
		"object.json":  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`,
		"other.json":   `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"other"}}`,
	})
	audit := func(policies, objects, format string) result {
		return lintel(t, "", "audit", "-p", filepath.Join(dir, policies), "-f", filepath.Join(dir, objects), "-o", format)
	}
	for format, want := range map[string][]string{
		"text":        {"pods): 1 skipped by an exception", "    skip         no\n                 exempt by PolicyException friday, until " + until, "0 violations, 1 skipped by an exception"},
		"junit":       {`skipped="1"`, "<skipped", "exempt by PolicyException friday, until " + until},
		"openreports": {"result: skip", "exception: friday", "exceptionExpiresAt: \"" + until + "\"", "skip: 1"},
		"sarif":       {`"suppressions"`, `"justification": "exempt by PolicyException friday, until ` + until + `"`, `"kind": "external"`},
	} {
		got := audit("exempt.yaml", "object.json", format)
		require.Equal(t, exitAllowed, got.code, got.stdout+got.stderr)
		for _, part := range want {
			assert.Contains(t, got.stdout, part, format)
		}
	}
	got := audit("exempt.yaml", "object.json", "json")
	r := decodeAudit(t, got.stdout)
	require.Equal(t, 1, r.Summary.Skipped)
	require.Zero(t, r.Summary.Violations)
	require.Equal(t, "friday "+until, r.Results[0].Result.Exception+" "+r.Results[0].Result.ExceptionExpires.Format(time.RFC3339))

	other := audit("exempt.yaml", "other.json", "sarif")
	require.Equal(t, exitDenied, other.code, "an object that is not selected")
	require.NotContains(t, other.stdout, "suppressions")
	expired := audit("expired.yaml", "object.json", "json")
	require.Equal(t, exitDenied, expired.code)
	require.Contains(t, expired.stderr, "it expired at")

	files := folder(t, map[string]string{"before.json": audit("none.yaml", "object.json", "json").stdout, "after.json": got.stdout})
	before, after := filepath.Join(files, "before.json"), filepath.Join(files, "after.json")
	forward := lintel(t, "", "audit", "diff", before, after)
	require.Equal(t, exitAllowed, forward.code)
	require.True(t, strings.HasSuffix(forward.stdout, "0 new, 0 fixed, 0 unchanged, 1 exempt\n"), forward.stdout)
	var diff map[string]any
	require.NoError(t, json.Unmarshal([]byte(lintel(t, "", "audit", "diff", before, after, "-o", "json").stdout), &diff))
	require.Len(t, diff["exempt"], 1)
	require.Equal(t, exitDenied, lintel(t, "", "audit", "diff", after, before).code, "an exception that has ended leaves a new violation")
}
