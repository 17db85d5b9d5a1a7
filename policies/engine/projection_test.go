//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/test/properties"
)

// readingServices is a policy that requires Services.
func readingServices(rego string) definition.Source {
	return definition.Source{Name: "s", Files: map[string]string{"p.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Service}]\npackage p\nimport rego.v1\n" + rego}}
}

var services = admission.GroupVersionKind{Kind: "Service"}

// TestAPolicyIsNotAskedWithoutWhatItReads: objects that are held for other policies may
// lack it.
func TestAPolicyIsNotAskedWithoutWhatItReads(t *testing.T) {
	set, err := policyset.Compile(readingServices(`deny contains "x" if data.cluster.Service["n"]["a"].spec.type == "x"`))
	require.NoError(t, err)
	other, err := policyset.Compile(readingServices(`deny contains "x" if data.cluster.Service["n"]["a"].metadata == "x"`))
	require.NoError(t, err)
	for _, c := range []struct {
		fields *clusterdata.Fields
		denied bool
	}{{nil, false}, {set.Projection()[services], false}, {other.Projection()[services], true}} {
		data := clusterdata.Empty().With(clusterdata.Change{Kind: services, Fields: c.fields})
		decision := snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{Cluster: data})
		require.Equal(t, c.denied, !decision.Allowed())
	}
}

// TestProjectionChangesNoDecision for random policies and objects.
func TestProjectionChangesNoDecision(t *testing.T) {
	t.Parallel()
	policies := properties.Count(200, 3000)
	random := rand.New(rand.NewPCG(properties.Seed(2), 71))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	var path func(int) string
	path = func(depth int) string {
		if depth == 0 {
			return ""
		}
		return pick(".a", ".b", `["c"]`, "[_]", "[0]", "[k]", `["a"]`) + path(depth-1)
	}
	value := func(on string) string {
		return fmt.Sprintf(pick("%s", "%s == 1", "count(%s) > 1", "not %s", "is_object(%s)", "%s == input.parameters.x", "object.get(%s, \"a\", 1) == 1", "json.marshal(%s) != \"{}\""), on)
	}
	body := func() string {
		root := pick(`data.cluster.Service["n"]["o"]`, `data.cluster.Service[_]["o"]`, `data.cluster.Service["n"][_]`, `data.cluster[_]["n"]["o"]`)
		some := func() string { return path(1 + random.IntN(3)) }
		return pick(
			"some k in [\"a\", \"b\"]; "+strings.TrimPrefix(value(root+some()), "not "),
			"some k in [\"a\", 0]; x := "+root+some()+"; "+value("x"+some()),
			"some k in [\"a\", 1]; x := "+root+"; y := x"+some()+"; "+value("y"+some())+"; "+value("x"+some()),
			"some k in [\"b\"]; some x in "+root+some()+"; "+value("x"+some()),
			"some k in [\"b\"]; z := [x | some x in "+root+some()+"; x"+some()+"]; count(z) > 1",
			"some k in [\"a\"]; every x in "+root+some()+" { x"+some()+" }",
			"some k in [\"a\"]; helper("+root+some()+"); k",
			"some k in [\"c\"]; x := ["+root+some()+", 1]; "+value("x[0]"+some()),
			"some k, x in "+root+"; "+value("x"+some()),
		)
	}
	var object func(int) any
	object = func(depth int) any {
		switch n := random.IntN(7); {
		case depth == 0 || n == 0:
			return []any{1, "x", true, nil, false}[random.IntN(5)]
		case n == 1:
			return []any{object(depth - 1), object(depth - 1)}
		default:
			fields := map[string]any{}
			for _, name := range []string{"a", "b", "c", "d"} {
				if random.IntN(3) > 0 {
					fields[name] = object(depth - 1)
				}
			}
			return fields
		}
	}
	compiled, denied, smaller := 0, 0, 0
	for range policies {
		set, err := policyset.Compile(readingServices("helper(x) if x.a == 1\nhelper(x) if x[_].b\ndeny contains \"x\" if { " + body() + " }\ndeny contains \"y\" if { " + body() + " }"))
		if err != nil {
			continue // some bodies are unsafe, such as not x[_]
		}
		compiled++
		for range 4 {
			fields, ok := object(4).(map[string]any)
			if !ok {
				continue
			}
			fields["apiVersion"], fields["kind"], fields["metadata"] = "v1", "Service", map[string]any{"namespace": "n", "name": "o"}
			raw, err := json.Marshal(fields)
			require.NoError(t, err)
			decide := func(fields *clusterdata.Fields) ([]string, int) {
				made, err := clusterdata.NewProjectedObject(raw, fields)
				require.NoError(t, err)
				data := clusterdata.Empty().With(clusterdata.Change{Kind: services, Fields: fields, Objects: map[clusterdata.Key]*clusterdata.DecodedObject{made.Key(): made}})
				return denials(snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{Cluster: data})), data.Sizes()[0].Bytes
			}
			whole, size := decide(nil)
			projected, less := decide(set.Projection()[services])
			require.Equal(t, whole, projected, "%s\n%s", set.Files()["p.rego"], raw)
			if len(whole) > 0 {
				denied++
			}
			if less < size*3/4 {
				smaller++
			}
		}
	}
	t.Logf("of %d policies %d compile; %d objects are denied, %d are smaller", policies, compiled, denied, smaller)
	require.Greater(t, compiled, policies/3)
	require.Greater(t, denied, policies/6)
	require.Greater(t, smaller, policies/6)
}
