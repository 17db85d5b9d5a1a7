package sandbox

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"
)

// TestReachableAnswersAsInOPA on random graphs, and ends where there are 2^40 ways.
func TestReachableAnswersAsInOPA(t *testing.T) {
	ask := func(call topdown.BuiltinFunc, graph, initial *ast.Term) (found *ast.Term, err error) {
		err = call(topdown.BuiltinContext{}, []*ast.Term{graph, initial}, func(result *ast.Term) error {
			found = result
			return nil
		})
		return found, err
	}
	opa := topdown.GetBuiltin("graph.reachable")
	ours := reachable(opa)
	random := rand.New(rand.NewPCG(1, 1))
	node := func() *ast.Term { return ast.StringTerm(strconv.Itoa(random.IntN(8))) }
	nodes := func() *ast.Term {
		var out []*ast.Term
		for range random.IntN(4) {
			out = append(out, node())
		}
		return [](*ast.Term){ast.ArrayTerm(out...), ast.SetTerm(out...), ast.InternedNullTerm, ast.ObjectTerm(ast.Item(node(), node()))}[min(3, random.IntN(9)/2)]
	}
	some := 0
	for range 500 {
		graph := ast.NewObject()
		for range random.IntN(8) {
			graph.Insert(node(), nodes())
		}
		from := nodes()
		want, wantErr := ask(opa, ast.NewTerm(graph), from)
		got, gotErr := ask(ours, ast.NewTerm(graph), from)
		require.Equal(t, wantErr, gotErr)
		if wantErr == nil {
			require.Equal(t, want.String(), got.String(), "%v from %v", graph, from)
			some += want.Value.(ast.Set).Len()
		}
	}
	require.Greater(t, some, 100)

	ladder := ast.NewObject()
	for i := range 40 {
		next := ast.ArrayTerm(ast.StringTerm("a"+strconv.Itoa(i+1)), ast.StringTerm("b"+strconv.Itoa(i+1)))
		ladder.Insert(ast.StringTerm("a"+strconv.Itoa(i)), next)
		ladder.Insert(ast.StringTerm("b"+strconv.Itoa(i)), next)
	}
	found, err := ask(ours, ast.NewTerm(ladder), ast.ArrayTerm(ast.StringTerm("a0")))
	require.NoError(t, err)
	require.Equal(t, 79, found.Value.(ast.Set).Len())
}

// TestPrintsAreBounded: print takes each value of an operand with each of the others.
func TestPrintsAreBounded(t *testing.T) {
	many := ast.NewSet()
	for i := range 300 {
		many.Add(ast.InternedTerm(i))
	}
	_, err := printed([]*ast.Term{ast.ArrayTerm(ast.NewTerm(many), ast.NewTerm(many))})
	require.ErrorContains(t, err, "it would print more than 50000 lines")
	_, err = printed([]*ast.Term{ast.ArrayTerm(ast.NewTerm(many), ast.SetTerm(ast.InternedTerm(1)), ast.SetTerm())})
	require.NoError(t, err)
}
