package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/audit"
)

// auditPolicies are policies of all kinds for an audit.
var auditPolicies = map[string]string{
	"privileged.rego": `# METADATA
# title: No privileged containers
# custom:
#   match: {kinds: [{group: "", kind: Pod}], expand: deny}
package privileged
import rego.v1
deny contains {"msg": sprintf("container %s is privileged", [c.name]), "field": "spec.containers"} if {
	some c in input.request.object.spec.containers
	c.securityContext.privileged
}
`,
	"team.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: ConfigMap}], namespaceSelector: {matchLabels: {audited: "yes"}}}
package team
import rego.v1
warn contains "has no team" if not input.request.object.metadata.labels.team
`,
	"immutable.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Secret}], operations: [UPDATE]}
package immutable
import rego.v1
deny contains "changes" if input.request.object.data != input.request.oldObject.data
`,
	"hosts.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Service}]}
#   requires: [{group: networking.k8s.io, kind: Ingress}]
package hosts
import rego.v1
deny contains "no Ingress" if count(data.cluster["Ingress.networking.k8s.io"]) == 0
`,
}

func auditObjects(privileged ...bool) []string {
	objects := []string{
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"audited":"yes"}}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token","namespace":"shop"}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"system","namespace":"kube-system"},"spec":{"containers":[{"name":"c","securityContext":{"privileged":true}}]}}`,
	}
	for i, p := range privileged {
		objects = append(objects, fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-%d","namespace":"shop"},"spec":{"template":{"spec":{"containers":[{"name":"c","securityContext":{"privileged":%v}}]}}}}`, i, p))
	}
	return objects
}

func listOf(objects ...string) string {
	return `{"apiVersion":"v1","items":[` + strings.Join(objects, ",\n") + `],"kind":"List"}`
}

// decodeAudit reads a JSON report strictly.
func decodeAudit(t *testing.T, text string) (r audit.Report) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), text)
	require.NotContains(t, text, "null")
	return r
}

// backupOf is a Velero backup of objects.
func backupOf(t *testing.T, objects []string) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for i, text := range objects {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("resources/things/namespaces/shop/%d.json", i), Mode: 0o600, Size: int64(len(text))}))
		_, err := io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(w.Close(), zipped.Close()))
	return out.String()
}

// TestAuditOfFiles gives the same report for each form of a dump.
func TestAuditOfFiles(t *testing.T) {
	policies := folder(t, auditPolicies)
	objects := auditObjects(true, false)
	separate := map[string]string{}
	for i, text := range objects {
		separate[fmt.Sprintf("%d.json", i)] = text
	}
	backup := filepath.Join(folder(t, map[string]string{"backup.tar.gz": backupOf(t, objects)}), "backup.tar.gz")
	for name, c := range map[string]struct{ stdin, file string }{
		"a list":  {listOf(objects...), "-"},
		"YAML":    {strings.Join(objects, "\n---\n"), "-"},
		"backup":  {"", backup},
		"folder":  {"", folder(t, separate)},
		"a stdin": {backupOf(t, objects), "-"},
	} {
		t.Run(name, func(t *testing.T) {
			got := lintel(t, c.stdin, "audit", "-p", policies, "-f", c.file, "-o", "json")
			require.Equal(t, exitDenied, got.code, got.stderr)
			require.Empty(t, got.stderr)
			r := decodeAudit(t, got.stdout)
			require.Equal(t, audit.Summary{Objects: 3, Kinds: 2, Policies: 4, Violations: 1, Warnings: 1}, r.Summary)
			require.Len(t, r.Results, 2)
			require.Equal(t, "Deployment shop/web-0", r.Results[0].Object.Title())
			require.Contains(t, r.Results[0].Result.Message, "container c is privileged")
			require.Equal(t, "ConfigMap shop/settings", r.Results[1].Object.Title())
			require.Len(t, r.NotAuditable, 2, "the operation, and the reference")
			require.Equal(t, "immutable", r.NotAuditable[0].Policy)
			require.Contains(t, r.NotAuditable[1].Reference, "immutable.rego:6: input.request.oldObject")
			require.Empty(t, r.NotAudited)
			require.Empty(t, r.Undecided)
		})
	}
}

func TestAuditText(t *testing.T) {
	policies := folder(t, auditPolicies)
	got := lintel(t, listOf(auditObjects(true, true, true)...), "audit", "-p", policies, "-f", "-", "--limit", "2")
	require.Equal(t, exitDenied, got.code)
	require.Regexp(t, `(?s)^privileged \(\d+\): 3 violations
  Deployment shop/web-0
    fail         Pod template: container c is privileged
                 field spec.*
  Deployment shop/web-1
.*  and 1 more result: see --limit

team \(\d+\): 1 warning
  ConfigMap shop/settings
    warn         has no team

  not auditable  immutable \(\d+\): the policy depends on .*custom.match.operations
  not auditable  immutable \(\d+\): 1 rule depends on immutable.rego:6: input.request.oldObject.data

4 objects of 2 kinds, 4 policies: 3 violations, 1 warning
$`, got.stdout)
}

// TestAuditIsNeverSilentlyCompliant: objects that are not evaluated make the exit code 2.
func TestAuditIsNeverSilentlyCompliant(t *testing.T) {
	policies := folder(t, auditPolicies)
	service := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop"}}`
	good := listOf(auditObjects(false)...)
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		want  string
	}{
		"complete":                {map[string]string{"a.json": good}, nil, exitAllowed, "0 violations"},
		"a bad file":              {map[string]string{"a.json": good, "b.json": "{"}, nil, exitError, "b.json:1: "},
		"a bad object":            {map[string]string{"a.json": good, "b.json": "{}"}, nil, exitError, "b.json:1: document 1 is not a Kubernetes object"},
		"no Namespace":            {map[string]string{"a.json": auditObjects()[1]}, nil, exitError, "policy team: "},
		"a required kind":         {map[string]string{"a.json": service}, nil, exitError, "policy hosts: "},
		"none of it":              {map[string]string{"a.json": service}, []string{"--complete"}, exitDenied, "no Ingress"},
		"an unknown version":      {map[string]string{"a.json": strings.Replace(auditObjects(true)[4], "apps/v1", "apps/v1beta1", 1)}, nil, exitError, "not known without a cluster"},
		"a violation comes first": {map[string]string{"a.json": listOf(auditObjects(true)...), "b.json": "{"}, nil, exitDenied, "b.json:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := lintel(t, "", append([]string{"audit", "-p", policies, "-f", folder(t, c.files)}, c.args...)...)
			require.Equal(t, c.code, got.code, got.stdout+got.stderr)
			require.Contains(t, got.stdout, c.want)
		})
	}
	got := lintel(t, "", "audit", "-p", policies, "-f", t.TempDir())
	require.Equal(t, exitError, got.code)
	require.Contains(t, got.stderr, "there are no objects in the files")
}

// TestAuditOfUnknownKinds evaluates objects of kinds without a definition, too.
func TestAuditOfUnknownKinds(t *testing.T) {
	policies := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: example.com, kind: Widget}]}\npackage p\nimport rego.v1\ndeny contains \"no widgets\""})
	for _, object := range []string{
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"shop"}}`,
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`,
	} {
		got := lintel(t, object, "audit", "-p", policies, "-f", "-")
		require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
	}
}

func TestAuditBaseline(t *testing.T) {
	policies := folder(t, auditPolicies)
	run := func(t *testing.T, privileged []bool, args ...string) result {
		t.Helper()
		return lintel(t, listOf(auditObjects(privileged...)...), append([]string{"audit", "-p", policies, "-f", "-"}, args...)...)
	}
	files := folder(t, map[string]string{
		"one.json":    run(t, []bool{true, false}, "-o", "json").stdout,
		"two.json":    run(t, []bool{true, true}, "-o", "json").stdout,
		"none.json":   run(t, []bool{false, false}, "-o", "json").stdout,
		"edited.json": strings.Replace(run(t, []bool{true}, "-o", "json").stdout, `"violations": 1`, `"violations": 2`, 1),
		"other.json":  `{"results": []}`,
	})
	one, two, none := filepath.Join(files, "one.json"), filepath.Join(files, "two.json"), filepath.Join(files, "none.json")

	got := run(t, []bool{true, false}, "--baseline", one)
	require.Equal(t, exitAllowed, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "1 violation, 0 new")
	got = run(t, []bool{true, true}, "--baseline", one)
	require.Equal(t, exitDenied, got.code)
	require.Contains(t, got.stdout, "2 violations, 1 new")
	require.Contains(t, got.stdout, "web-1")
	require.NotContains(t, got.stdout, "web-0")
	marked := decodeAudit(t, run(t, []bool{true, true}, "--baseline", one, "-o", "json").stdout)
	require.Equal(t, []bool{false, true}, []bool{marked.Results[0].New, marked.Results[1].New})
	got = run(t, []bool{true, false}, "--baseline", one, "-o", "junit")
	require.Equal(t, exitAllowed, got.code)
	require.NotContains(t, got.stdout, "<failure")
	for file, want := range map[string]string{"edited.json": "it was edited or cut off", "other.json": `apiVersion is "", not "lintel.dev/audit-report/v1"`, "missing.json": "no such file"} {
		got = run(t, nil, "--baseline", filepath.Join(files, file))
		require.Equal(t, exitError, got.code)
		require.Contains(t, got.stderr, want)
	}

	for name, c := range map[string]struct {
		before, after string
		code          int
		want          string
	}{
		"new":       {one, two, exitDenied, "1 new, 0 fixed, 1 unchanged\n"},
		"fixed":     {two, one, exitAllowed, "0 new, 1 fixed, 1 unchanged\n"},
		"unchanged": {one, one, exitAllowed, "0 new, 0 fixed, 1 unchanged\n"},
		"all fixed": {two, none, exitAllowed, "0 new, 2 fixed, 0 unchanged\n"},
	} {
		got := lintel(t, "", "audit", "diff", c.before, c.after)
		require.Equal(t, c.code, got.code, name)
		require.True(t, strings.HasSuffix(got.stdout, c.want), got.stdout)
	}
	got = lintel(t, "", "audit", "diff", one, two, "-o", "json")
	require.Contains(t, got.stdout, `"unchanged": 1`)
	require.Equal(t, exitError, lintel(t, "", "audit", "diff", one).code)
}

// TestAuditFormats: each format has the violation, and the file that was not audited.
func TestAuditFormats(t *testing.T) {
	files := folder(t, map[string]string{"a.json": listOf(auditObjects(true)...), "b.json": "{"})
	policies := folder(t, auditPolicies)
	for format, want := range map[string][]string{
		"junit":       {`failures="1"`, "Deployment shop/web-0: Pod template: container c is privileged", `<testsuite name="not-audited"`, "b.json:1", "not auditable: depends on"},
		"sarif":       {`"ruleId": "privileged/deny"`, "a.json", "privileged.rego", `"ruleId": "not-audited"`},
		"openreports": {"apiVersion: openreports.io/v1alpha1", "kind: Report", "namespace: shop", "policy: privileged", "fail: 1"},
	} {
		got := lintel(t, "", "audit", "-p", policies, "-f", files, "-o", format)
		require.Equal(t, exitDenied, got.code, got.stderr)
		for _, part := range want {
			require.Contains(t, got.stdout, part, format)
		}
	}
}

func TestAuditUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an argument":      {[]string{"x"}, `unexpected argument "x"`},
		"no policies":      {[]string{"-f", "x"}, "no policies: objects in files need policies with -p"},
		"qps with files":   {[]string{"-f", "x", "-p", "x", "--qps", "1"}, "--qps is about a cluster"},
		"no qps":           {[]string{"--qps", "0"}, "--qps is 0"},
		"a limit":          {[]string{"--limit", "-1"}, "--limit is -1"},
		"a namespace":      {[]string{"-n", "x"}, "--namespace is about objects in files"},
		"complete":         {[]string{"--complete"}, "--complete is about objects in files"},
		"a format":         {[]string{"-o", "yaml"}, "--output yaml is not text, json, junit, sarif or openreports"},
		"an empty name":    {[]string{"--name", ""}, "--name is empty"},
		"a name":           {[]string{"--name", "x"}, "--name names the sources of -p"},
		"an empty file":    {[]string{"--baseline", ""}, "--baseline is empty"},
		"a missing file":   {[]string{"-p", samples + "policies", "-f", "nowhere"}, "reading objects: "},
		"missing policies": {[]string{"-p", "nowhere", "-f", "nowhere"}, "reading policies: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := lintel(t, "", append([]string{"audit"}, c.args...)...)
			require.Equal(t, exitError, got.code)
			require.Contains(t, got.stderr, c.want)
			require.Empty(t, got.stdout)
		})
	}
}
