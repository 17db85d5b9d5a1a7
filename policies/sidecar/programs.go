package sidecar

import (
	"context"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/eval/plan"
	"github.com/lintel-policy/lintel/policies/planning"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// programs are what evaluates the decisions of one policy, made when they are first
// asked for. They are safe for concurrent use.
type programs struct {
	mu   sync.Mutex
	made map[programKey]programOrError
	// opa has compiled the policy for OPA's own evaluator: nil until that is asked. queries
	// are those of the decisions, which it has compiled.
	opa     *ast.Compiler
	queries map[string]ast.Body
}

// programKey has no decision where it is of all that are rules.
type programKey struct {
	decision string
	cover    bool
}

type programOrError struct {
	program *eval.Program
	err     error
}

// Program evaluates one decision of a policy.
type Program struct {
	made *eval.Program
	rule *eval.Rule // nil where it asks a query
}

const resultVar = "result"

// Program is what evaluates a decision; with cover it also records what was reached.
func (p *Policy) Program(decision string, cover bool) (Program, error) {
	if len(p.compiler.GetRulesExact(p.Ref(decision))) == 0 { // rules below it, such as decision.name
		made, err := p.programs.make(programKey{decision, cover}, func() (*eval.Program, error) { return p.queryProgram(decision, cover) })
		return Program{made, nil}, err
	}
	made, err := p.programs.make(programKey{cover: cover}, func() (*eval.Program, error) { return p.ruleProgram(cover) })
	if err != nil {
		return Program{}, err
	}
	return Program{made, made.Rule(p.Ref(decision))}, nil
}

func (s *programs) make(key programKey, compile func() (*eval.Program, error)) (*eval.Program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made, known := s.made[key]
	if !known {
		made.program, made.err = compile()
		if s.made == nil {
			s.made = map[programKey]programOrError{}
		}
		s.made[key] = made
	}
	return made.program, made.err
}

// ruleProgram evaluates all decisions that are rules.
func (p *Policy) ruleProgram(cover bool) (*eval.Program, error) {
	var refs []ast.Ref
	for _, decision := range p.Decisions {
		refs = append(refs, p.Ref(decision))
	}
	if _, errs := planning.CheckGrowth(p.compiler, refs...); len(errs) > 0 {
		return nil, errs
	}
	made, errs := planning.NewProgram(p.compiler, sandbox.Function, eval.CompileOptions{Cover: cover}, refs...)
	if len(errs) > 0 {
		return nil, errs
	}
	return made, nil
}

// queryProgram evaluates a decision that is made of several rules.
func (p *Policy) queryProgram(decision string, cover bool) (*eval.Program, error) {
	var refs []ast.Ref
	for _, rule := range p.Rules(decision) {
		refs = append(refs, rule.Ref().GroundPrefix())
	}
	if _, errs := planning.CheckGrowth(p.compiler, refs...); len(errs) > 0 {
		return nil, errs
	}
	planned, err := plan.Query(p.compiler, ast.NewBody(ast.Equality.Expr(ast.VarTerm(resultVar), ast.NewTerm(p.Ref(decision)))))
	if err != nil {
		return nil, err
	}
	return eval.Compile(planned, sandbox.Function, eval.CompileOptions{Cover: cover})
}

// Run is the value of the decision, nil where it is undefined.
func (p Program) Run(ctx context.Context, options eval.Options) (*ast.Term, error) {
	if p.rule != nil {
		values, _, err := p.made.Run(ctx, []*eval.Rule{p.rule}, options)
		if err != nil {
			return nil, err
		}
		return values[0], nil
	}
	results, _, err := p.made.RunQuery(ctx, options)
	if err != nil || len(results) == 0 {
		return nil, err
	}
	return results[0].Get(ast.StringTerm(resultVar)), nil
}

// AskOPA evaluates a decision as gateways do, by OPA's own evaluator, which ends with the
// context. It evaluates only the part of a collection that is read, and only the rules that
// its index does not exclude, so it may give a value where Program ends with a conflict. The
// input is undefined where nil, and so is the value.
func (p *Policy) AskOPA(ctx context.Context, decision string, input ast.Value, now time.Time) (ast.Value, error) {
	return p.askOPA(ctx, decision, input, now, func(query *topdown.Query) *topdown.Query { return query })
}

// AskOPAOfAllRules is AskOPA without the index, and without an early exit at the first of
// several rules of one value. Which rules these leave out, and so whether a conflict is met,
// depends on OPA's release. A value without an error is the value in all of them.
func (p *Policy) AskOPAOfAllRules(ctx context.Context, decision string, input ast.Value, now time.Time) (ast.Value, error) {
	return p.askOPA(ctx, decision, input, now, func(query *topdown.Query) *topdown.Query {
		return query.WithIndexing(false).WithEarlyExit(false)
	})
}

func (p *Policy) askOPA(ctx context.Context, decision string, input ast.Value, now time.Time, with func(*topdown.Query) *topdown.Query) (ast.Value, error) {
	compiler, query, err := p.compiledByOPA(decision)
	if err != nil {
		return nil, err
	}
	store := inmem.New()
	transaction, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Abort(ctx, transaction)
	cancel := topdown.NewCancel()
	defer context.AfterFunc(ctx, cancel.Cancel)()
	run := with(topdown.NewQuery(query)).WithCompiler(compiler).WithStore(store).WithTransaction(transaction).WithTime(now).WithCancel(cancel)
	if input != nil {
		run = run.WithInput(ast.NewTerm(input))
	}
	results, err := run.Run(ctx)
	if err != nil || len(results) == 0 {
		return nil, err
	}
	return results[0][resultVar].Value, nil
}

// compiledByOPA is the policy and the query of a decision, each compiled once.
func (p *Policy) compiledByOPA(decision string) (*ast.Compiler, ast.Body, error) {
	p.programs.mu.Lock()
	defer p.programs.mu.Unlock()
	if p.programs.opa == nil {
		module, err := parseModule(p.Source)
		if err != nil {
			return nil, nil, err
		}
		compiler := ast.NewCompiler().WithCapabilities(gatewayCapabilities())
		if compiler.Compile(map[string]*ast.Module{p.Name: module}); compiler.Failed() {
			return nil, nil, compiler.Errors
		}
		p.programs.opa, p.programs.queries = compiler, map[string]ast.Body{}
	}
	query, known := p.programs.queries[decision]
	if !known {
		var err error
		query, err = p.programs.opa.QueryCompiler().Compile(ast.NewBody(ast.Equality.Expr(ast.VarTerm(resultVar), ast.NewTerm(p.Ref(decision)))))
		if err != nil {
			return nil, nil, err
		}
		p.programs.queries[decision] = query
	}
	return p.programs.opa, query, nil
}
