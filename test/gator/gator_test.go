// Package gator compares the results of `lintel policy test` with those of Gatekeeper's own
// `gator verify`, case by case, on the same Suites. It is a module of its own, so that Lintel
// does not depend on Gatekeeper's dependencies.
package gator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const samples = "../../config/samples/gatekeeper"

// build builds a program of a module.
func build(t *testing.T, name, module, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	command := exec.CommandContext(t.Context(), "go", "build", "-o", program, pkg)
	command.Dir = module
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, output)
	}
	return program
}

// run gives what a program wrote. Its exit code says only whether tests failed.
func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	var failed *exec.ExitError
	if err := command.Run(); err != nil && (!errors.As(err, &failed) || failed.ExitCode() != 1) {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, stderr.Bytes())
	}
	return stdout.Bytes()
}

// results says of each case, by suite, test and name, whether it passed.
type results map[string]bool

func key(parts ...string) string { return strings.Join(parts, " / ") }

func ours(t *testing.T, lintel, folder string) results {
	t.Helper()
	var report struct {
		Cases []struct{ File, Test, Name, Outcome, Message string }
	}
	if err := json.Unmarshal(run(t, lintel, "policy", "test", folder, "-o", "json"), &report); err != nil {
		t.Fatal(err)
	}
	found := results{}
	for _, c := range report.Cases {
		if c.Outcome == "error" {
			t.Errorf("%s: %s", key(c.File, c.Test, c.Name), c.Message)
		}
		found[key(c.File, c.Test, c.Name)] = c.Outcome == "passed"
	}
	return found
}

var (
	caseLine  = regexp.MustCompile(`^    --- (PASS|FAIL|SKIP): (.*)\t\(`)
	testLine  = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (.*)\t\(`)
	suiteLine = regexp.MustCompile(`^(ok|FAIL)\s+(\S+suite\.yaml)\s`)
)

// theirs reads the report of gator, in which the cases come before the name of their
// test, and the tests before the file of their suite.
func theirs(t *testing.T, gator, folder string) results {
	t.Helper()
	found := results{}
	var cases, tests [][2]string // name, and whether it passed
	for line := range strings.Lines(string(run(t, gator, "verify", "--verbose", folder+"/..."))) {
		line = strings.TrimSuffix(line, "\n")
		if m := caseLine.FindStringSubmatch(line); m != nil {
			cases = append(cases, [2]string{m[2], m[1]})
		}
		if m := testLine.FindStringSubmatch(line); m != nil {
			for _, c := range cases {
				tests = append(tests, [2]string{key(m[2], c[0]), c[1]})
			}
			cases = nil
		}
		if m := suiteLine.FindStringSubmatch(line); m != nil {
			file, err := filepath.Rel(folder, m[2])
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range tests {
				found[key(filepath.ToSlash(file), test[0])] = test[1] == "PASS"
			}
			tests = nil
		}
	}
	return found
}

func compare(t *testing.T, mine, its results) (passed int) {
	t.Helper()
	if len(mine) < 100 {
		t.Fatalf("only %d cases were run", len(mine))
	}
	return compareAll(t, mine, its)
}

// compareAll returns how many cases passed in both.
func compareAll(t *testing.T, mine, its results) (passed int) {
	t.Helper()
	for name, outcome := range mine {
		other, run := its[name]
		switch {
		case !run:
			t.Errorf("%s: gator did not run it", name)
		case other != outcome:
			t.Errorf("%s: passed here: %v, by gator: %v", name, outcome, other)
		case outcome:
			passed++
		}
	}
	for name := range its {
		if _, run := mine[name]; !run {
			t.Errorf("%s: gator alone ran it", name)
		}
	}
	return passed
}

// libraryVariable names a folder of Gatekeeper's public library, as it is there.
const libraryVariable = "LINTEL_GATEKEEPER_LIBRARY"

// folders are those whose Suites must pass as they are: the samples, and the library
// where the environment names one.
func folders() []string {
	all := []string{samples}
	if library := os.Getenv(libraryVariable); library != "" {
		all = append(all, library)
	}
	return all
}

// TestWholeFolders has every Suite pass as it does by gator, and the folder itself taken
// as one source, without and within a PolicySource.
func TestWholeFolders(t *testing.T) {
	gator := build(t, "gator", ".", "github.com/open-policy-agent/gatekeeper/v3/cmd/gator")
	lintel := build(t, "lintel", "../..", "./cmd/lintel")
	object := filepath.Join(t.TempDir(), "configmap.yaml")
	if err := os.WriteFile(object, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders() {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			mine := ours(t, lintel, folder)
			if passed := compare(t, mine, theirs(t, gator, folder)); passed != len(mine) {
				t.Errorf("%d of %d cases passed", passed, len(mine))
			}
			source := filepath.Join(t.TempDir(), "source.yaml")
			if err := os.WriteFile(source, run(t, lintel, "source", folder, "--name", "library"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, policies := range []string{folder, source} {
				answer := run(t, lintel, "check", "-p", policies, "--cluster", object, "-f", object)
				if !bytes.Contains(answer, []byte("1 object: ")) {
					t.Errorf("check with %s answered: %s", policies, answer)
				}
			}
		})
	}
}

var violations = regexp.MustCompile(`(?m)^( +- violations: ).*(\n +message: .*)?$`)

// TestSameResults also asks how many violations there are: with each number in turn
// in place of what the suites say, both must pass the same cases.
func TestSameResults(t *testing.T) {
	gator := build(t, "gator", ".", "github.com/open-policy-agent/gatekeeper/v3/cmd/gator")
	lintel := build(t, "lintel", "../..", "./cmd/lintel")
	mine := ours(t, lintel, samples)
	counted := 0
	for n := range 5 {
		t.Run(fmt.Sprintf("%d violations", n), func(t *testing.T) {
			folder := t.TempDir()
			if err := os.CopyFS(folder, os.DirFS(samples)); err != nil {
				t.Fatal(err)
			}
			suites, err := filepath.Glob(filepath.Join(folder, "*", "suite.yaml"))
			if err != nil || len(suites) < 30 {
				t.Fatalf("%d suites: %v", len(suites), err)
			}
			for _, suite := range suites {
				text, err := os.ReadFile(suite)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(suite, violations.ReplaceAll(text, fmt.Appendf(nil, "${1}%d", n)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			counted += compare(t, ours(t, lintel, folder), theirs(t, gator, folder))
		})
	}
	if counted != len(mine) {
		t.Errorf("of %d cases, %d have 0 to 4 violations", len(mine), counted)
	}
}
