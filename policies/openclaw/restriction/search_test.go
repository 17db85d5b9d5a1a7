package restriction

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// TestSearchFindsWhatFormulasDoNotShow: of these the formulas know no more than that they
// have a result.
func TestSearchFindsWhatFormulasDoNotShow(t *testing.T) {
	parent := policyOf(t, "enterprise", "parent", `allow if { input.a; input.strict }`)
	for _, child := range []string{
		`allow if regex.match("^.$", input.a)`,
		`allow if { json.is_valid(input.text); input.kind != "0" }`,
		`allow if { some x in input.list; regex.match("^.$", x.name) }`,
		`allow if { parts := split(input.a, "-"); parts[1] == "dev" }`,
		`allow if { every x in input.list { regex.match("^.$", x) }; input.list[1] }`,
	} {
		c := newComparison("allow", policyOf(t, "team", "child", child), []*sidecar.Policy{parent})
		r := newReplay(t.Context())
		found := c.search(r, nil)
		if assert.NotNil(t, found, child) {
			assert.NotNil(t, c.findViolation(r, found.input), child)
			smallest := c.shrink(r, found)
			assert.NotNil(t, c.findViolation(r, smallest.input), "%s: %v", child, smallest.input)
			assert.LessOrEqual(t, len(smallest.input.String()), len(found.input.String()), child)
		}
	}
	once := newComparison("allow", policyOf(t, "team", "child", "allow if time.now_ns() > input.a"), []*sidecar.Policy{parent})
	require.Nil(t, once.search(newReplay(t.Context()), nil), "what differs from time to time shows nothing")
}

func TestPathsOfTheInput(t *testing.T) {
	paths := map[string]bool{}
	for _, path := range inputPaths([]*sidecar.Policy{policyOf(t, "team", "p", `allow if {
	input.a.b == 1
	x := input.c
	x.d
	some y in input.e
	y.f == 2
	every z in input.g { z.h }
	"i" in input.j
	data.other.k
}`)}) {
		paths[fmt.Sprint(path)] = true
	}
	for _, want := range []string{"[a b]", "[c]", "[c d]", "[e * f]", "[g]", "[g * h]", "[j *]"} {
		assert.Contains(t, paths, want)
	}
	assert.NotContains(t, paths, "[other k]")
}

// TestRandomInputsHaveThePaths: a path with * leads into a list.
func TestRandomInputsHaveThePaths(t *testing.T) {
	values := []ast.Value{ast.String("v")}
	s := &searcher{random: rand.New(rand.NewPCG(1, 1)), paths: [][]string{{"c", "d"}, {"a", "*", "b"}}, values: values}
	lists, texts := 0, 0
	for range 100 {
		input := s.randomInput()
		if found, err := input.Find(ast.MustParseRef("x.a[0].b")[1:]); err == nil {
			require.Equal(t, values[0], found)
			lists++
		}
		if found, err := input.Find(ast.MustParseRef("x.c.d")[1:]); err == nil {
			require.Equal(t, values[0], found)
			texts++
		}
	}
	require.Greater(t, lists, 50)
	require.Greater(t, texts, 50)
	require.Less(t, texts, 100, "some are left out")
}

// TestChangesKeepInputsApart: a mutation returns a new value and does not modify the original.
func TestChangesKeepInputsApart(t *testing.T) {
	s := &searcher{random: rand.New(rand.NewPCG(1, 1)), values: []ast.Value{ast.String("v")}}
	value := ast.MustParseTerm(`{"a": [1, {"b": "c"}], "d": {"e": 2}}`).Value
	text := value.String()
	made := map[string]bool{}
	for range 300 {
		made[s.mutatePart(value).String()] = true
		set := s.with(value, []string{"a", "*", "b"})
		found := false
		for _, at := range []string{"x.a[0].b", "x.a[1].b", "x.a[2].b"} {
			part, err := set.Find(ast.MustParseRef(at)[1:])
			found = found || err == nil && ast.Compare(part, ast.String("v")) == 0
		}
		require.True(t, found, set)
	}
	require.Equal(t, text, value.String())
	for _, want := range []string{`{"d": {"e": 2}}`, `{"a": [1], "d": {"e": 2}}`, `{"a": ["v", {"b": "c"}], "d": {"e": 2}}`, `{"a": [1, {"b": "c"}], "d": {"e": "v"}}`} {
		require.Contains(t, made, want)
	}
}

// TestValuesNearby: what a comparison with a constant may turn on.
func TestValuesNearby(t *testing.T) {
	texts := func(values []ast.Value) (texts []string) {
		for _, value := range values {
			texts = append(texts, value.String())
		}
		return texts
	}
	require.Equal(t, []string{"5", "4", "6", "4.5", "5.5"}, texts(neighbors(ast.Number("5"))))
	require.Equal(t, []string{`"Ab"`, `"Abx"`, `"AB"`, `"ab"`, `" Ab "`, `"A"`}, texts(neighbors(ast.String("Ab"))))
	require.Equal(t, []string{"3", "2", "-6", "0.6"}, texts(factors(ast.Number("6"))))
	require.Equal(t, []ast.String{"a-b/c", "a", "b", "c"}, piecesOf(ast.String("a-b/c")))
	require.Equal(t, []string{`["x0"]`, `"x"`, `["x0", "x1"]`, `"xx"`, `["x0", "x1", "x2"]`, `"xxx"`}, texts(ofLength(constantTerm(ast.Number("2")))))
	require.Empty(t, ofLength(constantTerm(ast.Number("101"))))
}
