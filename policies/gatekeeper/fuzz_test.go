package gatekeeper

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lintel-policy/lintel/policies/definition"
)

// FuzzRead: any file is either read or refused with a location in the file, with the same result
// each time.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"template.yaml", "constraint.yaml"} {
		files, err := filepath.Glob("../../config/samples/gatekeeper/*/" + pattern)
		if err != nil || len(files) < 30 {
			f.Fatalf("%d seeds: %v", len(files), err)
		}
		for _, file := range files[:10] {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Add(makeTemplate("X", denyAll) + "---\n" + makeConstraint("X", "a", "{match: {namespaces: ['a*']}}") + "---\n" + expansionTemplates)
	f.Add("apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nspec: {sync: {syncOnly: [{kind: Pod}]}, match: [{processes: ['*'], excludedNamespaces: [a]}]}\n")
	f.Add("kind: List\nitems: [{apiVersion: templates.gatekeeper.sh/v1, kind: ConstraintTemplate}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		files := map[string]string{"f.yaml": text}
		templates, errs := Dialect(files)
		again, errsAgain := Dialect(files)
		if len(templates) != len(again) || len(errs) != len(errsAgain) {
			t.Fatalf("%d templates and %d errors, then %d and %d", len(templates), len(errs), len(again), len(errsAgain))
		}
		for i, err := range errs {
			if err.File != "f.yaml" || err.Message == "" || err != errsAgain[i] {
				t.Fatalf("an error without a place, or another the second time: %#v", err)
			}
		}
		for _, template := range templates {
			for _, c := range template.Constraints {
				if c.Admission.Matches == nil || c.Parameters == nil || c.Name == "" {
					t.Fatalf("an unfinished constraint: %#v", c)
				}
				c.Admission.Matches(definition.Subject{Kind: pod, Name: "a", Namespace: "b"})
			}
		}
	})
}
