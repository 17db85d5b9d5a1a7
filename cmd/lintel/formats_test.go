package main

import (
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// shopPods are a Pod that formatsPolicy denies and warns about, and one that it admits.
	shopPods      = "apiVersion: v1\nkind: Pod\nmetadata: {name: good, namespace: shop}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: bad, namespace: shop}\n"
	formatsPolicy = "# METADATA\n# title: Names are good\npackage names\n\ndeny contains {\"msg\": \"is bad\", \"field\": \"metadata.name\"} if input.name == \"bad\"\n\nwarn contains \"is near\" if input.name == \"bad\"\n"
)

// readSARIF reads a log that is as the schema of SARIF 2.1.0 has it.
func readSARIF(t *testing.T, text string) *sarif.Run {
	t.Helper()
	log, err := sarif.FromString(text)
	require.NoError(t, err)
	require.NoError(t, log.Validate())
	require.Equal(t, "2.1.0", log.Version)
	require.Len(t, log.Runs, 1)
	require.Equal(t, "lintel", *log.Runs[0].Tool.Driver.Name)
	require.NotNil(t, log.Runs[0].Results)
	return log.Runs[0]
}

// place is where a location of SARIF is, and the line there.
func place(t *testing.T, location *sarif.Location) (file string, line int) {
	t.Helper()
	require.NotNil(t, location.PhysicalLocation)
	return *location.PhysicalLocation.ArtifactLocation.URI, *location.PhysicalLocation.Region.StartLine
}

func TestCheckAsSARIF(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"rules/p.rego": formatsPolicy, "my shop/pods.yaml": shopPods}))
	got := lintel(t, "", "check", "-p", "rules", "-f", "my shop", "-o", "sarif")
	require.Equal(t, exitDenied, got.code, got.stderr)
	run := readSARIF(t, got.stdout)
	require.Len(t, run.Results, 2)
	denied, warned := run.Results[0], run.Results[1]
	assert.Equal(t, []string{"names/deny", "error", "fail"}, []string{*denied.RuleID, denied.Level, denied.Kind})
	assert.Equal(t, []string{"names/warn", "warning", "fail"}, []string{*warned.RuleID, warned.Level, warned.Kind})
	assert.Regexp(t, `^is bad \[names deny, p\.rego:5, rules@[0-9a-f]{12}\]\nfield metadata\.name$`, *denied.Message.Text)
	assert.Equal(t, "Pod shop/bad", *denied.Locations[0].LogicalLocations[0].FullyQualifiedName)
	file, line := place(t, denied.Locations[0])
	assert.Equal(t, "my%20shop/pods.yaml", file)
	assert.Equal(t, 5, line)
	file, line = place(t, denied.RelatedLocations[0])
	assert.Equal(t, "rules/p.rego", file)
	assert.Equal(t, 5, line)
	require.Len(t, run.Tool.Driver.Rules, 2)
	assert.Equal(t, "Names are good", *run.Tool.Driver.Rules[denied.RuleIndex].ShortDescription.Text)
}

func TestSARIFOfOtherPlaces(t *testing.T) {
	source := "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: team}\nspec:\n  inline:\n    files:\n      p.rego: |\n        " + strings.ReplaceAll(formatsPolicy, "\n", "\n        ")
	t.Chdir(folder(t, map[string]string{"team.yaml": "---\n" + source, "rules/p.rego": formatsPolicy, "pods.yaml": shopPods}))

	run := readSARIF(t, lintel(t, "", "check", "-p", "team.yaml", "-f", "pods.yaml", "-o", "sarif").stdout)
	file, line := place(t, run.Results[0].RelatedLocations[0])
	assert.Equal(t, "team.yaml", file, "a policy in a PolicySource stands where that does")
	assert.Equal(t, 2, line)

	whole, err := filepath.Abs("pods.yaml")
	require.NoError(t, err)
	run = readSARIF(t, lintel(t, "", "check", "-p", "rules", "-f", whole, "-o", "sarif").stdout)
	file, _ = place(t, run.Results[0].Locations[0])
	assert.Equal(t, "file://"+whole, file)

	run = readSARIF(t, lintel(t, shopPods, "check", "-p", "rules", "-f", "-", "-o", "sarif").stdout)
	assert.Nil(t, run.Results[0].Locations[0].PhysicalLocation, "standard input is no file")
	assert.Equal(t, "Pod shop/bad", *run.Results[0].Locations[0].LogicalLocations[0].FullyQualifiedName)

	run = readSARIF(t, lintel(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}\n", "check", "-p", "rules", "-f", "-", "-o", "sarif").stdout)
	assert.Equal(t, "api-server", *run.Results[0].RuleID)
	assert.Empty(t, run.Results[0].RelatedLocations)
}

func TestSARIFOfNothingAndOfTheUndecided(t *testing.T) {
	dir := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: ConfigMap}]\n" + formatsPolicy[strings.Index(formatsPolicy, "package"):]})
	got := lintel(t, shopPods, "check", "-p", dir, "-f", "-", "-o", "sarif")
	require.Equal(t, exitError, got.code, got.stderr)
	run := readSARIF(t, got.stdout)
	require.NotEmpty(t, run.Results)
	for _, result := range run.Results {
		assert.Equal(t, []string{"names", "none", "open"}, []string{*result.RuleID, result.Level, result.Kind})
	}

	dir = folder(t, map[string]string{"p.rego": formatsPolicy})
	got = lintel(t, strings.ReplaceAll(shopPods, "bad", "other"), "check", "-p", dir, "-f", "-", "-o", "sarif")
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, readSARIF(t, got.stdout).Results)
	require.Contains(t, got.stdout, `"results": []`)
}

func TestCheckAsJUnit(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"rules/p.rego": formatsPolicy, "pods.yaml": shopPods}))
	got := lintel(t, "apiVersion: app/v1\nkind: Deployment\nmetadata: {name: \"a\\u001b\"}\n", "check", "-p", "rules", "-f", "pods.yaml", "-f", "-", "-o", "junit")
	require.Equal(t, exitDenied, got.code, got.stderr)
	suites := readJUnit(t, got.stdout)
	require.Equal(t, []int{3, 1, 1}, []int{suites.Tests, suites.Failures, suites.Errors})
	require.Len(t, suites.Suites, 2)
	pods, input := suites.Suites[0], suites.Suites[1]
	assert.Equal(t, "pods.yaml", pods.Name)
	assert.Equal(t, "Pod shop/good", pods.Testcases[0].Name)
	assert.Nil(t, pods.Testcases[0].Failure)
	assert.Regexp(t, `^is bad \[names deny, `, pods.Testcases[1].Failure.Message)
	assert.Contains(t, pods.Testcases[1].SystemOut.Data, "is near [names warn, ")
	assert.Equal(t, "standard input", input.Name)
	assert.Equal(t, `Deployment default/a\x1b`, input.Testcases[0].Name)
	assert.Contains(t, input.Testcases[0].Error.Message, `did you mean kind Deployment in group "apps"?`)
}

func readJUnit(t *testing.T, text string) junit.Testsuites {
	t.Helper()
	require.True(t, strings.HasPrefix(text, xml.Header))
	var suites junit.Testsuites
	require.NoError(t, xml.Unmarshal([]byte(text), &suites))
	return suites
}

func TestPolicyTestInFormatsOfOthers(t *testing.T) {
	t.Chdir(folder(t, map[string]string{
		"rules/p.rego":      testedPolicy,
		"rules/p_test.rego": "package p_test\n\nimport rego.v1\n\ntest_it if true\n\ntest_wrong if {\n\tprint(\"at\", \"]]>\")\n\tfalse\n}\n\ntodo_test_later if false\n",
	}))
	got := lintel(t, "", "policy", "test", "rules", "-o", "sarif")
	require.Equal(t, exitDenied, got.code, got.stderr)
	run := readSARIF(t, got.stdout)
	require.Len(t, run.Results, 1)
	assert.Equal(t, []string{"policy-test", "error"}, []string{*run.Results[0].RuleID, run.Results[0].Level})
	assert.Equal(t, "p_test / test_wrong: it is not true", *run.Results[0].Message.Text)
	file, line := place(t, run.Results[0].Locations[0])
	assert.Equal(t, "rules/p_test.rego", file)
	assert.Equal(t, 7, line)

	got = lintel(t, "", "policy", "test", "rules", "-o", "junit")
	require.Equal(t, exitDenied, got.code, got.stderr)
	suites := readJUnit(t, got.stdout)
	require.Equal(t, []int{3, 1, 0, 1}, []int{suites.Tests, suites.Failures, suites.Errors, suites.Skipped})
	require.Len(t, suites.Suites, 1)
	assert.Equal(t, "rules/p_test.rego", suites.Suites[0].Name)
	for _, one := range suites.Suites[0].Testcases {
		assert.Equal(t, "p_test", one.Classname)
		if one.Name == "test_wrong" {
			assert.Equal(t, "it is not true", one.Failure.Message)
			assert.Equal(t, "at ]]>\n", one.SystemOut.Data)
		}
	}
}
