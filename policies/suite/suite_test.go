package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

const template = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: onlyteams
spec:
  crd:
    spec:
      names: {kind: OnlyTeams}
      validation:
        openAPIV3Schema:
          type: object
          properties:
            teams: {type: array, items: {type: string}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package onlyteams

        violation[{"msg": msg}] {
          team := input.review.object.metadata.labels.team
          not known(team)
          print("asked about", team)
          msg := sprintf("there is no team %v", [team])
        }

        violation[{"msg": "there is no team at all"}] {
          not input.review.object.metadata.labels.team
        }

        known(team) {
          team == input.parameters.teams[_]
        }

        violation[{"msg": msg, "details": {"other": other}}] {
          other := data.inventory.namespace[input.review.object.metadata.namespace]["v1"]["ConfigMap"][_]
          other.data.owner != input.review.object.metadata.labels.team
          msg := "this namespace has another owner"
        }
`

const constraint = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: OnlyTeams
metadata: {name: known}
spec:
  enforcementAction: dryrun
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
  parameters: {teams: [blue, green]}
`

func pod(labels string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {" + labels + "}}\n"
}

func suiteOf(tests string) string {
	return "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\nmetadata: {name: teams}\ntests:\n" + tests
}

func gatekeeperFiles(tests string) map[string]string {
	return map[string]string{
		"template.yaml":      template,
		"constraint.yaml":    constraint,
		"tests/suite.yaml":   suiteOf(tests),
		"tests/blue.yaml":    pod("team: blue"),
		"tests/red.yaml":     pod("team: red"),
		"tests/none.yaml":    pod(""),
		"tests/owners.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {owner: green}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\ndata: {owner: red}\n",
		"tests/invalid.yaml": strings.Replace(constraint, "[blue, green]", "blue", 1),
	}
}

const oneTest = "- {name: known, template: ../template.yaml, constraint: ../constraint.yaml, cases: [%s]}\n"

func run(t *testing.T, files map[string]string, options Options) Results {
	t.Helper()
	results, err := Run(t.Context(), definition.Source{Name: "s", Files: files}, options)
	require.NoError(t, err)
	return results
}

func TestSuites(t *testing.T) {
	for name, test := range map[string]struct {
		cases   string
		outcome Outcome
		message string
	}{
		"violations are the default": {"{name: c, object: red.yaml, assertions: [{}]}", Passed, ""},
		"yes":                        {"{name: c, object: red.yaml, assertions: [{violations: yes}]}", Passed, ""},
		"quoted yes":                 {"{name: c, object: red.yaml, assertions: [{violations: \"yes\"}]}", Passed, ""},
		"yes but none":               {"{name: c, object: blue.yaml, assertions: [{violations: yes}]}", Failed, "violations: want at least one, found 0 of: no violation at all"},
		"no":                         {"{name: c, object: blue.yaml, assertions: [{violations: no}]}", Passed, ""},
		"no but one":                 {"{name: c, object: red.yaml, assertions: [{violations: no}]}", Failed, `violations: want none, found 1 of: "there is no team red"`},
		"one":                        {"{name: c, object: none.yaml, assertions: [{violations: 1}]}", Passed, ""},
		"another number":             {"{name: c, object: none.yaml, assertions: [{violations: 2}]}", Failed, "want 2, found 1"},
		"message":                    {"{name: c, object: red.yaml, assertions: [{message: \"team r.d$\"}]}", Passed, ""},
		"another message":            {"{name: c, object: red.yaml, assertions: [{message: \"team blue\"}]}", Failed, `with a message like "team blue": want at least one, found 0`},
		"all assertions":             {"{name: c, object: red.yaml, assertions: [{violations: yes}, {violations: 3}]}", Failed, "want 3"},
		"inventory":                  {"{name: c, object: blue.yaml, inventory: [owners.yaml], assertions: [{violations: 2, message: another owner}]}", Passed, ""},
		"skipped":                    {"{name: c, object: nowhere.yaml, skip: true}", Skipped, ""},
		"no such object":             {"{name: c, object: nowhere.yaml, assertions: [{}]}", Errored, "tests/nowhere.yaml is not among the files of the source"},
		"several objects":            {"{name: c, object: owners.yaml, assertions: [{}]}", Errored, "tests/owners.yaml holds 2 objects"},
		"no assertions":              {"{name: c, object: blue.yaml}", Errored, "it has no assertions"},
		"bad number":                 {"{name: c, object: blue.yaml, assertions: [{violations: many}]}", Failed, `violations is "many"`},
		"bad expression":             {"{name: c, object: blue.yaml, assertions: [{message: \"(\"}]}", Failed, "message is not a regular expression"},
	} {
		t.Run(name, func(t *testing.T) {
			results := run(t, gatekeeperFiles(strings.Replace(oneTest, "%s", test.cases, 1)), Options{})
			require.Len(t, results.Cases, 1)
			require.Equal(t, test.outcome, results.Cases[0].Outcome, results.Cases[0].Message)
			require.Contains(t, results.Cases[0].Message, test.message)
			require.Equal(t, 1, results.Totals.Suites)
			require.Equal(t, 1, results.Totals.Tests)
		})
	}
}

func TestTestsOfASuite(t *testing.T) {
	for name, test := range map[string]struct {
		test    string
		outcome Outcome
		message string
	}{
		"invalid":         {"- {name: t, template: ../template.yaml, constraint: invalid.yaml, invalid: true}\n", Passed, ""},
		"not invalid":     {"- {name: t, template: ../template.yaml, constraint: ../constraint.yaml, invalid: true}\n", Failed, "the constraint is valid"},
		"wrong schema":    {"- {name: t, template: ../template.yaml, constraint: invalid.yaml}\n", Errored, "spec.parameters"},
		"no template":     {"- {name: t, constraint: ../constraint.yaml}\n", Errored, "names no template"},
		"lost constraint": {"- {name: t, template: ../template.yaml, constraint: x.yaml}\n", Errored, "constraint tests/x.yaml is not among the files"},
		"no constraint":   {"- {name: t, template: ../template.yaml, constraint: ../template.yaml}\n", Errored, "holds 0 constraints"},
		"skipped":         {"- {name: t, skip: true}\n", Skipped, ""},
	} {
		t.Run(name, func(t *testing.T) {
			results := run(t, gatekeeperFiles(test.test), Options{})
			require.Len(t, results.Cases, 1)
			require.Equal(t, test.outcome, results.Cases[0].Outcome, results.Cases[0].Message)
			require.Contains(t, results.Cases[0].Message, test.message)
		})
	}
}

func TestAMisspelledSuiteIsAnError(t *testing.T) {
	_, err := Run(t.Context(), definition.Source{Files: gatekeeperFiles(strings.Replace(oneTest, "%s", "{name: c, object: red.yaml, asertions: []}", 1))}, Options{})
	require.ErrorContains(t, err, "tests/suite.yaml:1: the Suite cannot be read")
	require.ErrorContains(t, err, "asertions")
}

func TestRegoTests(t *testing.T) {
	results := run(t, map[string]string{
		"p.rego": "package p\n\nimport rego.v1\n\ndeny contains \"no\" if input.x == data.limits.max\n\ndeny contains \"never\" if input.y\n",
		"p_test.rego": `package p_test

import rego.v1

test_denied if { print("looking"); count(data.p.deny) == 1 with input as {"x": 7} }
test_wrong if count(data.p.deny) == 5
test_broken if { to_number("x"); true }
todo_test_later if false
`,
		"limits/data.yaml": "max: 7\n",
	}, Options{Coverage: true})
	require.Equal(t, Totals{Suites: 1, Tests: 4, Cases: 4, Passed: 1, Failed: 2, Skipped: 1}, results.Totals)
	require.Equal(t, Passed, results.Cases[0].Outcome, results.Cases[0].Message)
	require.Equal(t, "looking\n", results.Cases[0].Output)
	require.Equal(t, 5, results.Cases[0].Line)
	require.Equal(t, Failed, results.Cases[1].Outcome)
	require.Equal(t, Errored, results.Cases[2].Outcome)
	require.Contains(t, results.Cases[2].Message, "to_number")
	require.Equal(t, Skipped, results.Cases[3].Outcome)
	require.Len(t, results.Coverage, 1)
	require.Equal(t, []Lines{{7, 7}}, results.Coverage[0].NotCovered)
}

func TestCoverageOfTemplates(t *testing.T) {
	results := run(t, gatekeeperFiles(strings.Replace(oneTest, "%s", "{name: c, object: red.yaml, assertions: [{}]}", 1)), Options{Coverage: true})
	require.Equal(t, "asked about red\n", results.Cases[0].Output)
	require.Len(t, results.Coverage, 1)
	require.Equal(t, "template.yaml", results.Coverage[0].File)
	uncovered := results.Coverage[0].NotCovered
	require.NotEmpty(t, uncovered)
	require.Equal(t, 26, uncovered[0].From, "the rule about no team, by the lines of the YAML file")
}

func TestWhatIsPrintedIsBounded(t *testing.T) {
	results := run(t, map[string]string{"p_test.rego": "package p_test\n\nimport rego.v1\n\ntest_it if { some i in numbers.range(1, 5000); print(\"line\", i); i == 5000 }\n"}, Options{})
	require.Equal(t, Passed, results.Cases[0].Outcome, results.Cases[0].Message)
	require.Len(t, results.Cases[0].Output, MaxOutputBytes)
	require.True(t, strings.HasSuffix(results.Cases[0].Output, "(cut)"))
}

func TestASourceThatDoesNotCompile(t *testing.T) {
	for name, text := range map[string]string{
		"parse":   "package p_test\n}",
		"compile": "package p_test\n\nimport rego.v1\n\ntest_it if http.send({})",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run(t.Context(), definition.Source{Files: map[string]string{"p_test.rego": text}}, Options{})
			require.ErrorAs(t, err, new(definition.CompileErrorList))
			require.ErrorContains(t, err, "p_test.rego:")
		})
	}
}

// TestTestsThatReplaceMuch: rules that a test replaces are planned again for this test only, for
// any number of tests.
func TestTestsThatReplaceMuch(t *testing.T) {
	policy, tests := strings.Builder{}, strings.Builder{}
	policy.WriteString("package p\n\nimport rego.v1\n\nlimit := 1\n")
	for i := range 100 {
		fmt.Fprintf(&policy, "deny contains %d if input.x[%d] + limit == %d\n", i, i, i)
	}
	tests.WriteString("package p_test\n\nimport rego.v1\n\n")
	for i := range 100 {
		fmt.Fprintf(&tests, "test_%d if %d in data.p.deny with input.x as [0, 1, 2] with data.p.limit as %d\n", i, i%3, i%2)
	}
	results := run(t, map[string]string{"p.rego": policy.String(), "p_test.rego": tests.String()}, Options{Coverage: true})
	require.Equal(t, Totals{Suites: 1, Tests: 100, Cases: 100, Passed: 50, Failed: 50}, results.Totals)
	require.Equal(t, []Lines{{5, 5}, {9, 105}}, results.Coverage[0].NotCovered, "what is replaced, and the rules that never hold")
}

// TestATestThatGrows: a test that OPA would plan without end is refused with its location.
func TestATestThatGrows(t *testing.T) {
	tests := strings.Builder{}
	tests.WriteString("package p_test\n\nimport rego.v1\n\nf(x) := x\n\nh(x) := x\n\nr0 := f(1)\n")
	for i := range 40 {
		fmt.Fprintf(&tests, "r%d if {\n\tr%d with f as h\n\tr%d with h as f\n}\n", i+1, i, i)
	}
	tests.WriteString("test_it if r40\n")
	_, err := Run(t.Context(), definition.Source{Files: map[string]string{"p_test.rego": tests.String()}}, Options{})
	require.ErrorAs(t, err, new(definition.CompileErrorList))
	require.ErrorContains(t, err, "p_test.rego:")
	require.ErrorContains(t, err, "this reference is planned again")
}

// TestTestsHaveTheLimitsOfPolicies: of functions, of steps and of memory.
func TestTestsHaveTheLimitsOfPolicies(t *testing.T) {
	results := run(t, map[string]string{"p_test.rego": `package p_test

import rego.v1

many := numbers.range(1, 2000)

test_function if count(numbers.range(1, 3000000)) > 0
test_steps if { some i in many; some j in many; i + j < 0 }
test_bytes if count([[many, many] | some i in many]) > 0
`}, Options{})
	require.Len(t, results.Cases, 3)
	for i, want := range []string{"p_test.rego:7: eval_builtin_error: numbers.range: the range would have more than 50000 elements", "it took more than 1000000 steps", "it made values of more than 64 MiB"} {
		require.Equal(t, Errored, results.Cases[i].Outcome)
		require.Contains(t, results.Cases[i].Message, want)
	}
}
