package clusterdata

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

// textOfFields formats fields; `{}` means that only the presence is read.
func textOfFields(f *Fields) string {
	if f.isWhole() {
		return "all"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		parts = append(parts, name+":"+textOfFields(f.fields[name]))
	}
	if f.each != nil {
		parts = append(parts, "*:"+textOfFields(f.each))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// readOfServices is what a rule with a body reads of Services.
func readOfServices(t *testing.T, body string) *Fields {
	t.Helper()
	module, err := ast.ParseModuleWithOpts("p.rego", "package p\nf(x) if x.type == \"x\"\ndeny contains \"x\" if { "+body+" }", ast.ParserOptions{RegoVersion: ast.RegoV1})
	require.NoError(t, err)
	compiler := ast.NewCompiler()
	compiler.Compile(map[string]*ast.Module{"p.rego": module})
	require.NoError(t, compilerError(compiler))
	found := FieldsRead(slices.Collect(maps.Values(compiler.Modules)))
	all := &Fields{}
	for _, key := range []string{"Service", ""} {
		if fields, ok := found[key]; ok {
			all = all.Union(fields)
		}
	}
	return all
}

func compilerError(compiler *ast.Compiler) error {
	if compiler.Failed() {
		return compiler.Errors
	}
	return nil
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
		"its own data":        {`data.settings.Service.a.b.spec == "x"`, "{}"},
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
			require.Equal(t, c.want, textOfFields(readOfServices(t, c.body)))
		})
	}
}

func TestUnionAndCover(t *testing.T) {
	read := func(body string) *Fields { return readOfServices(t, body) }
	a := read(`data.cluster.Service["n"]["a"].spec.type == "x"`)
	b := read(`data.cluster.Service["n"]["a"].spec.ports[_].port == 1`)
	c := read(`data.cluster.Service["n"]["a"].spec[_] == "x"`)
	whole := read(`count(data.cluster.Service) > 1`)
	require.Equal(t, "{spec:{ports:{*:{port:all}} type:all}}", textOfFields(a.Union(b)))
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

// TestWhatPoliciesReadOfTheInput includes what helpers of the rules read.
func TestWhatPoliciesReadOfTheInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"nothing":     {`true`, "{}"},
		"a field":     {`input.request.object.spec.hostPID`, "{request:{object:{spec:{hostPID:all}}}}"},
		"an element":  {`some c in input.request.object.spec.containers; c.image == "x"`, "{request:{object:{spec:{containers:{*:{image:all}}}}}}"},
		"an argument": {`some c in input.request.object.spec.containers; f(c)`, "{request:{object:{spec:{containers:{*:all}}}}}"},
		"a function":  {`g`, "{request:{name:all}}"},
		"all":         {`walk(input, [_, "x"])`, "all"},
		"a variable":  {`some key in ["a"]; input.request[key]`, "{request:{*:all}}"},
	} {
		module, err := ast.ParseModuleWithOpts("p.rego", "package p\nf(x) if x.type == \"x\"\ng if input.request.name == \"x\"\ndeny contains \"x\" if { "+c.body+" }", ast.ParserOptions{RegoVersion: ast.RegoV1})
		require.NoError(t, err, name)
		compiler := ast.NewCompiler()
		compiler.Compile(map[string]*ast.Module{"p.rego": module})
		require.NoError(t, compilerError(compiler), name)
		rules := map[*ast.Rule]bool{}
		for _, rule := range compiler.Modules["p.rego"].Rules {
			if name == "a function" || rule.Head.Name != "g" {
				rules[rule] = true
			}
		}
		require.Equal(t, c.want, textOfFields(InputRead(rules)), name)
	}
}
