package gator

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

const celSamples = "testdata/cel"

// TestCELTemplates compares the answers of templates in CEL, with each number of violations in
// turn, and the public library's templates without their Rego.
func TestCELTemplates(t *testing.T) {
	gator := build(t, "gator", ".", "github.com/open-policy-agent/gatekeeper/v3/cmd/gator")
	lintel := build(t, "lintel", "../..", "./cmd/lintel")
	text, err := os.ReadFile(filepath.Join(celSamples, "suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for n := range 3 {
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(celSamples)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "suite.yaml"), violations.ReplaceAll(text, fmt.Appendf(nil, "${1}%d", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		passed += compareAll(t, ours(t, lintel, folder), theirs(t, gator, folder))
	}
	if cases := len(ours(t, lintel, celSamples)); cases < 10 || passed != cases {
		t.Errorf("of %d cases, %d have 0 to 2 violations", cases, passed)
	}
	library := os.Getenv(libraryVariable)
	if library == "" {
		return
	}
	folder := withoutRego(t, library)
	mine := ours(t, lintel, folder)
	if passed := compare(t, mine, theirs(t, gator, folder)); passed != len(mine) {
		t.Errorf("%d of %d cases of the library passed", passed, len(mine))
	}
}

// withoutRego copies the folders of a library whose templates have CEL, and removes their Rego.
func withoutRego(t *testing.T, library string) string {
	t.Helper()
	folder := t.TempDir()
	templates, err := filepath.Glob(filepath.Join(library, "*", "*", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range templates {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var template map[string]any
		if err := yaml.Unmarshal(text, &template); err != nil {
			t.Fatal(err)
		}
		if !keepCEL(template) {
			continue
		}
		relative, err := filepath.Rel(library, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(folder, relative)
		if err := os.CopyFS(to, os.DirFS(filepath.Dir(file))); err != nil {
			t.Fatal(err)
		}
		if text, err = yaml.Marshal(template); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, "template.yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// keepCEL removes the Rego of a template. It returns false if nothing is left.
func keepCEL(template map[string]any) (kept bool) {
	spec, _ := template["spec"].(map[string]any)
	targets, _ := spec["targets"].([]any)
	for _, one := range targets {
		target := one.(map[string]any)
		delete(target, "rego")
		delete(target, "libs")
		var code []any
		all, _ := target["code"].([]any)
		for _, engine := range all {
			if engine.(map[string]any)["engine"] == "K8sNativeValidation" {
				code = append(code, engine)
			}
		}
		target["code"], kept = code, len(code) > 0
	}
	return kept
}
