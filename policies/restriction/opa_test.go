package restriction

import (
	"context"
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/sidecar"
)

// replayOfOPA is a replay by OPA's own evaluator, which gateways run.
func replayOfOPA(ctx context.Context) *replay {
	r := newReplay(ctx)
	compilers := map[*sidecar.Policy]*ast.Compiler{}
	store := inmem.New()
	r.run = func(p *sidecar.Policy, decision string, input ast.Value, _ *eval.Coverage) (value ast.Value, err error) {
		compiler := compilers[p]
		if compiler == nil {
			module, err := ast.ParseModule(p.Name, p.Content)
			if err != nil {
				return nil, err
			}
			compiler = ast.NewCompiler()
			if compiler.Compile(map[string]*ast.Module{p.Name: module}); compiler.Failed() {
				return nil, compiler.Errors
			}
			compilers[p] = compiler
		}
		transaction, err := store.NewTransaction(ctx)
		if err != nil {
			return nil, err
		}
		defer store.Abort(ctx, transaction)
		query, err := compiler.QueryCompiler().Compile(ast.NewBody(ast.Equality.Expr(ast.VarTerm("result"), ast.NewTerm(p.Ref(decision)))))
		if err != nil {
			return nil, err
		}
		run := topdown.NewQuery(query).WithCompiler(compiler).WithStore(store).WithTransaction(transaction).WithTime(r.now)
		if input != nil {
			run = run.WithInput(ast.NewTerm(input))
		}
		results, err := run.Run(ctx)
		if err != nil || len(results) == 0 {
			return nil, err
		}
		if len(results) > 1 {
			return nil, errors.New("more than one result")
		}
		return results[0]["result"].Value, nil
	}
	return r
}
