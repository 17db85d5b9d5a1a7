package suite

import (
	"strings"
	"testing"

	"github.com/lintel-policy/lintel/policies/definition"
)

// FuzzSuites: a Suite is read, or refused with a place; each of its tests ends.
func FuzzSuites(f *testing.F) {
	f.Add(suiteOf(strings.Replace(oneTest, "%s", "{name: c, object: red.yaml, inventory: [owners.yaml], assertions: [{violations: 1, message: a}]}", 1)))
	f.Add(suiteOf("- {name: t, template: ../template.yaml, constraint: invalid.yaml, invalid: true}\n"))
	f.Add(suiteOf("- {skip: true}\n- {expansion: ../../x.yaml}\n"))
	f.Add("kind: Suite\napiVersion: test.gatekeeper.sh/v1alpha1\ntests: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		files := gatekeeperFiles("")
		files["tests/suite.yaml"] = text
		results, err := Run(t.Context(), definition.Source{Name: "s", Files: files}, Options{})
		if err != nil {
			return
		}
		if n := results.Totals; n.Passed+n.Failed+n.Skipped != n.Cases || len(results.Cases) != n.Cases {
			t.Fatalf("the totals do not add up: %+v", n)
		}
		for _, c := range results.Cases {
			if c.Failed() && c.Message == "" {
				t.Fatalf("a failure without a reason: %+v", c)
			}
		}
	})
}
