package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// TestWrongReferencesAreRejected: by the schemas of the cluster itself.
func TestWrongReferencesAreRejected(t *testing.T) {
	t.Parallel()
	policy := func(kind, rego string) string {
		return installation.PolicySource("references", map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [" + kind + "]}\npackage p\nimport rego.v1\ndeny contains \"x\" if { input.name == \"no such\"; " + rego + " }"}, nil)
	}
	const (
		pod    = `{group: "", kind: Pod}`
		source = `{group: policy.lintel.dev, kind: PolicySource}`
		other  = `{group: example.com, kind: Other}`
	)
	for name, c := range map[string]struct{ kind, rego, want string }{
		"built in":    {pod, "input.request.object.spec.containter", "p.rego:6:49: input.request.object.spec.containter is in none of the kinds that policy p matches (Pod); did you mean containers?"},
		"alias":       {pod, "some c in input.request.object.spec.containers; c.imagee", "c.imagee is in none of the kinds that policy p matches (Pod); did you mean image?"},
		"custom":      {source, "input.request.object.spec.inlin", "(PolicySource.policy.lintel.dev); did you mean inline?"},
		"metadata":    {source, "input.request.object.metadata.label", "did you mean labels?"},
		"right":       {pod, "input.request.object.spec.containers[_].resources.limits.cpu.x", ""},
		"custom one":  {source, "input.request.object.spec.parameters.any.thing", ""},
		"one of two":  {pod + ", " + source, "input.request.object.spec.inline", ""},
		"none of two": {pod + ", " + source, "input.request.object.spec.inlin", "did you mean inline?"},
		"no schema":   {pod + ", " + other, "input.request.object.spec.inlin", ""},
	} {
		t.Run(name, func(t *testing.T) {
			output, ok := kubectl(t, policy(c.kind, c.rego), "apply", "--dry-run=server", "-f", "-")
			require.Equal(t, c.want == "", ok, output)
			require.Contains(t, output, c.want)
		})
	}
}
