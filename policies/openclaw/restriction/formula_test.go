package restriction

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
	"github.com/lintel-policy/lintel/test/properties"
)

// truth evaluates a formula on an input. It is not known where the formula has opaque
// parts that count.
func truth(f formula, given valuation) (holds, known bool) {
	switch f := f.(type) {
	case bool:
		return f, true
	case negation:
		holds, known = truth(f.of, given)
		return !holds, known
	case atom:
		return decide(f, given)
	case conjunction:
		return every(f, true, given)
	case disjunction:
		return every(f, false, given)
	case existence:
		in, known := evaluate(f.in, given)
		if !known {
			return false, false
		}
		var all []formula
		if in != nil {
			for _, key := range keysOf(in) {
				at := constantTerm(key)
				all = append(all, f.body(at, memberTerm(f.in, at)))
			}
		}
		return every(all, false, given)
	}
	panic("a formula of no kind")
}

// every is wanted if all parts are, and the opposite if one of them is.
func every(parts []formula, wanted bool, given valuation) (holds, known bool) {
	known = true
	for _, part := range parts {
		holds, partKnown := truth(part, given)
		if partKnown && holds != wanted {
			return !wanted, true
		}
		known = known && partKnown
	}
	return wanted, known
}

func keysOf(value ast.Value) (keys []ast.Value) {
	switch value := value.(type) {
	case *ast.Array:
		for i := range value.Len() {
			keys = append(keys, ast.InternedTerm(i).Value)
		}
	case ast.Object:
		value.Foreach(func(k, _ *ast.Term) { keys = append(keys, k.Value) })
	}
	return keys
}

// TestFormulasAgreeWithOPA compares formulas of random policies with OPA, input by
// input: where OPA has a value the formula is true of it, and where OPA ends with an
// error the formula of errors is true.
func TestFormulasAgreeWithOPA(t *testing.T) {
	t.Parallel()
	policies := fromEnvironment("LINTEL_PAIRS", properties.Count(60, 1000))
	seed := properties.Seed(1)
	t.Logf("seed %d, %d policies", seed, policies)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), plain: simple()}
	inputs := inputSpace()
	decisions := slices.Sorted(maps.Keys(comparedValues))
	r := newReplay(t.Context())
	compared, failed := 0, 0
	for range policies {
		decision := decisions[g.IntN(len(decisions))]
		text := policyText(g.parent(decision))
		p, err := sidecar.Parse(sidecar.Source{Level: "team", Name: "policy", Domain: anyDomain, Content: text})
		if err != nil {
			continue
		}
		steps, fresh := maxSteps*9/10, 0
		translation := newTranslation(t.Context(), p, &steps, &fresh)
		translation.wantErrors = true
		value, exhausted := translated(translation, decision)
		if exhausted {
			continue
		}
		translation.wantErrors = false
		for i, input := range inputs {
			if i%4 != g.IntN(4) {
				continue
			}
			given := func(t term) (ast.Value, bool) { return input, t.key() == "input" }
			steps = 0
			answer, err := r.evaluate(p, decision, input, nil)
			if err != nil {
				failed++
				holds, known := every(translation.errors, false, given)
				require.True(t, holds || !known, "input %v fails: %v\n%s", input, err, text)
				continue
			}
			holds, known := truth(value, given)
			if known {
				compared++
				require.Equal(t, answer != nil, holds, "input %v gives %v\n%s", input, answer, text)
			}
			if answer == nil {
				continue
			}
			same := translation.value(decision, whole, func(v term) formula { return equal(v, constantTerm(answer)) })
			holds, known = truth(same, given)
			require.True(t, holds || !known, "input %v gives %v\n%s", input, answer, text)
		}
	}
	t.Log("compared", compared, "failed", failed)
	require.Greater(t, compared, policies*20)
	require.Greater(t, failed, policies/10)
}

// translated is the formula that the decision is defined. Some random policies are too
// large for one.
func translated(t *translation, decision string) (f formula, tooLarge bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, tooLarge = r.(exhausted); !tooLarge {
				panic(r)
			}
		}
	}()
	return t.value(decision, whole, defined), false
}
