package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/record"
)

// TestMutatorsOfObjectsWithMaskedValues: only those that read a masked value are undecided.
func TestMutatorsOfObjectsWithMaskedValues(t *testing.T) {
	t.Parallel()
	assign := func(location string) map[string]string {
		return map[string]string{"m.yaml": "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: a}\nspec:\n" +
			"  applyTo: [{groups: [\"\"], versions: [v1], kinds: [Pod]}]\n  location: \"" + location + "\"\n  parameters: {assign: {value: Always}}\n"}
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  Outcome
	}{
		"a mutator":                     {assign("spec.containers[name: *].imagePullPolicy"), PatchChanged},
		"a mutator of the masked value": {assign("spec.containers[name: *].env[name: A].value"), Undecided},
		"a policy":                      {policy(`defaults := {"spec": {"hostNetwork": false}}`), PatchChanged},
		"a policy that reads it":        {policy(`patch contains {"op": "add", "path": "/spec/x", "value": 1} if input.request.object.spec.containers[0].env[0].value == "x"`), Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := policyset.Compile(definition.Source{Name: "s", Revision: "r", Files: test.files}, gatekeeper.Dialect)
			require.NoError(t, err)
			r := recorded(t, nil, "mutate/policies-fail", podRequest("u", "nginx"), epoch)
			r.Masked = []string{"/object/spec/containers/0/env/0/value"}
			result, err := New(engine.NewSnapshot(admission.BuiltinResources(), set), nil, time.Now()).Evaluate(t.Context(), &Request{"u", []*record.Record{r}})
			require.NoError(t, err)
			require.Equal(t, test.want, result.Outcome, "%v", result.Undecided)
		})
	}
}
