package restriction

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
	"github.com/lintel-policy/lintel/test/properties"
)

// lemmaForms are conditions on input.a and input.b that have lemmas; N stands for a number, T
// for a text and S for a separator.
var lemmaForms = []string{
	"input.a + N < N", "input.a + N == N", "N - input.a < N", "N - input.a == N", "input.a - N > N", "input.a - N == N", "input.a * N < N", "input.a * N == N", "input.a * N > N",
	"ceil(input.a) < N", "ceil(input.a) == N", "ceil(input.a) > N", "floor(input.a) < N", "floor(input.a) == N", "floor(input.a) > N", "round(input.a) < N", "round(input.a) == N", "round(input.a) >= N", "abs(input.a) < N", "abs(input.a) == N", "abs(input.a) > N",
	"input.a < N", "input.a == N", "input.a > N", "input.a < input.b", "input.a == input.b", "input.a == T", "input.a < T", "count(input.a) < N", "count(input.a) == N", "to_number(input.a) == N", "input.a + input.b < N", "input.b == N", "input.b[input.a] == N", "input.b[input.a] == T", "input.b[input.a]", "input.b.x == T", "input.b[0] == T",
	"trim_prefix(input.a, S) == T", "trim_suffix(input.a, S) == T", "trim_space(input.a) == T", `trim(input.a, "ab ") == T`, "split(input.a, S)[0] == T", "split(input.a, S)[1] == T", "split(input.a, S)[0] == N", "split(input.a, S)[0.0] == T", "i := -0; split(input.a, S)[i] == T", "split(input.a, S)[1.0] == T", "split(input.a, S)[0]",
	"replace(input.a, S, T) == T", "replace(input.a, S, S) == T", "concat(S, [input.a, T]) == T", "concat(S, [T, input.a, T]) == T", `concat(S, [input.a]) == T`, `sprintf("%s/%s", [input.a, T]) == T`, `sprintf("%v", [input.a]) == T`, `sprintf("a%va", [input.a]) == T`, `sprintf("%v-%v", [T, input.a]) == T`,
	"startswith(input.a, T)", "endswith(input.a, T)", "contains(input.a, S)", "lower(input.a) == T", "upper(input.a) == T", "startswith(lower(input.a), T)", "is_string(input.a)", "is_number(input.a)", "is_object(input.b)", "is_array(input.b)", "some x in input.b; x == input.a", "every x in input.b { x != T }", "some k, x in input.b; k == input.a; x == T",
	"sort(input.b)[0] == T", "some x in sort(input.b); x == T", "every x in sort(input.b) { x != T }", "T in sort(input.b)", "input.a in split(input.a, S)", `array.concat(input.b, ["a"])[1] == T`, `array.concat(input.b, ["a", T])[0] == T`, `array.concat(["a", T], input.b)[2] == T`, `array.concat(["a", input.a], input.b)[1] == T`, `array.concat(input.b, [])[0]`, `i := 0.0; array.concat(input.b, ["a"])[i] == T`, `array.concat(input.b, input.a)[0] == T`, `array.concat(input.b, ["a"])[-1] == T`, "count(split(input.a, S)) == N", "sort(input.b)[0]",
}

// TestLemmasHold: all that is said of atoms is true of them on every input. OPA evaluates the
// atoms, and together with their values, the clauses have a model.
func TestLemmasHold(t *testing.T) {
	t.Parallel()
	seed := properties.Seed(1)
	random := rand.New(rand.NewPCG(seed, 21))
	pick := func(some ...string) string { return some[random.IntN(len(some))] }
	numbers := []string{"0", "1", "2", "3", "-1", "-2", "5", "10", "-5", "7", "4", "6"}
	texts := []string{`"a"`, `"ab"`, `"aa"`, `"aaa"`, `"a/b"`, `"b"`, `"a-b"`, `""`, `"/"`, `"A"`, `"aba"`, `"true"`, `"1"`, `"aab"`, `"a/"`, `" a"`}
	separators := []string{`"/"`, `"a"`, `"aa"`, `"-"`, `"ab"`, `""`}
	odd := []string{
		"-0.5", "0.5", "1.5", "-1.5", "2.5", "0.0", "-0", "1.0", "2e0", "0.1", "2.00000000000000000000001", "1.99999999999999999999999", "-0.00000000000000000000001", "1e400", "-1e400", "1e-400", "18446744073709551617", "-18446744073709551616.5",
		"9007199254740993", "1099511627777", "null", "true", "false", `["a"]`, `{"a": "b"}`, `"dev"`, `"a\n"`, `"  ab "`, `"aaaa"`, `"a/b/a"`, `"/a"`, `"ab-a"`, `"b/a"`, `[]`, `{}`, `[["a"], "a", 1]`, `{"a": 1, "ab": "a", "x": "a"}`, `"2"`, `"1.5"`, `"\u212a"`,
	}
	count, tried := properties.Count(100, 2_000), 0
	for range count {
		var conditions []string
		for range 1 + random.IntN(3) {
			form := lemmaForms[random.IntN(len(lemmaForms))]
			var body strings.Builder
			for _, letter := range form {
				switch letter {
				case 'N':
					body.WriteString(pick(numbers...))
				case 'T':
					body.WriteString(pick(texts...))
				case 'S':
					body.WriteString(pick(separators...))
				default:
					body.WriteRune(letter)
				}
			}
			conditions = append(conditions, "allow if { "+body.String()+" }")
		}
		text := strings.Join(conditions, "\n")
		policy, err := sidecar.Parse(sidecar.Source{Level: "team", Name: "p", Domain: anyDomain, Content: "package openclaw.enterprise.models\nimport rego.v1\n" + text})
		if err != nil {
			continue // of types that never match
		}
		tried++
		steps, fresh := 0, 0
		f, _ := translated(newTranslation(t.Context(), policy, &steps, &fresh), "allow")
		for range 8 {
			a, b := pick(append(append(odd, numbers...), texts...)...), pick(append(append(odd, numbers...), texts...)...)
			input := ast.MustParseTerm(fmt.Sprintf(`{"a": %s, "b": %s}`, a, b)).Value
			switch random.IntN(8) {
			case 0:
				input = ast.MustParseTerm(fmt.Sprintf(`{"a": %s}`, a)).Value
			case 1:
				input = ast.MustParseTerm(fmt.Sprintf(`{"a": %s, "b": [%s, %s]}`, a, b, a)).Value
			}
			p := newProblem(t.Context(), defaultBounds)
			p.literal(f, true)
			p.literal(f, false)
			p.addLemmas()
			var known []string
			for _, g := range p.list {
				if g.kind == isElement {
					continue
				}
				holds, sure := decide(g.atom, func(t term) (ast.Value, bool) { return input, t.key() == "input" })
				switch {
				case !sure:
					continue
				case holds:
					p.solver.Add(g.variable)
				default:
					p.solver.Add(-g.variable)
				}
				known = append(known, fmt.Sprint(holds, " ", g.key()))
			}
			satisfiable, err := p.solver.Solve(t.Context())
			require.NoError(t, err)
			require.True(t, satisfiable, "seed %d: %s\n%s\n%s", seed, text, input, strings.Join(known, "\n"))
		}
	}
	require.Greater(t, tried, count/2)
}
