package sandbox

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/stretchr/testify/require"
)

// TestCostsNameFunctions: an entry for a function that does not exist charges nothing.
func TestCostsNameFunctions(t *testing.T) {
	for name := range callSteps {
		require.True(t, Allows(name), name)
	}
	for name := range preparations {
		require.True(t, Allows(name), name)
	}
}

// TestRefusedCallsCost as much as their checks may take: a policy may call again and again.
func TestRefusedCallsCost(t *testing.T) {
	large := makeOperands(makeDoubled(18), makeDoubled(18), makeDoubled(18), makeDoubled(18))
	for _, name := range []string{"json.marshal", "sort", "equal", "array.concat", "json.patch"} {
		function, _ := Function(name)
		steps, err := function.Admit(large[:len(ast.BuiltinMap[name].Decl.FuncArgs().Args)])
		require.NotEqual(t, 0, steps, name)
		if err != nil {
			require.GreaterOrEqual(t, steps, refusedSteps, name)
		}
	}
}

// TestLargerOperandsCostMore: no function takes long at the cost of a short call.
func TestLargerOperandsCostMore(t *testing.T) {
	admit := func(name string, operands ...any) int {
		function, _ := Function(name)
		steps, err := function.Admit(makeOperands(operands...))
		require.NoError(t, err, name)
		return steps
	}
	text := strings.Repeat("a", 10_000)
	for name, costs := range map[string][2]int{
		"a long text":         {admit("upper", "a"), admit("upper", text)},
		"a long expression":   {admit("regex.match", "(a|b)*c", "a"), admit("regex.match", "(a|b)*c", text)},
		"many digits":         {admit("plus", 1, 2), admit("plus", 1, ast.NewTerm(ast.Number("0."+strings.Repeat("7", 900))))},
		"a fraction":          {admit("plus", 1, 2), admit("plus", 1, 0.5)},
		"a long text to find": {admit("indexof_n", "a", "b"), admit("indexof_n", strings.Repeat("ab", 5_000), strings.Repeat("ab", 2_000))},
		"alike elements":      {admit("cast_set", makeFields(200)), admit("cast_set", makeIntegers(100))},
	} {
		require.Greater(t, costs[1], costs[0]+10, name)
	}
}

// BenchmarkFunctions reports the CPU time for each step that a call costs: the most for any of the
// operands that are tried. It has to stay below 100 ns on an idle core.
func BenchmarkFunctions(b *testing.B) {
	for _, name := range allowedBuiltins {
		function, known := Function(name)
		if !known || ast.BuiltinMap[name] == nil {
			continue
		}
		b.Run(name, func(b *testing.B) {
			var pools [][]*ast.Term
			for _, argument := range ast.BuiltinMap[name].Decl.FuncArgs().Args {
				pools = append(pools, candidates(argument))
			}
			worst, at, random := 0.0, "", rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				for range 60 {
					operands := make([]*ast.Term, len(pools))
					for i, pool := range pools {
						operands[i] = pool[random.IntN(len(pool))]
					}
					if perStep := timePerStep(b, function.Admit, function.Accept, function.Call, operands); perStep > worst {
						worst, at = perStep, describe(operands)
					}
				}
			}
			b.ReportMetric(worst, "worst-cpu-ns/step")
			b.Log("worst for", at)
		})
	}
}

// timePerStep calls a function for a while, and returns the CPU time for each step: 0 if it is
// refused or fails, because both cost more in an evaluation.
func timePerStep(b *testing.B, admit func([]*ast.Term) (int, error), accept func(*ast.Term) (int, error), call topdown.BuiltinFunc, operands []*ast.Term) float64 {
	context := topdown.BuiltinContext{
		Context: b.Context(), Cache: builtins.Cache{}, Metrics: metrics.NoOp(), Runtime: ast.InternedEmptyObject,
		Time: ast.NumberTerm("1"), Cancel: topdown.NewCancel(),
	}
	best := 0.0
	for range 3 {
		calls, steps := 0, 0
		start := cpuTime(b)
		for cpuTime(b) < start+400*time.Microsecond {
			calls++
			charged, err := admit(operands)
			if err != nil {
				return 0
			}
			var result *ast.Term
			steps = 1 + charged
			if call(context, operands, func(one *ast.Term) error { result = one; steps += 2; return nil }) != nil {
				return 0
			}
			charged, _ = accept(result)
			steps += charged
		}
		if perStep := float64(cpuTime(b)-start) / float64(calls) / float64(steps); best == 0 || perStep < best {
			best = perStep
		}
	}
	return best
}

func cpuTime(tb testing.TB) time.Duration {
	var usage syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func describe(operands []*ast.Term) string {
	var parts []string
	for _, operand := range operands {
		count, bytes := nodes(operand)
		text := operand.String()
		parts = append(parts, fmt.Sprintf("%.20s… (%d values, %d bytes)", text, count, bytes))
	}
	return strings.Join(parts, ", ")
}

// candidates are operands of a type.
func candidates(of types.Type) (terms []*ast.Term) {
	switch of := of.(type) {
	case *types.NamedType:
		return candidates(of.Type)
	case types.String:
		return slices.Clone(sampleTexts)
	case types.Number:
		for _, text := range []ast.Number{"0", "1", "3", "1000", "49999", "-7", "0.5", "12345678901234567.125", "1e300", "1e900", ast.Number(strings.Repeat("9", 900))} {
			terms = append(terms, ast.NewTerm(text))
		}
		return terms
	case types.Boolean:
		return []*ast.Term{ast.InternedTerm(true)}
	case *types.Array:
		return sampleCollections("array")
	case *types.Set:
		return sampleCollections("set")
	case *types.Object:
		return sampleCollections("object")
	case types.Any:
		parts := []types.Type(of)
		if len(parts) == 0 {
			parts = []types.Type{types.S, types.N, types.NewArray(nil, types.A), types.NewSet(types.A), types.NewObject(nil, nil)}
		}
		for _, part := range parts {
			terms = append(terms, candidates(part)...)
		}
		return terms
	}
	return []*ast.Term{ast.InternedNullTerm}
}

var sampleTexts = func() (terms []*ast.Term) {
	texts := []string{
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "10.0.0.0/24", "10.0.0.0/17", "10.0.0.1", "2026-01-01T00:00:00Z", "1.2.3-alpha.1+b",
		"123e4567-e89b-12d3-a456-426614174000", "100Mi", "1h2m3s", "https://user@example.com:8080/a/b?c=d#e", "12345.678",
		"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "(a|aa|b)*c", "*a*a*a*b", `{"a":[1,2,{"b":"c"}]}`, "a: [1, 2]\nb: {c: d}\n",
	}
	for _, n := range []int{0, 1, 100, 4_000, 60_000, MaxStringBytes} {
		for _, part := range []string{"a", "a ", "é", "\"\n", "a=b&", "%41", "[", "- a\n"} {
			texts = append(texts, strings.Repeat(part, n/len(part)))
		}
		texts = append(texts, "["+strings.TrimSuffix(strings.Repeat("1,", n/2), ",")+"]")
	}
	for _, text := range texts {
		terms = append(terms, ast.StringTerm(text))
	}
	return terms
}()

// sampleCollections are collections of several sizes and kinds of elements.
func sampleCollections(kind string) (terms []*ast.Term) {
	makers := map[string]func(int) *ast.Term{
		"texts":     func(i int) *ast.Term { return ast.StringTerm(fmt.Sprintf("key-%06d", i*7919%100_003)) },
		"integers":  func(i int) *ast.Term { return ast.InternedTerm(i * 7919 % 100_003) },
		"fractions": func(i int) *ast.Term { return ast.NewTerm(ast.Number(fmt.Sprintf("%d.%05d", i, i))) },
		"lists":     func(i int) *ast.Term { return ast.ArrayTerm(ast.InternedTerm(i), ast.StringTerm("x")) },
		"objects":   func(i int) *ast.Term { return ast.ObjectTerm(ast.Item(ast.StringTerm("k"), ast.InternedTerm(i))) },
	}
	for _, name := range slices.Sorted(maps.Keys(makers)) {
		for _, n := range []int{0, 1, 100, 3_000, MaxElements} {
			var elements []*ast.Term
			var items [][2]*ast.Term
			for i := range n {
				elements = append(elements, makers[name](i))
				items = append(items, ast.Item(elements[i], elements[i]))
			}
			switch kind {
			case "array":
				terms = append(terms, ast.ArrayTerm(elements...))
			case "set":
				terms = append(terms, ast.SetTerm(elements...))
			default:
				terms = append(terms, ast.ObjectTerm(items...))
			}
		}
	}
	return terms
}
