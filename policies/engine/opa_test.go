//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/eval/plan"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/test/properties"
)

// TestRandomPoliciesAnswerAsInOPA asks random policies by a program of package eval and by
// OPA's own evaluator: the same values, and its errors at the same places. There may be more
// errors: OPA evaluates a partial object for the key that is asked for alone, and leaves out
// rules of which it knows by its index that they cannot hold.
func TestRandomPoliciesAnswerAsInOPA(t *testing.T) {
	for name, writer := range map[string]func(seed uint64) randomWriter{
		"rules": func(seed uint64) randomWriter { return &regoWriter{Rand: rand.New(rand.NewPCG(seed, 11))} },
		"forms": func(seed uint64) randomWriter {
			return &formWriter{regoWriter: &regoWriter{Rand: rand.New(rand.NewPCG(seed, 12))}}
		},
		"kinds":     func(seed uint64) randomWriter { return newKindWriter(seed) },
		"conflicts": func(seed uint64) randomWriter { return newConflictWriter(seed) },
	} {
		t.Run(name, func(t *testing.T) {
			policies, answers, spelled, errs, more := 0, 0, 0, 0, 0
			t.Parallel()
			first, seeds := properties.Seed(0)<<32, uint64(properties.Count(40, 600))
			if name == "kinds" || name == "conflicts" { // most of which OPA's types refuse
				seeds *= 4
			}
			for seed := first; seed < first+seeds; seed++ {
				w := writer(seed)
				text := w.policy()
				asked := newAskedTwice(text)
				if asked == nil {
					continue
				}
				if name == "kinds" {
					asked.data = namedData
				}
				policies++
				object := w.object()
				for range 6 {
					object = w.nearCopy(object)
					encoded, err := json.Marshal(object)
					require.NoError(t, err)
					e := newEvaluation(makeReview(t, string(encoded)), Options{})
					input := e.input(sourceOf(asked.set))
					want, got := asked.byOPA(t, input), asked.byEval(t, input)
					if conflicts, ok := w.(*conflictWriter); ok && !conflicts.mixed {
						asked.requireSameConflicts(t, input, got, fmt.Sprintf("seed %d\n%s\n%s", seed, text, encoded))
					}
					for rule, one := range want {
						errs, more = errs+len(one.errs), more+len(got[rule].errs)-len(one.errs)
						if got[rule].ended { // where OPA goes on, or has met another error first
							continue
						}
						require.Subset(t, got[rule].errs, one.errs, "seed %d, %s\n%s\n%s", seed, rule, text, encoded)
						if one.value != got[rule].value && equalTerms(one.value, got[rule].value) {
							spelled++
						} else {
							require.Equal(t, one.value, got[rule].value, "seed %d, %s\n%s\n%s", seed, rule, text, encoded)
						}
						require.Equal(t, one.ended, got[rule].ended, "seed %d, %s\n%s\n%s", seed, rule, text, encoded)
						answers++
					}
				}
			}
			t.Logf("%d policies, %d answers, %d with numbers spelled differently, %d errors, %d that OPA comes to see only if asked for more", policies, answers, spelled, errs, more)
			require.LessOrEqual(t, spelled, answers/1000)
			require.Greater(t, answers, 10*policies)
			require.Greater(t, policies, 20)
		})
	}
}

// equalTerms is true for values that differ only in how numbers are written. OPA caches the
// results of functions, so f(1.0) returns the 1 of an earlier f(1).
func equalTerms(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	return ast.MustParseTerm(a).Equal(ast.MustParseTerm(b))
}

// baseData is what both evaluators find in data.
var baseData = ast.MustParseTerm(`{"base": {"n": 1.0, "l": [1, "x", null], "m": {"x": {"y": 1}, "1": "one", "y": "x"}, "x": 1, "request": {"object": {"a": "x", "l": [2, 2.0], "m": {"x": 1}}}}}`).Value.(ast.Object)

// namedData is baseData without arrays and digits as keys that rules iterate over. OPA's
// store converts between a number and a key, so where data has "1", OPA finds keyed[1] for
// keyed[k] := v if some k, v in data.base.m: it evaluates the rule with k bound to 1.
var namedData = ast.MustParseTerm(strings.NewReplacer(`"1": "one"`, `"one": "1"`, `"l": [1, "x", null]`, `"l": {"y": [1, "x", null]}`).
	Replace(baseData.String())).Value.(ast.Object)

// TestNumbersAreKeysOfData looks up numbers in documents whose keys are digits.
func TestNumbersAreKeysOfData(t *testing.T) {
	t.Parallel()
	asked := newAskedTwice(`package rules

import rego.v1

deny contains "constant" if data.base.m[1]
deny contains "variable" if { some n in [1, 1.0]; data.base.m[n] }
deny contains "value" if { m := data.base.m; m[1] }
deny contains "iteration" if { some k, _ in data.base.m; k == 1 }
`)
	require.NotNil(t, asked)
	input := newEvaluation(makeReview(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","namespace":"shop"}}`), Options{}).input(sourceOf(asked.set))
	want := asked.byOPA(t, input)
	require.Equal(t, `{"constant", "variable"}`, want["data.rules.deny"].value)
	require.Equal(t, want, asked.byEval(t, input))
}

// TestKeysOfOneHash groups by keys with equal hashes: OPA's hash of an array is the sum of
// those of its elements.
func TestKeysOfOneHash(t *testing.T) {
	t.Parallel()
	asked := newAskedTwice(`package rules

import rego.v1

key contains k if some k in [1, [1], ["x", "y"], ["y", "x"], "x", ["x"]]

grouped[k] contains v if { some k in key; some v in [1, 2] }

grouped[k] contains 3 if some k in key

nested[k].rows[l] contains v if { some k in key; some l in key; some v in [1, 2] }

deny contains "grouped" if grouped == {k: {1, 2, 3} | some k in key}
deny contains "a member" if grouped in {{k: {1, 2, 3} | some k in key}}
deny contains "nested" if nested == {l: {"rows": {l: {1, 2} | some l in key}} | some l in key}
`)
	require.NotNil(t, asked)
	input := newEvaluation(makeReview(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","namespace":"shop"}}`), Options{}).input(sourceOf(asked.set))
	require.Equal(t, `{"a member", "grouped", "nested"}`, asked.byEval(t, input)["data.rules.deny"].value)
}

// askedTwice is a policy, ready for both evaluators.
type askedTwice struct {
	set     *PolicySet
	data    ast.Object
	byName  map[string]ast.Ref
	opa     *ast.Compiler
	program *eval.Program
}

// newAskedTwice returns nil for a policy that does not compile or is rejected.
func newAskedTwice(text string) *askedTwice {
	set, err := policyset.Compile(definition.Source{Name: "random", Files: map[string]string{"policy.rego": text}, Parameters: []byte(`{"a": "x", "list": [{"a": 1}]}`)})
	if err != nil {
		return nil
	}
	compile := func(mode ast.CompilerEvalMode) *ast.Compiler {
		module, errs := definition.ParseModule("policy.rego", text)
		if len(errs) > 0 {
			panic(errs)
		}
		compiler := ast.NewCompiler().WithEvalMode(mode)
		if compiler.Compile(map[string]*ast.Module{"policy.rego": module}); compiler.Failed() {
			panic(compiler.Errors)
		}
		return compiler
	}
	a := &askedTwice{set: set, data: baseData, byName: map[string]ast.Ref{}, opa: compile(ast.EvalModeTopdown)}
	planned := compile(ast.EvalModeIR)
	var refs []ast.Ref
	for _, rule := range planned.Modules["policy.rego"].Rules {
		if ref := rule.Ref(); len(rule.Head.Args) == 0 && ref.IsGround() {
			a.byName[ref.String()] = ref
			refs = append(refs, ref)
		}
	}
	if plan.Estimate(planned, refs...).Uneven != nil { // of a rule that no entry point needs
		return nil
	}
	program, err := plan.Rules(planned, refs...)
	if err != nil { // of a rule that no entry point needs
		return nil
	}
	var unordered *eval.UnorderedError
	if a.program, err = eval.Compile(program, eval.StandardFunctions, eval.CompileOptions{}); errors.As(err, &unordered) {
		return nil // of a rule that no entry point needs
	} else if err != nil {
		panic(err)
	}
	maps.DeleteFunc(a.byName, func(_ string, ref ast.Ref) bool { return a.program.Rule(ref) == nil }) // keys of one object
	return a
}

// answer is what a rule came to.
type answer struct {
	value string // empty where it is undefined
	errs  []string
	ended bool // by the last of the errors
}

// byOPA asks with OPA's index of rules for the errors, and without for the values: with it,
// "y" is not in {"x", input.y} where input.y is "y".
func (a *askedTwice) byOPA(t *testing.T, input *ast.Term) map[string]answer {
	answers, values := a.byOPAs(t, input, true), a.byOPAs(t, input, false)
	for name, one := range answers {
		if !values[name].ended {
			one.value, one.ended = values[name].value, false
			answers[name] = one
		}
	}
	return answers
}

// requireSameConflicts compares with OPA's answers, of which there may be two: its index leaves
// out rules whose errors do not count then, and without it, it looks for no second value of
// some rules.
func (a *askedTwice) requireSameConflicts(t *testing.T, input *ast.Term, got map[string]answer, about string) {
	indexed, plain := a.byOPAs(t, input, true), a.byOPAs(t, input, false)
	for rule, one := range got {
		if !reflect.DeepEqual(one, indexed[rule]) {
			require.Equal(t, plain[rule], one, "%s, %s", rule, about)
		}
	}
}

func (a *askedTwice) byOPAs(t *testing.T, input *ast.Term, index bool) map[string]answer {
	answers := map[string]answer{}
	data := inmem.NewFromObject(toJSON(a.data).(map[string]any))
	txn, err := data.NewTransaction(t.Context())
	require.NoError(t, err)
	defer data.Abort(t.Context(), txn)
	for name, ref := range a.byName {
		body, err := a.opa.QueryCompiler().Compile(ast.NewBody(ast.Equality.Expr(ast.VarTerm("result"), ast.NewTerm(ref))))
		require.NoError(t, err)
		var failures []topdown.Error
		results, err := topdown.NewQuery(body).WithCompiler(a.opa).WithStore(data).WithTransaction(txn).WithInput(input).
			WithTime(time.Unix(1, 0)).WithIndexing(index).WithBuiltinErrorList(&failures).Run(t.Context())
		one := answer{ended: err != nil}
		for i := range failures {
			one.errs = append(one.errs, said(&failures[i]))
		}
		if err != nil {
			one.errs = append(one.errs, said(err))
		} else if len(results) > 0 {
			one.value = results[0]["result"].String()
		}
		answers[name] = one.sorted()
	}
	return answers
}

func (a *askedTwice) byEval(t *testing.T, input *ast.Term) map[string]answer {
	answers := map[string]answer{}
	for name, ref := range a.byName {
		found, report, err := a.program.Run(t.Context(), []*eval.Rule{a.program.Rule(ref)}, eval.Options{Input: input, Data: eval.ObjectDocument(a.data), Now: time.Unix(1, 0)})
		one := answer{ended: err != nil}
		for _, failure := range report.Errors {
			one.errs = append(one.errs, said(failure))
		}
		if err != nil {
			one.errs = append(one.errs, said(err))
		} else if found[0] != nil {
			one.value = found[0].String()
		}
		answers[name] = one.sorted()
	}
	return answers
}

func (a answer) sorted() answer {
	slices.Sort(a.errs)
	a.errs = slices.Compact(a.errs)
	return a
}

// said is an error with its line; where two rules conflict, either may be named.
func said(err error) string {
	var failure *topdown.Error
	switch {
	case !errors.As(err, &failure):
		return err.Error()
	case failure.Code == topdown.ConflictErr:
		return "conflict"
	default:
		return fmt.Sprintf("%d: %s", failure.Location.Row, failure.Message)
	}
}
