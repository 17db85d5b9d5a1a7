package restriction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// formulaOf is the formula that a body of Rego holds.
func formulaOf(t *testing.T, body string) formula {
	t.Helper()
	steps, fresh := 0, 0
	translation := newTranslation(t.Context(), policyOf(t, "team", "p", "allow if {\n"+body+"\n}"), &steps, &fresh)
	f, large := translated(translation, "allow")
	require.False(t, large, body)
	return f
}

// inputsOf are models of a formula, none where it is excluded that there are any.
func inputsOf(t *testing.T, f formula) (inputs []ast.Value, excluded bool) {
	t.Helper()
	p := newProblem(t.Context(), defaultBounds)
	p.assert(f)
	for range maxModels {
		satisfiable, err := p.solver.Solve(t.Context())
		require.NoError(t, err)
		if !satisfiable {
			return inputs, len(inputs) == 0
		}
		input, wrong := p.model(nil)
		inputs = append(inputs, input)
		p.exclude(wrong)
	}
	return inputs, false
}

// TestWhatCannotBe: each of these is excluded without a look at any input.
func TestWhatCannotBe(t *testing.T) {
	for _, body := range []string{
		`input.a == 1; input.a == 2`,
		`input.a == 1; input.a != 1`,
		`input.a == 1; not input.a`,
		`input.a == false; input.a`,
		`input.a; not input`,
		`input.a.b == 1; input.a == "x"`,
		`input.a.b == 1; is_array(input.a)`,
		`input.a[0] == 1; is_object(input.a)`,
		`input.a[true] == 1`,
		`is_string(input.a); is_number(input.a)`,
		`is_set(input.a)`,
		`input.a == {1}`,
		`input.a == [{1}]`,
		`is_null(input.a); input.a != null`,
		`is_boolean(input.a); input.a != true; input.a != false`,
		`input.a; not is_null(input.a); not is_boolean(input.a); not is_number(input.a); not is_string(input.a); not is_array(input.a); not is_object(input.a)`,
		`input.a < null`,
		`input.a < 1; input.a > 1`,
		`input.a < 1; not input.a < 2`,
		`input.a < 1; input.a == 3`,
		`input.a < 1; is_string(input.a)`,
		`input.a > "x"; is_number(input.a)`,
		`input.a < false; input.a != null`,
		`input.a < true; input.a != null; input.a != false`,
		`input.a == input.b; input.a == 1; input.b == 2`,
		`input.a == input.b; input.a < 1; not input.b < 1`,
		`input.a == input.b; input.a < input.b`,
		`input.a < input.b; input.b < input.a`,
		`startswith(input.a, "ab"); not startswith(input.a, "a")`,
		`startswith(input.a, "a"); startswith(input.a, "b")`,
		`endswith(input.a, "ab"); not endswith(input.a, "b")`,
		`endswith(input.a, "a"); endswith(input.a, "b")`,
		`startswith(input.a, "xay"); not contains(input.a, "a")`,
		`contains(input.a, "ab"); not contains(input.a, "b")`,
		`startswith(input.a, "x"); input.a == "y"`,
		`startswith(input.a, "x"); is_number(input.a)`,
		`lower(input.a) == "X"`,
		`lower(input.a) == "x"; input.a == "Y"`,
		`upper(input.a) == "X"; is_number(input.a)`,
		`count(input.a) < 0`,
		`count(input.a) < 1; count(input.a) != 0`,
		`count(input.a) == 0; input.a[0]`,
		`input.a in {"x", "y"}; input.a != "x"; input.a != "y"`,
		`some x in input.a; x == 1; not 1 in input.a`,
		`every x in input.a { x != 1 }; input.a[0] == 1`,
		`every x in input.a { x > 1 }; every x in input.a { x < 1 }; input.a[_]`,
		`count({x | some x in input.a; x > 1}) > 0; every x in input.a { x < 1 }`,
		`count([x | some x in input.a; x > 1]) == 0; input.a[_] == 2`,
		`{x | some x in input.a} == {1}; 2 in {x | some x in input.a}`,
		`[input.a, 1] == [2, 1]; input.a == 1`,
		`max([input.a, 1]) == 2; input.a != 2`,
		`object.get(input, "a", 1) == 1; input.a == 2`,
		`input.a == {x | some x in input.b}`,
		`input.a[input.b] == 1; is_array(input.a); is_string(input.b)`,
		`some k, x in input.a; startswith(k, "b"); is_array(input.a)`,
		`trim_prefix(input.a, "int/") == "b"; input.a != "b"; input.a != "int/b"`,
		`trim_suffix(input.a, "/x") == "b"; not startswith(input.a, "b")`,
		`trim_space(input.a) == "dev"; not contains(input.a, "dev")`,
		`split(input.a, "/")[0] == "int"; input.a != "int"; not startswith(input.a, "int/")`,
		`split(input.a, "/")[1] == "b"; not contains(input.a, "/b")`,
		`startswith(input.a, "int/b"); not split(input.a, "/")[0] == "int"`,
		`split(input.a, "/")[0] == "a/b"`,
		`replace(input.a, "/", "-") == "a-b"; input.a != "a-b"; input.a != "a/b"`,
		`replace(input.a, "/", "-") == "a/b"`,
		`concat("-", [input.a, "x"]) == "dev-x"; input.a != "dev"`,
		`concat("-", ["y", input.a, "x"]) == "dev-x"`,
		`sprintf("%s/%v", ["a", input.a]) == "a/dev"; not input.a == "dev"`,
		`input.a + 1 > 3; input.a < 2`,
		`1 + input.a < 3; input.a > 2`,
		`input.a - 2 < 1; input.a > 3`,
		`5 - input.a < 1; input.a < 4`,
		`input.a * 2 < 6; input.a > 3`,
		`input.a * -2 < 6; input.a < -3`,
		`ceil(input.a) > 5; input.a < 5`,
		`floor(input.a) < 3; input.a > 3`,
		`round(input.a) < 3; input.a > 3`,
		`abs(input.a) < 3; input.a > 3`,
		`"x" in sort(input.a); every x in sort(input.a) { x != "x" }`,
		`array.concat(input.a, input.b)[0] == 1; array.concat(input.a, input.b)[0] == 2`,
		`count([x | some x in input.a; 2 >= x]) == 1; not count([x | some x in input.a; x <= 2]) == 1`,
		`count([x | some x in input.a; x > 1]) > 1; count([x | some x in input.a; x > 1]) == 0`,
	} {
		_, excluded := inputsOf(t, formulaOf(t, body))
		assert.True(t, excluded, body)
	}
}

// TestWhatCanBe: each of these has a model, which OPA confirms.
func TestWhatCanBe(t *testing.T) {
	r := newReplay(t.Context())
	for _, body := range []string{
		`input.a == 1; input.b == 1`,
		`not input.a`,
		`input.a == null`,
		`input.a == input.b; input.a != 1`,
		`input.a < input.b; is_string(input.b)`,
		`input.a > 1; input.a < 2`,
		`input.a <= 1; input.a >= 1`,
		`input.a < true; input.a != null`,
		`startswith(input.a, "a"); endswith(input.a, "b"); contains(input.a, "xy")`,
		`startswith(input.a, "a"); not startswith(input.a, "ab")`,
		`startswith(input.a, "a"); startswith(input.a, "ab")`,
		`endswith(input.a, "b"); endswith(input.a, "ab")`,
		`is_number(input.a); input.a < 5`,
		`is_string(input.a); input.a > "x"`,
		`lower(input.a) == "x"; input.a != "x"`,
		`count(input.a) == 3`,
		`count(input.a) > 1; is_array(input.a)`,
		`is_array(input.a); input.a[1] == "x"; not input.a[0] == "x"`,
		`is_object(input.a); input.a.b.c == 1`,
		`some x in input.a; x == 1; some y in input.a; y != 1`,
		`some x in input.a; startswith(x.b, "z"); x.c > 4`,
		`count({x | some x in input.a; x > 1}) == 2`,
		`object.get(input, "a", 1) == 1; input.b`,
		`input.a * 2 == 6`,
		`input.a in {"x", "y"}; not input.a == "x"`,
		`input.a[input.b] == 1; input.b == "x"`,
		`trim_prefix(input.a, "int/") == "b"; input.a != "b"`,
		`split(input.a, "/")[0] == "int"; input.a != "int"`,
		`replace(input.a, "/", "-") == "a-b"; input.a != "a-b"`,
		`concat("-", [input.a, "x"]) == "dev-x"`,
		`input.a + 1 == 3; input.b - 1 < 2`,
		`abs(input.a) == 3; input.a < 0`,
	} {
		p := policyOf(t, "team", "p", "allow if {\n"+body+"\n}")
		inputs, _ := inputsOf(t, formulaOf(t, body))
		found := false
		for _, input := range inputs {
			found = found || r.decide(p, "allow", input) != nil
		}
		assert.True(t, found, "%s: %v", body, inputs)
	}
}

// TestFormulasStaySmall: the constructors simplify formulas.
func TestFormulasStaySmall(t *testing.T) {
	a := equal(memberTerm(document{"input"}, constantTerm(ast.String("a"))), constantTerm(ast.Number("1")))
	b := equal(memberTerm(document{"input"}, constantTerm(ast.String("a"))), constantTerm(ast.Number("2")))
	for name, c := range map[string]struct{ made, want formula }{
		"a double negation":       {not(not(a)), a},
		"of nothing":              {and(), true},
		"or of nothing":           {or(), false},
		"a part that is false":    {and(a, false), false},
		"a part that is true":     {or(a, true), true},
		"parts that say nothing":  {and(true, a, true), a},
		"two constants of a term": {and(a, b), false},
		"parts within parts":      {and(a, and(not(b), a)), conjunction{a, not(b), a}},
		"either within either":    {or(a, or(b, a)), disjunction{a, b, a}},
	} {
		require.Equal(t, c.want, c.made, name)
	}
	require.IsType(t, disjunction{}, or(a, b))
}

// TestBoundsLoseProofsAndMakeNone: elements beyond the bounds have no lemmas, and larger
// policies are not compared.
func TestBoundsLoseProofsAndMakeNone(t *testing.T) {
	begins := func(value term, text string) formula {
		return atom{kind: isTrue, left: applicationTerm("startswith", value, constantTerm(ast.String(text)))}
	}
	some := func(in string, texts ...string) formula {
		return existence{memberTerm(document{"input"}, constantTerm(ast.String(in))), func(_, value term) formula {
			var all []formula
			for _, text := range texts {
				all = append(all, begins(value, text))
			}
			return and(all...)
		}}
	}
	var among []formula
	for i := range defaultBounds.witnesses - 1 {
		among = append(among, some(fmt.Sprint(i), "a"))
	}
	_, excluded := inputsOf(t, and(append(among, some("z", "a", "b"))...))
	require.True(t, excluded)
	_, excluded = inputsOf(t, and(append(among, some("y", "a"), some("z", "a", "b"))...))
	require.False(t, excluded)

	var many []formula
	for i := range maxAtoms {
		many = append(many, atom{kind: isOpaque, left: opaque{fmt.Sprint(i)}})
	}
	newProblem(t.Context(), defaultBounds).literal(and(many...), true)
	many = append(many, atom{kind: isOpaque, left: opaque{"one more"}})
	require.PanicsWithValue(t, tooLarge, func() { newProblem(t.Context(), defaultBounds).literal(and(many...), true) })

	steps, fresh := maxSteps, 0
	require.PanicsWithValue(t, tooLarge, newTranslation(t.Context(), policyOf(t, "team", "p", "allow if input.a"), &steps, &fresh).step)

	long := strings.Repeat("x", maxKey+1)
	require.Less(t, len(constantTerm(ast.String(long)).key()), maxKey)
	require.NotEqual(t, constantTerm(ast.String(long)).key(), constantTerm(ast.String(long+"x")).key())
}
