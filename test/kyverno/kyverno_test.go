// Package kyverno compares converted policies, and policies that Lintel evaluates as they are, with
// the kyverno command, object by object. It is a module of its own, so that Lintel does not depend
// on Kyverno's dependencies.
package kyverno

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// libraryVariable names a folder of policies that are compared in addition, such as Kyverno's
// public library.
const libraryVariable = "LINTEL_KYVERNO_POLICIES"

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

// report is the part of the report of `lintel convert kyverno` that the tests read.
type report struct {
	Converted, Refused []struct{ Name string }
	Comparisons        []struct {
		Policy, Error   string
		Objects, Denied int
		Differences     []struct {
			Rule, Kyverno, Lintel string
			Object                json.RawMessage
		}
	}
}

// convert runs the command. It exits with 1 if a policy is refused or differs.
func convert(t *testing.T, lintel, kyverno, folder string) (out report) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), lintel, "convert", "kyverno", folder, "-o", t.TempDir(), "--report", "json", "--kyverno", kyverno)
	command.Stdout, command.Stderr = &stdout, &stderr
	var failed *exec.ExitError
	if err := command.Run(); err != nil && (!errors.As(err, &failed) || failed.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestConvertedPoliciesDecideAsKyverno evaluates the policies with their own objects and with
// variations of them.
func TestConvertedPoliciesDecideAsKyverno(t *testing.T) {
	kyverno := build(t, "kyverno", ".", "github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno")
	lintel := build(t, "lintel", "../..", "./cmd/lintel")
	folders := []string{"policies"}
	if library := os.Getenv(libraryVariable); library != "" {
		folders = append(folders, library)
	}
	for _, folder := range folders {
		found := convert(t, lintel, kyverno, folder)
		t.Logf("%s: %d converted, %d refused", folder, len(found.Converted), len(found.Refused))
		if folder == "policies" && (len(found.Converted) != 5+6 || len(found.Refused) != 0) {
			t.Errorf("%+v and %+v", found.Converted, found.Refused)
		}
		for _, one := range found.Comparisons {
			if one.Error != "" {
				t.Errorf("%s: %s", one.Policy, one.Error)
			}
			if folder == "policies" && (one.Objects < 20 || one.Denied == 0 || one.Denied == one.Objects) {
				t.Errorf("%s: %d of %d objects are denied or changed, which compares nothing", one.Policy, one.Denied, one.Objects)
			}
			for _, difference := range one.Differences {
				t.Errorf("%s, rule %s: kyverno %q, lintel %q: %s", one.Policy, difference.Rule, difference.Kyverno, difference.Lintel, difference.Object)
			}
		}
	}
}
