package cel_test

import (
	"testing"

	"github.com/lintel-policy/lintel/policies/cel"
)

// FuzzDialect: any file is either read or refused with a location in the file, with the same result
// each time.
func FuzzDialect(f *testing.F) {
	f.Add(vap("  validations: [{expression: 'object.data.a == \"x\"'}]") + bound(denies))
	f.Add(vap("  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations: [{expression: 'params == null'}]") + bound(denies+"  paramRef: {name: x, parameterNotFoundAction: Deny}\n"))
	f.Add("kind: List\napiVersion: v1\nitems: [{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		files := map[string]string{"f.yaml": text}
		templates, errs := cel.Dialect(files)
		again, errsAgain := cel.Dialect(files)
		if len(templates) != len(again) || len(errs) != len(errsAgain) {
			t.Fatalf("%d templates and %d errors, then %d and %d", len(templates), len(errs), len(again), len(errsAgain))
		}
		for i, err := range errs {
			if err.File != "f.yaml" || err.Message == "" || err != errsAgain[i] {
				t.Fatalf("an error without a location, or another one the second time: %#v", err)
			}
		}
	})
}
