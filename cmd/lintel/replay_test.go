package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
)

const replayPolicy = "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\npackage team.images\n\nimport rego.v1\n\n" +
	"deny contains {\"msg\": \"no latest\", \"field\": \"spec.containers\"} if {\n\tsome c in input.request.object.spec.containers\n\tendswith(c.image, \":latest\")\n}\n\n" +
	"warn contains \"no team\" if not input.request.object.metadata.labels.team\n"

var replayTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// replayRecord is the record of the creation of a Pod that was admitted.
func replayRecord(uid, image string, denials ...record.Finding) *record.Record {
	request := fmt.Sprintf(`{"uid":%q,"operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"userInfo":{"username":"jane|doe"},"name":"web","namespace":"shop","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"team":"a"}},
		"spec":{"containers":[{"name":"web","image":%q,"env":[{"name":"K","value":"masked"}]}]}}}`, uid, image)
	return &record.Record{
		Schema: 1, Time: replayTime, Entry: "validate/policies-fail", Request: json.RawMessage(request), Masked: []string{"/object/spec/containers/0/env/0/value"},
		Decision: record.Decision{Allowed: len(denials) == 0, Policies: 1, Denials: denials},
	}
}

func replayLines(t *testing.T, records ...*record.Record) string {
	t.Helper()
	var b strings.Builder
	for _, r := range records {
		text, err := record.Encode(r)
		require.NoError(t, err)
		b.WriteString(strings.TrimSpace(string(text)) + "\n")
	}
	return b.String()
}

var replayWindow = []string{"--since", "2026-11-20T00:00:00Z", "--until", "2026-11-21T00:00:00Z"}

func replayArgs(args ...string) []string {
	return append(append([]string{"replay"}, args...), replayWindow...)
}

func TestReplayReports(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"policies/images.rego": replayPolicy})
	policies := filepath.Join(dir, "policies")
	earlier := record.Finding{Policy: "team.images", Rule: "deny", Location: "images.rego:8", Source: "policies", Msg: "old"}
	lines := replayLines(t, replayRecord("1", "web:latest"), replayRecord("2", "web:latest"), replayRecord("3", "web:1"), replayRecord("4", "web:1", earlier))

	text := lintel(t, lines, replayArgs("--against", policies, "--examples", "1", "-")...)
	require.Equal(t, `newly denied: 2 requests, for example
  CREATE Pod shop/web
    by       jane|doe at 2026-11-20T12:00:00Z
    denies   no latest [team.images deny, images.rego:8, policies]
             field spec.containers

newly admitted: 1 request, for example
  CREATE Pod shop/web
    by       jane|doe at 2026-11-20T12:00:00Z
    denied   old [team.images deny, images.rego:8, policies]

policy                newly denied  newly admitted
policies/team.images  2             1

namespace  newly denied  newly admitted
shop       2             1

user      newly denied  newly admitted
jane|doe  2             1

workload      newly denied  newly admitted
shop/Pod/web  2             1

4 requests from 2026-11-20T00:00:00Z to 2026-11-21T00:00:00Z: 2 newly denied, 1 newly admitted, 1 the same
`, text.stdout)
	require.Equal(t, exitDenied, text.code)
	require.Empty(t, text.stderr)
	require.Equal(t, exitAllowed, lintel(t, lines, replayArgs("--against", policies, "--max-new-denials", "2", "-")...).code)

	markdown := lintel(t, lines, replayArgs("--against", policies, "-o", "markdown", "-")...).stdout
	require.Contains(t, markdown, "### Replay: 2 requests newly denied\n")
	require.Contains(t, markdown, "| `jane\\|doe` | 2 | 1 |\n")
	require.Contains(t, markdown, "<details><summary>newly denied</summary>\n\n```text\n")

	var report struct {
		APIVersion string
		Summary    struct{ Records, Requests, Same, NewlyDenied, NewlyAdmitted, Undecided int }
		Examples   []struct{ Outcome, UID string }
		Undecided  []any
	}
	require.NoError(t, json.Unmarshal([]byte(lintel(t, lines, replayArgs("--against", policies, "-o", "json", "-")...).stdout), &report))
	require.Equal(t, "lintel.dev/replay-report/v1", report.APIVersion)
	require.Equal(t, []int{4, 4, 1, 2, 1, 0}, []int{report.Summary.Records, report.Summary.Requests, report.Summary.Same, report.Summary.NewlyDenied, report.Summary.NewlyAdmitted, report.Summary.Undecided})
	require.Len(t, report.Examples, 3)
	require.NotNil(t, report.Undecided)

	sarif := lintel(t, lines, replayArgs("--against", policies, "-o", "sarif", "-")...).stdout
	require.Contains(t, sarif, "newly denied: CREATE Pod shop/web by jane|doe")
	require.Contains(t, sarif, `"startLine": 8`)
	junit := lintel(t, lines, replayArgs("--against", policies, "-o", "junit", "-")...).stdout
	require.Contains(t, junit, `<failure message="2 requests newly denied">`)

	baseline := lintel(t, lines, replayArgs("--against", policies, "--baseline", policies, "-")...)
	require.Equal(t, exitAllowed, baseline.code, baseline.stdout)
	require.Regexp(t, `0 newly denied, 4 the same, (\d+) steps per request before, (\d+) after\n$`, baseline.stdout)

	named := lintel(t, lines, replayArgs("--against", policies, "--name", "other", "-")...)
	require.Contains(t, named.stderr, "note: no recorded finding is of other, so the candidate is compared as additional policies")
	require.NotContains(t, named.stdout, "newly admitted", "another source denies the request")
}

// admissionPolicy is a ValidatingAdmissionPolicy with its binding.
const admissionPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: t}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [RESOURCE]}]}
  variables: [{name: containers, expression: object.spec.containers}]
  validations: [{expression: 'EXPRESSION'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: t}
spec: {policyName: t, validationActions: [Deny]}
`

// TestReplayOfAdmissionPolicies: a masked value makes a ValidatingAdmissionPolicy undecided only if it
// matches the request, and its expressions can read the value.
func TestReplayOfAdmissionPolicies(t *testing.T) {
	t.Parallel()
	const unread = `"web" == "api"`
	for name, c := range map[string]struct {
		resource, expression string
		undecided            bool
	}{
		"no match":             {"configmaps", `object.spec.containers[0].env[0].value == "x"`, false},
		"nothing":              {"pods", unread, false},
		"another field":        {"pods", `object.spec.containers.all(c, c.image == "x")`, false},
		"another name":         {"pods", `object.spec.containers.exists(c, c.env.exists(e, e.name == "x"))`, false},
		"a variable":           {"pods", `variables.containers.exists(c, c.image == "x")`, false},
		"presence":             {"pods", `!has(object.spec.containers[0].env)`, false},
		"optional":             {"pods", `object.spec.?containers[0].?image.orValue("x") == "x"`, false},
		"null":                 {"pods", `object == null`, false},
		"the value":            {"pods", `object.spec.containers[0].env[0].value == "x"`, true},
		"each value":           {"pods", `object.spec.containers.all(c, c.env.all(e, e.value != "x"))`, true},
		"a computed field":     {"pods", `object.spec.containers[0].env[0][["value"][0]] == "x"`, true},
		"the whole list":       {"pods", `variables.containers == []`, true},
		"through a new list":   {"pods", `[object.spec][0].containers[0].env[0].value == "x"`, true},
		"through a condition":  {"pods", `(true ? object.spec : object.spec).containers[0].env[0].value == "x"`, true},
		"in a message of list": {"pods", `object.spec.containers.map(c, c.env).size() == 7`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("RESOURCE", c.resource, "EXPRESSION", c.expression).Replace(admissionPolicy)
			policies := filepath.Join(folder(t, map[string]string{"policies/p.yaml": text}), "policies")
			got := lintel(t, replayLines(t, replayRecord("1", "web:1")), replayArgs("--against", policies, "-")...)
			if c.undecided {
				require.Equal(t, exitError, got.code, got.stderr)
				require.Contains(t, got.stdout, "undecided  policy ValidatingAdmissionPolicy/t: it reads input.request.object.spec.containers[0].env[0].value, which is masked or not recorded; 1 request")
				return
			}
			require.NotContains(t, got.stdout, "undecided", got.stderr)
			require.Equal(t, c.resource == "pods", strings.Contains(got.stdout, "1 newly denied"), got.stdout+got.stderr)
		})
	}
}

// TestReplayWritesASuiteOfAdmissionPolicies that passes for the candidate, and fails for another one.
func TestReplayWritesASuiteOfAdmissionPolicies(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("RESOURCE", "pods", "EXPRESSION", `object.spec.containers.all(c, c.image != params.data.image)`).Replace(admissionPolicy)
	text = strings.Replace(text, "spec:\n  match", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  match", 1)
	text = strings.Replace(text, "validationActions: [Deny]", "validationActions: [Deny], paramRef: {name: p, namespace: default, parameterNotFoundAction: Deny}", 1)
	text += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: default}, data: {image: 'web:1'}}\n"
	policies, suite := filepath.Join(folder(t, map[string]string{"policies/p.yaml": text}), "policies"), t.TempDir()
	got := lintel(t, replayLines(t, replayRecord("1", "web:1")), replayArgs("--against", policies, "--write-suite", suite, "-")...)
	require.Equal(t, exitDenied, got.code, got.stderr)
	tested := lintel(t, "", "policy", "test", "-p", suite)
	require.Equal(t, exitAllowed, tested.code, tested.stdout+tested.stderr)
	require.Contains(t, tested.stdout, "1 suite, 1 test, 1 case: 1 passed")
	file := filepath.Join(suite, "policies.ValidatingAdmissionPolicy_t", "constraint.yaml")
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.ReplaceAll(written, []byte("web:1"), []byte("web:2")), 0o600))
	require.NotEqual(t, exitAllowed, lintel(t, "", "policy", "test", "-p", suite).code)
}

// TestReplayOfUndecidedAndBrokenRecords: neither is reported as unchanged.
func TestReplayOfUndecidedAndBrokenRecords(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"policies/env.rego": strings.Replace(replayPolicy, `endswith(c.image, ":latest")`, `c.env[_].value == "x"`, 1)})
	policies := filepath.Join(dir, "policies")
	lines := replayLines(t, replayRecord("1", "web:1"))
	got := lintel(t, lines, replayArgs("--against", policies, "-")...)
	require.Equal(t, exitError, got.code)
	require.Contains(t, got.stdout, "undecided  policy team.images: it reads input.request.object.spec.containers[0].env[0].value, which is masked or not recorded; 1 request, first CREATE Pod shop/web\n")
	require.Contains(t, got.stdout, "0 newly denied, 1 undecided, 0 the same")
	require.Equal(t, exitAllowed, lintel(t, lines, replayArgs("--against", policies, "--max-undecided", "1", "-")...).code)

	for name, test := range map[string]struct{ line, want string }{
		"later schema":  {`{"schema":2,"time":"2026-11-20T12:00:00Z"}`, "schema version 2"},
		"garbage":       {"\x00\x1b[2J", "the record is damaged"},
		"not a request": {`{"schema":1,"time":"2026-11-20T12:00:00Z","entry":"validate/x","request":[],"decision":{"allowed":true}}`, `field "request": not a JSON object`},
		"no decision":   {`{"schema":1,"time":"2026-11-20T12:00:00Z","entry":"validate/x","request":{}}`, `standard input:1: the record is damaged: field "decision" is missing`},
		"no uid":        {strings.Replace(lines, `"uid":"1"`, `"uid":""`, 1), `standard input:1: the record is damaged: field "request.uid" is missing`},
		"no time":       {strings.Replace(lines, `"time":"2026-11-20T12:00:00Z",`, "", 1), `standard input:1: the record is damaged: field "time" is missing`},
		"unknown entry": {strings.Replace(lines, "validate/policies-fail", "\\u001b[2J", 1), "must begin with validate/ or mutate/"},
		"unknown place": {strings.Replace(lines, "/object/spec/containers/0", "/object/spec/containers/7", 1), "there is no element"},
		"too large":     {`{"schema":1,"entry":"` + strings.Repeat("x", record.MaxRecordBytes) + `"}`, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lintel(t, test.line+"\n", replayArgs("--against", policies, "-")...)
			require.Equal(t, exitError, got.code)
			require.Contains(t, got.stdout, test.want)
			require.Contains(t, got.stdout, "1 record skipped")
			require.NotContains(t, got.stdout, "\x1b")
		})
	}
	none := lintel(t, "", replayArgs("--against", policies, "-")...)
	require.Equal(t, exitError, none.code)
	require.Contains(t, none.stderr, "there are no records from 2026-11-20T00:00:00Z to 2026-11-21T00:00:00Z")
}

// TestReplayWritesTestCases that pass with the candidate, and fail with the policies that were in force.
func TestReplayWritesTestCases(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"policies/images.rego": replayPolicy})
	policies := filepath.Join(dir, "policies")
	lines := replayLines(t, replayRecord("1", "web:latest"), replayRecord("2", "web:1", record.Finding{Policy: "team.images", Rule: "deny", Source: "policies", Msg: "old"}))
	suite := filepath.Join(policies, "replayed")
	require.Equal(t, exitDenied, lintel(t, lines, replayArgs("--against", policies, "--write-suite", suite, "-")...).code)
	text, err := os.ReadFile(filepath.Join(suite, "policies.team.images_replay_test.rego"))
	require.NoError(t, err)
	require.Contains(t, string(text), "test_newlydenied_1 if {\n\tis_finding(data.team.images.deny) with input as input_1\n}")
	require.Contains(t, string(text), "not is_finding(data.team.images.deny) with input as input_2")
	require.NotContains(t, string(text), `"env"`, "the environment does not matter")
	tested := lintel(t, "", "policy", "test", "-p", policies)
	require.Equal(t, exitAllowed, tested.code, tested.stdout+tested.stderr)
	require.NoError(t, os.WriteFile(filepath.Join(policies, "images.rego"), []byte(strings.Replace(replayPolicy, ":latest", ":none", 1)), 0o600))
	require.Equal(t, exitDenied, lintel(t, "", "policy", "test", "-p", policies).code)
}

// TestReplayResumes: a run continues after the requests that are counted.
func TestReplayResumes(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"policies/images.rego": replayPolicy})
	policies, state, records := filepath.Join(dir, "policies"), filepath.Join(dir, "state.json"), filepath.Join(dir, "records.jsonl")
	lines := replayLines(t, replayRecord("1", "web:latest"), replayRecord("2", "web:latest"))
	require.NoError(t, os.WriteFile(records, []byte(lines), 0o600))
	args := replayArgs("--against", policies, "--resume", state, "-o", "json", records)
	first := lintel(t, "", args...)
	require.Equal(t, exitDenied, first.code, first.stderr)
	require.NoFileExists(t, state, "the run has ended")

	require.NoError(t, os.WriteFile(state, []byte(`{"inputs":"x","tally":{}}`), 0o600))
	other := lintel(t, "", args...)
	require.Equal(t, exitError, other.code)
	require.Contains(t, other.stderr, "is the state of a run with other policies, records or flags")
	require.NoError(t, os.WriteFile(state, []byte("{"), 0o600))
	require.Contains(t, lintel(t, "", args...).stderr, "is not the state of a run")
}

func TestReplayUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"no candidate":                    {"x"},
		"no records":                      {"--against", "p"},
		"--name is empty":                 {"--against", "p", "--name", "", "x"},
		"--until 7d is not after":         {"--against", "p", "--since", "1d", "--until", "7d", "x"},
		"--since: \"week\" is neither":    {"--against", "p", "--since", "week", "x"},
		"--until: \"x\" is neither":       {"--against", "p", "--until", "x", "x"},
		"--examples is -1":                {"--against", "p", "--examples", "-1", "x"},
		"--limit is -1":                   {"--against", "p", "--limit", "-1", "x"},
		"--workers is -1":                 {"--against", "p", "--workers", "-1", "x"},
		"--max-new-denials is -1":         {"--against", "p", "--max-new-denials", "-1", "x"},
		"--max-new-warnings is -2":        {"--against", "p", "--max-new-warnings", "-2", "x"},
		"--max-undecided is -2":           {"--against", "p", "--max-undecided", "-2", "x"},
		"--resume reads the records":      {"--against", "p", "--resume", "s", "-"},
		"--write-suite writes":            {"--against", "p", "--write-suite", "s", "--examples", "0", "x"},
		"--output yaml is not":            {"--against", "p", "-o", "yaml", "x"},
		"reading policies: stat /nothing": {"--against", "/nothing", "x"},
	} {
		got := lintel(t, "", append([]string{"replay"}, args...)...)
		require.Equal(t, exitError, got.code, want)
		require.Contains(t, got.stderr, want)
	}
}
