package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

// readingServices is a policy that requires Services.
func readingServices(rego string) Source {
	return Source{Name: "s", Files: map[string]string{"p.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Service}]\npackage p\nimport rego.v1\n" + rego}}
}

var services = admission.GroupVersionKind{Kind: "Service"}

// text shows what is read: `{}` is only that it is there.
func (f *Fields) text() string {
	if f.isWhole() {
		return "all"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		parts = append(parts, name+":"+f.fields[name].text())
	}
	if f.each != nil {
		parts = append(parts, "*:"+f.each.text())
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func TestWhatPoliciesReadOfObjects(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"a field":             {`data.cluster.Service["n"]["a"].spec.type == "x"`, "{spec:{type:all}}"},
		"aliases":             {`some ns, all in data.cluster.Service; some o in all; s := o.spec; s.type == "x"`, "{spec:{type:all}}"},
		"a list":              {`some o in data.cluster.Service["n"]; some p in o.spec.ports; p.port > 3`, "{spec:{ports:{*:{port:all}}}}"},
		"a number":            {`data.cluster.Service["n"]["a"].spec.ports[0].port == 1`, "{spec:{ports:{*:{port:all}}}}"},
		"a comprehension":     {`count({o.metadata.name | some o in data.cluster.Service[_]}) > 1`, "{metadata:{name:all}}"},
		"two fields":          {`o := data.cluster.Service["n"][_]; o.spec.type == o.metadata.name`, "{metadata:{name:all} spec:{type:all}}"},
		"a field and each":    {`o := data.cluster.Service["n"][_]; o.metadata.labels.a == "x"; o.metadata.labels[_] == "y"`, "{metadata:{labels:{a:all *:all}}}"},
		"only whether it is":  {`data.cluster.Service["n"]["a"]; x := data.cluster.Service["n"]["b"]; y := x.spec; y.type`, "all"},
		"negation":            {`not data.cluster.Service["n"]["a"].spec.type`, "{spec:{type:all}}"},
		"keys alone":          {`some name; o := data.cluster.Service["n"][name]; name == "x"; o.kind`, "{kind:all}"},
		"in a call":           {`o := data.cluster.Service["n"]["a"]; count(o) > 1`, "all"},
		"part in a call":      {`o := data.cluster.Service["n"]["a"]; count(o.spec) > 1`, "{spec:all}"},
		"compared":            {`o := data.cluster.Service["n"]["a"]; o == input.request.object`, "all"},
		"two meanings":        {`o := [o | some o in [data.cluster.Service["n"]["a"]]][_]; o.spec.type == "x"`, "all"},
		"every":               {`every o in data.cluster.Service["n"] { o.spec.type == "x" }`, "all"},
		"walk":                {`walk(data.cluster.Service, [_, v]); v == "x"`, "all"},
		"to a function":       {`f(data.cluster.Service["n"]["a"])`, "all"},
		"part to a function":  {`f(data.cluster.Service["n"]["a"].spec)`, "{spec:all}"},
		"the whole kind":      {`count(data.cluster.Service) > 1`, "all"},
		"another name":        {`some kind; data.cluster[kind]["n"]["a"].spec.type == "x"`, "{spec:{type:all}}"},
		"all of data.cluster": {`count(data.cluster) > 1`, "all"},
		"all of data":         {`some x; data[x]["Service"]["n"]["a"].spec.type == "x"`, "{spec:{type:all}}"},
		"a message":           {`o := data.cluster.Service["n"]["a"]; sprintf("%v", [o]) == "x"`, "all"},
		"as a key":            {`o := data.cluster.Service["n"]["a"]; input.parameters[o]`, "all"},
		"an empty key":        {`data.cluster.Service["n"]["a"].metadata.labels[""] == "x"`, "{metadata:{labels:all}}"},
		"with":                {`x := data.cluster.Service["n"]["a"]; input.y == 1 with input as x`, "all"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Compile(readingServices("f(x) if x.type == \"x\"\ndeny contains \"x\" if { " + c.body + " }"))
			require.NoError(t, err)
			require.Equal(t, c.want, set.ClusterReads()[services].text())
		})
	}
}

func TestUnionAndCover(t *testing.T) {
	read := func(body string) *Fields {
		set, err := Compile(readingServices("deny contains \"x\" if { " + body + " }"))
		require.NoError(t, err)
		return set.ClusterReads()[services]
	}
	a := read(`data.cluster.Service["n"]["a"].spec.type == "x"`)
	b := read(`data.cluster.Service["n"]["a"].spec.ports[_].port == 1`)
	c := read(`data.cluster.Service["n"]["a"].spec[_] == "x"`)
	whole := read(`count(data.cluster.Service) > 1`)
	require.Equal(t, "{spec:{ports:{*:{port:all}} type:all}}", a.Union(b).text())
	for _, one := range []*Fields{a, b, c} {
		require.True(t, one.Covers(one))
		require.True(t, a.Union(b).Union(c).Covers(one))
		require.True(t, whole.Covers(one))
		require.False(t, one.Covers(whole))
		require.False(t, one.Covers(nil))
	}
	require.False(t, a.Covers(b))
	require.False(t, b.Covers(a))
	require.True(t, c.Covers(a), "each field covers one")
	require.False(t, a.Covers(c))
}

// TestAPolicyIsNotAskedWithoutWhatItReads: objects that are held for other policies may
// lack it.
func TestAPolicyIsNotAskedWithoutWhatItReads(t *testing.T) {
	set, err := Compile(readingServices(`deny contains "x" if data.cluster.Service["n"]["a"].spec.type == "x"`))
	require.NoError(t, err)
	for _, c := range []struct {
		fields *Fields
		denied bool
	}{{nil, false}, {set.ClusterReads()[services], false}, {(&Fields{}).add([]string{"metadata"}, true), true}} {
		data := EmptyClusterData().With(ClusterChange{Kind: services, Fields: c.fields})
		decision := snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{Cluster: data})
		require.Equal(t, c.denied, !decision.Allowed())
	}
}

// TestProjectionChangesNoDecision for random policies and objects.
func TestProjectionChangesNoDecision(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 71))
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
	for range 600 {
		set, err := Compile(readingServices("helper(x) if x.a == 1\nhelper(x) if x[_].b\ndeny contains \"x\" if { " + body() + " }\ndeny contains \"y\" if { " + body() + " }"))
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
			decide := func(fields *Fields) ([]string, int) {
				made, err := NewProjectedObject(raw, fields)
				require.NoError(t, err)
				data := EmptyClusterData().With(ClusterChange{Kind: services, Fields: fields, Objects: map[ClusterObjectKey]*ClusterObject{made.Key(): made}})
				return denials(snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{Cluster: data})), made.bytes
			}
			whole, size := decide(nil)
			projected, less := decide(set.ClusterReads()[services])
			require.Equal(t, whole, projected, "%s\n%s\nreads %s", set.Files()["p.rego"], raw, set.ClusterReads()[services].text())
			if len(whole) > 0 {
				denied++
			}
			if less < size*3/4 {
				smaller++
			}
		}
	}
	require.Greater(t, compiled, 200)
	require.Greater(t, denied, 100)
	require.Greater(t, smaller, 100)
}
