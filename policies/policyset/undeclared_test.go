package policyset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

func TestReadsOfKindsThatAreNotRequired(t *testing.T) {
	const header = "# METADATA\n# custom:\n#   requires: [{group: networking.k8s.io, kind: Ingress}]\n"
	for name, c := range map[string]struct {
		rego string
		want string // empty: it compiles
	}{
		"required":          {header + "package p\ndeny contains \"x\" if data.cluster[\"Ingress.networking.k8s.io\"].shop", ""},
		"dynamic":           {header + "package p\ndeny contains \"x\" if data.cluster[input.name]", ""},
		"imported":          {header + "package p\nimport data.cluster as k8s\ndeny contains \"x\" if k8s[\"Ingress.networking.k8s.io\"].shop", ""},
		"core kind":         {header + "package p\ndeny contains \"x\" if data.cluster.Secret.shop", `policy.rego:5:22: data.cluster["Secret"] is not required by any policy of this source; add {group: "", kind: Secret} to custom.requires in the METADATA of the package`},
		"kind of a group":   {"package p\ndeny contains \"x\" if data.cluster[\"Route.gateway.networking.k8s.io\"]", `policy.rego:2:22: data.cluster["Route.gateway.networking.k8s.io"] is not required by any policy of this source; add {group: "gateway.networking.k8s.io", kind: Route} to custom.requires`},
		"through an import": {header + "package p\nimport data.cluster as k8s\ndeny contains \"x\" if k8s.Secret.shop", `policy.rego:6:22: data.cluster["Secret"] is not required`},
		"in another rule":   {header + "package p\ndeny contains \"x\" if f(1)\nf(_) if not data.cluster.Secret", `policy.rego:6:13: data.cluster["Secret"] is not required`},
		"written otherwise": {header + "package p\ndeny contains \"x\" if data.cluster[\"networking.k8s.io/Ingress\"]", `policy.rego:5:22: data.cluster["networking.k8s.io/Ingress"] names no kind: write Kind.group`},
		"with a version":    {"# METADATA\n# custom:\n#   requires: [{group: \"\", version: v1, kind: Pod}]\npackage p\ndeny contains \"x\"", "custom.requires[0]: leave out version"},
		"of a library":      {header + "package p\nf := 1", "policy.rego:4:1: package p requires cluster objects but has none of deny"},
		"a package there":   {"package cluster.p\ndeny contains \"x\"", "policy.rego:1:1: packages under data.cluster are reserved; rename the package"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(definition.Source{Name: "test", Files: map[string]string{"policy.rego": c.rego}})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Len(t, err, 1, "each is said once")
		})
	}
}

func TestRequiresListsEachKindOnce(t *testing.T) {
	set := compileSource(t, definition.Source{Name: "test", Files: map[string]string{
		"a.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Pod}, {group: networking.k8s.io, kind: Ingress}]\npackage a\ndeny contains \"x\"",
		"b.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Pod}]\npackage b\ndeny contains \"x\"",
	}})
	require.Equal(t, []admission.GroupVersionKind{{Group: "networking.k8s.io", Kind: "Ingress"}, {Kind: "Pod"}}, set.Requires())
}
