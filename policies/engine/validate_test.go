package engine

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
)

func TestEntryPointsSayWhatTheyMean(t *testing.T) {
	cases := map[string]struct {
		rego     string
		denials  []string // words and rule:line
		warnings []string
	}{
		"partial set of strings": {
			rego:    "package p\ndeny contains msg if { msg := input.request.object.metadata.name }",
			denials: []string{"web|deny|2"},
		},
		"v0 syntax": {
			rego:    "package p\ndeny[msg] { msg := \"no\" }",
			denials: []string{"no|deny|2"},
		},
		"two rules, each with its line": {
			rego:    "package p\ndeny contains \"a\"\n\ndeny contains \"b\"",
			denials: []string{"a|deny|2", "b|deny|4"},
		},
		"the same words from two rules": {
			rego:    "package p\ndeny contains \"a\"\ndeny contains \"a\" if true",
			denials: []string{"a|deny|2", "a|deny|3"},
		},
		"object": {
			rego:    "package p\ndeny contains {\"msg\": \"no\", \"field\": \"spec.x\", \"code\": 422}",
			denials: []string{"no|deny|2"},
		},
		"complete boolean": {
			rego:    "package p\ndeny if input.name == \"web\"\ndeny if input.request.operation == \"CREATE\"",
			denials: []string{"denied by p|deny|2", "denied by p|deny|3"},
		},
		"complete false and empty do not fire": {rego: "package p\ndeny := false\nwarn := \"\""},
		"else chain names the branch": {
			rego:    "package p\ndeny := \"a\" if input.name == \"x\"\nelse := \"b\" if {\n  input.name == \"web\"\n}",
			denials: []string{"b|deny|3"},
		},
		"default fires only alone": {
			rego:    "package p\ndefault deny := \"default\"\ndeny := \"named\" if input.name == \"other\"",
			denials: []string{"default|deny|2"},
		},
		"default is silent beside a rule": {
			rego:    "package p\ndefault deny := \"default\"\ndeny := \"named\" if input.name == \"web\"",
			denials: []string{"named|deny|3"},
		},
		"complete set and array": {
			rego:     "package p\ndeny := {\"a\", \"b\"}\nwarn := [\"c\"]",
			denials:  []string{"a|deny|2", "b|deny|2"},
			warnings: []string{"c|warn|3"},
		},
		"title where there are no words": {
			rego:    "# METADATA\n# title: Nothing today\npackage p\ndeny := true",
			denials: []string{"denied by \"Nothing today\"|deny|4"},
		},
		"wrong type is an error of the policy, and others are unaffected": {
			rego: "package p\ndeny contains 7\ndeny contains \"no\"",
			denials: []string{
				"no|deny|3",
				"policy p cannot be used: deny gave number, not a message or an object with msg|deny|2",
			},
		},
		"a builtin's error denies beside denials": {
			rego: "package p\nhelp := to_number(input.request.object.metadata.name)\ndeny contains \"no\" if true\ndeny contains \"x\" if help > 1",
			denials: []string{
				"no|deny|3",
				"policy p cannot be evaluated: to_number cannot use its operand (not shown: it may be secret)|help|2",
			},
		},
		"input": {
			rego: `package p
deny contains "yes" if {
	input.apiVersion == "admission.k8s.io/v1"
	input.kind == "AdmissionReview"
	input.request.userInfo.username == "jane"
	input.name == "web"
	input.scope.level == "enterprise"
	input.parameters == {}
	not input.namespace
}`,
			denials: []string{"yes|deny|2"},
		},
		"a plain OPA admission policy": {
			rego:    "package kubernetes.admission\nimport rego.v1\ndeny contains msg if {\n\tinput.request.kind.kind == \"Pod\"\n\tmsg := \"pods\"\n}",
			denials: []string{"pods|deny|3"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			decision := snapshotOf(compile(t, c.rego)).Validate(context.Background(), makeReview(t, pod), Options{})
			require.Equal(t, c.denials, short(decision.Denials))
			require.Equal(t, c.warnings, short(decision.Warnings))
			require.Equal(t, len(c.denials) == 0, decision.Allowed())
		})
	}
}

func short(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Words+"|"+f.Rule+"|"+strings.TrimPrefix(f.Location.String(), "policy.rego:"))
	}
	return out
}

func TestMessageNamesPolicyRulePlaceAndRevision(t *testing.T) {
	set := compile(t, "package team.labels\ndeny contains \"no team label\"")
	decision := snapshotOf(set).Validate(context.Background(), makeReview(t, pod), Options{})
	require.Equal(t, []string{"no team label" + suffixOf(set, "team.labels", "deny", 2)}, denials(decision))
}

func TestWordsAreCutNeverTheSuffix(t *testing.T) {
	set := compile(t, `package p
deny contains concat("", [x | some i in numbers.range(1, 900); x := "äöü"])
warn contains concat("", [x | some i in numbers.range(1, 900); x := "äöü"])`)
	decision := snapshotOf(set).Validate(context.Background(), makeReview(t, pod), Options{})
	denial := decision.Denials[0].Text()
	require.True(t, strings.HasSuffix(denial, "…"+suffixOf(set, "p", "deny", 2)), denial)
	require.LessOrEqual(t, len(denial), MaxWordsBytes+100)
	warning := WarningTexts(decision.Warnings)[0]
	require.True(t, strings.HasSuffix(warning, suffixOf(set, "p", "warn", 3)), warning)
	require.LessOrEqual(t, len(warning), MaxWarningBytes)
}

func TestWarningsKeepWithinTheirTotal(t *testing.T) {
	set := compile(t, `package p
warn contains msg if { some i in numbers.range(1, 200); msg := sprintf("warning number %d", [i]) }`)
	decision := snapshotOf(set).Validate(context.Background(), makeReview(t, pod), Options{})
	texts := WarningTexts(decision.Warnings)
	require.LessOrEqual(t, len(strings.Join(texts, "")), MaxResponseWarningBytes)
	require.Regexp(t, `^\d+ more warnings are not shown$`, texts[len(texts)-1])
}

func TestEnforcementAndFailurePolicy(t *testing.T) {
	const says = "deny contains \"no\"\nwarn contains \"hm\""
	const breaks = "deny contains to_number(input.name)"
	header := func(enforcement string) string {
		return "# METADATA\n# custom:\n#   enforcement: " + enforcement + "\npackage p\n"
	}
	cases := map[string]struct {
		rego                   string
		failurePolicy          definition.FailurePolicy
		denied, warned, logged int
	}{
		"deny":                   {header("deny") + says, definition.Fail, 1, 1, 0},
		"warn":                   {header("warn") + says, definition.Fail, 0, 2, 0},
		"audit":                  {header("audit") + says, definition.Fail, 0, 0, 2},
		"deny, error, Fail":      {header("deny") + breaks, definition.Fail, 1, 0, 0},
		"deny, error, Ignore":    {header("deny") + breaks, definition.Ignore, 0, 1, 0},
		"warn, error, Fail":      {header("warn") + breaks, definition.Fail, 0, 1, 0},
		"audit, error, Fail":     {header("audit") + breaks, definition.Fail, 0, 0, 1},
		"Ignore denies verdicts": {header("deny") + says, definition.Ignore, 1, 1, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set := compileSource(t, definition.Source{Name: "s", FailurePolicy: c.failurePolicy, Files: map[string]string{"p.rego": c.rego}})
			decision := snapshotOf(set).Validate(context.Background(), makeReview(t, pod), Options{})
			require.Len(t, decision.Denials, c.denied)
			require.Len(t, decision.Warnings, c.warned)
			require.Len(t, decision.Audits, c.logged)
		})
	}
}

func TestEachEntryAsksItsOwnFailurePolicy(t *testing.T) {
	source := func(name string, policy definition.FailurePolicy) *PolicySet {
		return compileSource(t, definition.Source{Name: name, FailurePolicy: policy, Files: map[string]string{
			"p.rego": "package " + name + "\ndeny contains \"" + name + "\"",
		}})
	}
	snapshot := snapshotOf(source("f", definition.Fail), source("i", definition.Ignore))
	for policy, want := range map[definition.FailurePolicy]int{definition.Fail: 1, definition.Ignore: 1, "": 2} {
		decision := snapshot.Validate(context.Background(), makeReview(t, pod), Options{FailurePolicy: policy})
		require.Len(t, decision.Denials, want, policy)
	}
}

// TestTimeoutsAreSteps, at a fixed rate.
func TestTimeoutsAreSteps(t *testing.T) {
	const loop = "package p\ndeny contains \"x\" if { all := numbers.range(1, 30000); some i in all; some j in all; i + j == 0 }"
	for timeout, steps := range map[string]string{"": "1000000", "1ms": "10000", "250us": "2500", "1us": "10", "1ns": "1", "1s": "10000000"} {
		t.Run(cmp.Or(timeout, "default"), func(t *testing.T) {
			t.Parallel()
			text := loop
			if timeout != "" {
				text = "# METADATA\n# custom:\n#   timeout: " + timeout + "\n" + loop
			}
			set := compileSource(t, definition.Source{Name: "test", Files: map[string]string{
				"policy.rego": text,
				"other.rego":  "package other\ndeny contains \"still evaluated\"",
			}})
			decision := snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{})
			require.Len(t, decision.Denials, 2)
			require.Equal(t, "still evaluated", decision.Denials[0].Words)
			require.Contains(t, decision.Denials[1].Text(), "policy p cannot be evaluated: it took more than "+steps+" steps")
			require.True(t, decision.Denials[1].Error)
			require.Equal(t, "steps", decision.Denials[1].Limit)
		})
	}
}

func TestRequestDeadlineStopsEvaluation(t *testing.T) {
	set := compile(t, "# METADATA\n# custom:\n#   timeout: 1s\npackage p\ndeny contains \"x\" if { some i in numbers.range(1, 400); some j in numbers.range(1, 400); i + j == 0 }")
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	snapshot := snapshotOf(set)
	decision := snapshot.Validate(ctx, makeReview(t, pod), Options{})
	require.Contains(t, decision.Denials[0].Words, "the request's own deadline passed")
	require.Equal(t, "timeout", decision.Denials[0].Limit)
	require.Empty(t, snapshot.ReachedLimits(time.Time{}), "the review was slow, not the policy")
}

func TestRequiresReadsClusterObjects(t *testing.T) {
	set := compile(t, `# METADATA
# custom:
#   requires: [{group: networking.k8s.io, kind: Ingress}]
package p
deny contains ns if { some ns, _ in data.cluster["Ingress.networking.k8s.io"]; not data.cluster[concat("", ["Sec", "ret"])] }`)
	snapshot := snapshotOf(set)
	cluster, err := clusterdata.New([]jsonRaw{
		jsonRaw(`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"a","namespace":"shop","managedFields":[]}}`),
		jsonRaw(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"shop"}}`),
	})
	require.NoError(t, err)

	decision := snapshot.Validate(context.Background(), makeReview(t, pod), Options{Cluster: cluster})
	require.Equal(t, []string{"shop|deny|5"}, short(decision.Denials), "kinds that are not required must not be seen")

	decision = snapshot.Validate(context.Background(), makeReview(t, pod), Options{Offline: true})
	require.Equal(t, []Undecided{{"p", "it requires cluster objects (Ingress.networking.k8s.io)"}}, decision.Undecided)
	require.True(t, decision.Allowed())

	decision = snapshot.Validate(context.Background(), makeReview(t, pod), Options{})
	require.True(t, decision.Denials[0].Error, "without the objects, in a cluster, it fails closed")
}

func TestDeletionIsNeverHeldUp(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"no\"\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": \"y\"}")
	old := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","deletionTimestamp":"2026-01-01T00:00:00Z","resourceVersion":"1","finalizers":["a","b"]},"spec":{"x":1}}`
	cases := map[string]struct {
		object string
		denied bool
	}{
		"removes a finalizer":                {strings.Replace(strings.Replace(old, `["a","b"]`, `["a"]`, 1), `"1"`, `"2"`, 1), false},
		"removes all":                        {strings.Replace(old, `"finalizers":["a","b"]`, `"generation":2`, 1), false},
		"removes one and changes the spec":   {strings.NewReplacer(`["a","b"]`, `["a"]`, `{"x":1}`, `{"x":2}`).Replace(old), true},
		"swaps one for another":              {strings.Replace(old, `["a","b"]`, `["c"]`, 1), true},
		"changes nothing":                    {old, true},
		"removes one and changes the labels": {strings.Replace(old, `["a","b"]`, `["a"],"labels":{"a":"b"}`, 1), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			review := makeReview(t, c.object, operation("UPDATE"), field("oldObject", jsonRaw(old)))
			decision := snapshotOf(set).Validate(context.Background(), review, Options{})
			require.Equal(t, !c.denied, decision.Allowed())
			require.Empty(t, snapshotOf(set).Mutate(context.Background(), review, Options{}).Patch)
		})
	}
}

func TestAPolicyThatSaysTooMuchIsCut(t *testing.T) {
	set := compile(t, "package p\nimport rego.v1\ndeny contains msg if { some i in numbers.range(1, 5000); msg := sprintf(\"%d\", [i]) }")
	decision := snapshotOf(set).Validate(context.Background(), makeReview(t, pod), Options{})
	require.Len(t, decision.Denials, MaxFindings+1)
	require.Equal(t, "and 4900 more|deny|3", short(decision.Denials)[MaxFindings])
}

// TestErrorsQuoteNoValues: the error of a function may quote the data of a Secret.
func TestErrorsQuoteNoValues(t *testing.T) {
	for _, body := range []string{
		`to_number(base64.decode(input.request.object.data.password))`,
		`time.parse_rfc3339_ns(base64.decode(input.request.object.data.password))`,
		`units.parse(base64.decode(input.request.object.data.password))`,
		`json.unmarshal(base64.decode(input.request.object.data.password))`,
		`net.cidr_contains(base64.decode(input.request.object.data.password), "10.0.0.1")`,
		`regex.match(concat("", ["(", base64.decode(input.request.object.data.password)]), "x")`,
		`semver.compare(base64.decode(input.request.object.data.password), "1.0.0")`,
		`time.parse_duration_ns(base64.decode(input.request.object.data.password))`,
	} {
		set := compile(t, "package p\nimport rego.v1\ndeny contains \"x\" if "+body)
		review := makeReview(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web"},"data":{"password":"SFVOVEVSMlZBTFVF"}}`)
		decision := snapshotOf(set).Validate(t.Context(), review, Options{})
		require.Len(t, decision.Denials, 1, body)
		require.True(t, decision.Denials[0].Error, body)
		require.NotContains(t, decision.Denials[0].Text(), "HUNTER2VALUE")
		require.Contains(t, decision.Denials[0].Text(), "cannot use its operand", body)
	}
}
