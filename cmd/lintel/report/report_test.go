package report

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFormatNamesItsChoices(t *testing.T) {
	for want, choices := range map[string][]string{
		"text or json":               {"text", "json"},
		"text, json, sarif or junit": {"text", "json", "sarif", "junit"},
	} {
		var format Format
		cmd := &cobra.Command{Use: "lintel"}
		format.AddFlag(cmd, choices...)
		require.NoError(t, format.Check(cmd), "the first is the default")
		require.True(t, format.Is(choices[0]))
		require.Equal(t, "`format` of the report: "+want, cmd.Flags().Lookup("output").Usage)
		require.NoError(t, cmd.Flags().Set("output", "yaml"))
		require.EqualError(t, format.Check(cmd), "--output yaml is not "+want+"\nsee 'lintel --help'")
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain ü 😀":    "plain ü 😀",
		"\x1b[2J":      `\x1b[2J`,
		"a\r\tb\u202e": `a\r\tb\u202e`,
		`"quoted" \ '`: `"quoted" \ '`,
	} {
		assert.Equal(t, want, Printable(text))
	}
}

func TestCounted(t *testing.T) {
	assert.Equal(t, []string{"0 rules", "1 rule", "2 rules"}, []string{Counted(0, "rule"), Counted(1, "rule"), Counted(2, "rule")})
	assert.Equal(t, "2 policies", CountedAs(2, "policy", "policies"))
}

// TestJUnitKeepsSuitesTogether: cases of one suite need not stand together.
func TestJUnitKeepsSuitesTogether(t *testing.T) {
	var out strings.Builder
	require.NoError(t, WriteJUnit(&out, []Case{
		{Suite: "a", Class: "c", Name: "first", Duration: 1500 * time.Millisecond},
		{Suite: "b", Name: "second", Exit: Denied, Messages: []string{"one\x00", "two"}},
		{Suite: "a", Name: "third", Exit: Unknown, Duration: time.Second, Messages: []string{"later"}},
	}))
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="lintel" tests="3" failures="1" skipped="1">
	<testsuite name="a" tests="2" failures="0" errors="0" id="0" skipped="1" time="2.500">
		<testcase name="first" classname="c" time="1.500"></testcase>
		<testcase name="third" classname="" time="1.000">
			<skipped message="later"><![CDATA[later]]></skipped>
		</testcase>
	</testsuite>
	<testsuite name="b" tests="1" failures="1" errors="0" id="1" time="0.000">
		<testcase name="second" classname="" time="0.000">
			<failure message="one\x00"><![CDATA[one\x00
two]]></failure>
		</testcase>
	</testsuite>
</testsuites>
`, out.String())
}
