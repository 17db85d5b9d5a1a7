package sandbox

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// reachable is graph.reachable, which in OPA visits a node once per path to it: two nodes that
// both lead to the next two, forty times, have 2^40 paths. The result is the same: the nodes
// with edges, and those without that are keys of the graph.
func reachable(ofOPA topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		graph, isObject := operands[0].Value.(ast.Object)
		switch operands[1].Value.(type) {
		case *ast.Array, ast.Set:
		default:
			isObject = false
		}
		if !isObject {
			return ofOPA(bctx, operands, iter) // which returns the error
		}
		reached := ast.NewSet()
		for queue := slices.Clone(elementsOf(operands[1])); len(queue) > 0; queue = queue[1:] {
			edges := graph.Get(queue[0])
			if edges == nil || reached.Contains(queue[0]) {
				continue
			}
			reached.Add(queue[0])
			if _, isObject := edges.Value.(ast.Object); !isObject {
				queue = append(queue, elementsOf(edges)...)
			}
		}
		return iter(ast.NewTerm(reached))
	}
}
