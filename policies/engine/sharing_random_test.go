//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/eval/plan"
	"github.com/lintel-policy/lintel/test/properties"
)

// withParameters makes a random policy read parameters in some places in which it reads the object.
func withParameters(w randomWriter, text string) string {
	for from, to := range map[string]string{
		"input.request.object.map":  "input.parameters.map",
		"input.request.object.name": `object.get(object.get(input, "parameters", {}), "name", "x")`,
		"input.request.object.a":    `input.parameters.a`,
		"input.request.object.list": `object.get(input.parameters, "list", [1])`,
	} {
		if w.IntN(2) == 0 {
			text = strings.ReplaceAll(text, from, to)
		}
	}
	return text
}

// nearVariant is the same policy in another package, with another constant in one place or none.
func nearVariant(w randomWriter, text, name string) string {
	text = strings.ReplaceAll(strings.Replace(text, "package rules", "package "+name, 1), "data.rules", "data."+name)
	constants := []string{`"x"`, `"y"`, `"a"`, `"b"`, `1`, `0`, `true`, `false`, `==`, `!=`}
	from := constants[w.IntN(len(constants))]
	to := constants[w.IntN(len(constants))]
	if count := strings.Count(text, from); count > 0 && w.IntN(4) > 0 && (from[0] == '=' || from[0] == '!') == (to[0] == '=' || to[0] == '!') {
		parts := strings.SplitAfterN(text, from, 1+w.IntN(count)+1)
		i := max(0, len(parts)-2)
		parts[i] = strings.TrimSuffix(parts[i], from) + to
		text = strings.Join(parts, "")
	}
	return text
}

// compiledTogether compiles modules to one program: nil where OPA refuses them.
func compiledTogether(texts map[string]string) (*eval.Program, []*eval.Rule) {
	modules := map[string]*ast.Module{}
	for name, text := range texts {
		module, errs := definition.ParseModule(name, text)
		if len(errs) > 0 {
			return nil, nil
		}
		modules[name] = module
	}
	compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
	if compiler.Compile(modules); compiler.Failed() {
		return nil, nil
	}
	refs := map[string]ast.Ref{}
	for _, name := range slices.Sorted(maps.Keys(compiler.Modules)) {
		for _, rule := range compiler.Modules[name].Rules {
			if ref := rule.Ref(); len(rule.Head.Args) == 0 && ref.IsGround() {
				refs[ref.String()] = ref
			}
		}
	}
	var planned []ast.Ref
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		planned = append(planned, refs[name])
	}
	if plan.Estimate(compiler, planned...).Uneven != nil {
		return nil, nil
	}
	policy, err := plan.Rules(compiler, planned...)
	if err != nil {
		return nil, nil
	}
	program, err := eval.Compile(policy, eval.StandardFunctions, eval.CompileOptions{})
	if err != nil {
		return nil, nil
	}
	var rules []*eval.Rule
	for _, ref := range planned {
		if rule := program.Rule(ref); rule != nil {
			rules = append(rules, rule)
		}
	}
	return program, rules
}

// reportedBy is all that an evaluation reports.
func reportedBy(t *testing.T, program *eval.Program, rule *eval.Rule, options eval.Options) string {
	values, report, err := program.Run(t.Context(), []*eval.Rule{rule}, options)
	out := fmt.Sprintf("%d steps, %d bytes, error %v, errors %v, given", report.Steps, report.Bytes, err, report.Errors)
	for _, given := range report.Given {
		for _, one := range given {
			out += fmt.Sprintf(" %v at %v", one.Value, one.At)
		}
	}
	if err == nil && values[0] != nil {
		out += fmt.Sprintf(", value %v", values[0])
	}
	return out
}

// TestSharedResultsChangeNothing evaluates policies that share functions, or nearly do, of two programs,
// for inputs that have the request in common and parameters of their own, in any order and
// within any limit: values, errors, steps and bytes are those of each rule evaluated alone, which
// TestRandomPoliciesAnswerAsInOPA compares with OPA.
func TestSharedResultsChangeNothing(t *testing.T) {
	t.Parallel()
	type call struct {
		program *eval.Program
		rule    *eval.Rule
		options eval.Options
	}
	first, seeds := properties.Seed(0)<<32, uint64(properties.Count(60, 1500))
	policies, calls := 0, 0
	for seed := first; seed < first+seeds; seed++ {
		base := &regoWriter{Rand: rand.New(rand.NewPCG(seed, 21))}
		var w randomWriter = base
		if seed%2 == 0 {
			w = &formWriter{regoWriter: base}
		}
		text := withParameters(w, w.policy())
		one, ofOne := compiledTogether(map[string]string{"a": text, "b": nearVariant(w, text, "second")})
		two, ofTwo := compiledTogether(map[string]string{"c": nearVariant(w, text, "third")})
		if one == nil || two == nil {
			continue
		}
		policies++
		encoded, err := json.Marshal(map[string]any{"operation": "CREATE", "object": w.object()})
		require.NoError(t, err)
		request := ast.MustParseTerm(string(encoded))
		var all []call
		for range 3 {
			parameters, err := json.Marshal(w.object())
			require.NoError(t, err)
			items := [][2]*ast.Term{ast.Item(ast.StringTerm("request"), request)}
			if w.IntN(4) > 0 {
				items = append(items, ast.Item(ast.StringTerm("parameters"), ast.MustParseTerm(string(parameters))))
			}
			options := eval.Options{Input: ast.ObjectTerm(items...), Data: eval.ObjectDocument(baseData), Now: time.Unix(1, 0), Gather: w.IntN(2) == 0}
			for i, rules := range [][]*eval.Rule{ofOne, ofTwo} {
				for _, rule := range rules {
					if options.Limits = (eval.Limits{}); w.IntN(4) == 0 {
						options.Limits.Steps = int64(1 + w.IntN(400))
					}
					all = append(all, call{[]*eval.Program{one, two}[i], rule, options})
				}
			}
		}
		base.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		shared := &eval.Shared{}
		for _, c := range all {
			alone := reportedBy(t, c.program, c.rule, c.options)
			c.options.Shared = shared
			require.Equal(t, alone, reportedBy(t, c.program, c.rule, c.options), "seed %d\n%s", seed, text)
			calls++
		}
	}
	t.Logf("%d policies, %d evaluations", policies, calls)
	require.Greater(t, policies, int(seeds)/4)
	require.Greater(t, calls, 20*policies)
}
