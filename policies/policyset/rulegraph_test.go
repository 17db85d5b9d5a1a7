package policyset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

func TestPoliciesThatReadTheNamespace(t *testing.T) {
	const lib = "package lib\ntier(x) := x.metadata.labels.tier\nown if input.namespace.metadata.name\nother := input.request.name"
	for name, c := range map[string]struct {
		policy string
		want   bool
	}{
		"field":                {`deny contains "x" if not input.namespace.metadata.labels.team`, true},
		"by a string":          {`deny contains "x" if not input["namespace"].metadata`, true},
		"import":               {"import input.namespace as ns\ndeny contains \"x\" if ns.metadata", true},
		"import of input":      {"import input as i\ndeny contains \"x\" if i.namespace", true},
		"import, other field":  {"import input as i\ndeny contains \"x\" if i.request.object", false},
		"whole input":          {`deny contains "x" if object.get(input, ["namespace", "kind"], "") == ""`, true},
		"whole, in a call":     {"f(x) := x.namespace\ndeny contains \"x\" if f(input)", true},
		"local variable":       {"deny contains \"x\" if {\n i := input\n i.namespace\n}", true},
		"computed field":       {"deny contains \"x\" if {\n some key in [\"name\"]\n input[key]\n}", true},
		"comprehension":        {`deny contains "x" if count([l | some l in input.namespace.metadata.labels]) > 0`, true},
		"else":                 {"a := 1 if { false } else := 2 if { input.namespace }\ndeny contains \"x\" if a == 2", true},
		"function argument":    {`deny contains "x" if data.lib.tier(input.namespace)`, true},
		"rule of a library":    {"import data.lib\ndeny contains \"x\" if lib.own", true},
		"computed library":     {"deny contains \"x\" if {\n some rule\n data.lib[rule]\n}", true},
		"warn":                 {`warn contains "x" if input.namespace`, true},
		"patch":                {`patch contains {"op": "add", "path": "/metadata/labels/a", "value": "b"} if input.namespace`, true},
		"another of a library": {"deny contains \"x\" if data.lib.other", false},
		"namespace's name":     {`deny contains "x" if input.request.namespace == "shop"`, false},
		"field of that name":   {`deny contains "x" if input.request.object.namespace`, false},
		"nothing":              {`deny contains "x" if input.name == "a"`, false},
		"iteration":            {`deny contains "x" if input.request.object.spec.containers[_].image == input.parameters.images[_]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := compileSource(t, definition.Source{Name: "s", Files: map[string]string{
				"policy.rego": "package p\n" + c.policy, "lib.rego": lib,
				"policy_test.rego": "package p_test\ntest_it if input.namespace",
			}})
			require.Equal(t, c.want, set.List()[0].ReadsNamespace)
		})
	}
}
