package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

const (
	exitAllowed = int(report.Allowed)
	exitDenied  = int(report.Denied)
	exitError   = int(report.Error)
)

// result is the output and the exit code of one command line.
type result struct {
	code           int
	stdout, stderr string
}

// lintel runs a command line in this process.
func lintel(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"lintel"}, args...), strings.NewReader(stdin), &stdout, &stderr)
	return result{int(code), stdout.String(), stderr.String()}
}

// folder writes files, by their slash-separated paths, into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

func TestRoot(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"no command":      {nil, 0, "lintel check -p policies/ -f deployment.yaml", ""},
		"help":            {[]string{"check", "--help"}, 0, "Exit codes:", ""},
		"unknown command": {[]string{"chek"}, 2, "", "lintel: there is no command \"chek\"; did you mean check?\nlintel: see 'lintel --help'\n"},
		"nothing near":    {[]string{"frobnicate"}, 2, "", "lintel: there is no command \"frobnicate\"\nlintel: see 'lintel --help'\n"},
		"subcommand":      {[]string{"policy", "lnt"}, 2, "", "lintel: there is no command \"lnt\"; did you mean lint?\nlintel: see 'lintel policy --help'\n"},
		"places changed":  {[]string{"policy", "tset"}, 2, "", "lintel: there is no command \"tset\"; did you mean test?\n"},
		"with its flags":  {[]string{"chek", "-p", "x", "--file", "y"}, 2, "", "lintel: there is no command \"chek\"; did you mean check?\n"},
		"of policies":     {[]string{"lint", "-p", "x"}, 2, "", "lintel: there is no command \"lint\"; did you mean policy lint?\n"},
		"its subcommand":  {[]string{"policy", "lnt", "-p", "x"}, 2, "", "lintel: there is no command \"lnt\"; did you mean lint?\n"},
		"unknown flag":    {[]string{"check", "--polices", "x"}, 2, "", "lintel: unknown flag: --polices; did you mean --policies?\nlintel: see 'lintel check --help'\n"},
		"version":         {[]string{"version"}, 0, "lintel ", ""},
		"version flag":    {[]string{"--version"}, 0, "lintel ", ""},
		"version of what": {[]string{"version", "x"}, 2, "", "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			got := lintel(t, "", test.args...)
			assert.Equal(t, test.code, got.code)
			assert.Contains(t, got.stdout, test.stdout)
			assert.Contains(t, got.stderr, test.stderr)
			if test.code == 2 {
				assert.Empty(t, got.stdout)
			} else {
				assert.Empty(t, got.stderr)
			}
		})
	}
}

func TestPluginSaysHowItIsTyped(t *testing.T) {
	for _, args := range [][]string{{}, {"check"}, {"policy", "lint"}, {"why"}, {"prove"}, {"source"}} {
		var stdout, stderr bytes.Buffer
		require.Zero(t, run(t.Context(), append(append([]string{"/usr/bin/kubectl-lintel.exe"}, args...), "--help"), nil, &stdout, &stderr))
		assert.Contains(t, stdout.String(), "  kubectl lintel ")
		assert.NotRegexp(t, `(^|[^l] )lintel (check|policy|prove|source|why|version)`, stdout.String(), args)
		assert.NotContains(t, stdout.String(), "completion ")
	}
}

func TestPluginNamesItselfAsKubectlRunsIt(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"/usr/bin/kubectl-lintel", "check"}, nil, &stdout, &stderr)
	assert.Equal(t, report.Error, code)
	assert.Contains(t, stderr.String(), "see 'kubectl lintel check --help'")
}

// TestMain makes the test binary its own compiler and tester, and the program itself where
// it is called by one of its names.
func TestMain(m *testing.M) {
	if strings.Contains(filepath.Base(os.Args[0]), "lintel") && !strings.HasSuffix(os.Args[0], ".test") {
		main()
	}
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case source.CompileArgument:
			os.Exit(source.CompileChild(os.Stdin, os.Stdout, os.Stderr))
		case origin.FetchArgument:
			os.Exit(origin.FetchChild(os.Stdin, os.Stdout, os.Stderr))
		case source.TestArgument:
			os.Exit(source.TestChild(os.Stdin, os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}
