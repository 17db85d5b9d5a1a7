package sidecar

import (
	"context"
	"slices"
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
	// opa has compiled the policy for OPA's own evaluator, once that was asked.
	opa map[bodyOrder]*compiledByOPA
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

// Program compiles a decision for evaluation. With cover, it also records the evaluated lines.
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
	planned, err := plan.Query(p.compiler, p.query(decision))
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
	return p.askOPA(ctx, decision, input, now, asWritten)
}

// compiledByOPA is a policy, and queries for its decisions.
type compiledByOPA struct {
	*ast.Compiler
	queries map[string]ast.Body
}

func (p *Policy) askOPA(ctx context.Context, decision string, input ast.Value, now time.Time, order bodyOrder) (ast.Value, error) {
	compiler, query, err := p.compileByOPA(decision, order)
	if err != nil {
		return nil, err
	}
	return run(ctx, compiler, query, input, now, order)
}

// AskOPAWithOnly is AskOPA as if a rule were the only one of its name.
func (p *Policy) AskOPAWithOnly(ctx context.Context, rule *ast.Rule, decision string, input ast.Value, now time.Time) (ast.Value, error) {
	module, err := parseModule(p.Source)
	if err != nil {
		return nil, err
	}
	name := rule.Head.Ref()[0].Value
	module.Rules = slices.DeleteFunc(module.Rules, func(other *ast.Rule) bool {
		return !other.Default && other.Head.Ref()[0].Value.Compare(name) == 0 && other.Location.Compare(rule.Location) != 0
	})
	compiler := ast.NewCompiler().WithCapabilities(gatewayCapabilities())
	if compiler.Compile(map[string]*ast.Module{p.Name: module}); compiler.Failed() {
		return nil, compiler.Errors
	}
	query, err := compiler.QueryCompiler().Compile(p.query(decision))
	if err != nil {
		return nil, err
	}
	return run(ctx, compiler, query, input, now, asWritten)
}

func (p *Policy) query(decision string) ast.Body {
	return ast.NewBody(ast.Equality.Expr(ast.VarTerm(resultVar), ast.NewTerm(p.Ref(decision))))
}

func run(ctx context.Context, compiler *ast.Compiler, query ast.Body, input ast.Value, now time.Time, order bodyOrder) (ast.Value, error) {
	store := inmem.New()
	transaction, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Abort(ctx, transaction)
	cancel := topdown.NewCancel()
	defer context.AfterFunc(ctx, cancel.Cancel)()
	evaluation := topdown.NewQuery(query).WithCompiler(compiler).WithStore(store).WithTransaction(transaction).WithTime(now).WithCancel(cancel)
	if order != asWritten {
		evaluation = evaluation.WithIndexing(false).WithEarlyExit(false)
	}
	if input != nil {
		evaluation = evaluation.WithInput(ast.NewTerm(input))
	}
	results, err := evaluation.Run(ctx)
	if err != nil || len(results) == 0 {
		return nil, err
	}
	return results[0][resultVar].Value, nil
}

// compileByOPA compiles the policy and the query of a decision, each once.
func (p *Policy) compileByOPA(decision string, order bodyOrder) (*ast.Compiler, ast.Body, error) {
	p.programs.mu.Lock()
	defer p.programs.mu.Unlock()
	compiled := p.programs.opa[order]
	if compiled == nil {
		module, err := parseModule(p.Source)
		if err != nil {
			return nil, nil, err
		}
		compiler := ast.NewCompiler().WithCapabilities(gatewayCapabilities())
		if order.reorders() {
			compiler.WithStageAfterID(ast.StageCheckUndefinedFuncs, ast.CompilerStageDefinition{Name: "Reorder", MetricName: "reorder", Stage: func(compiler *ast.Compiler) *ast.Error {
				order.apply(p.Path, compiler.Modules[p.Name])
				return nil
			}})
		}
		if compiler.Compile(map[string]*ast.Module{p.Name: module}); compiler.Failed() {
			return nil, nil, compiler.Errors
		}
		if p.programs.opa == nil {
			p.programs.opa = map[bodyOrder]*compiledByOPA{}
		}
		compiled = &compiledByOPA{compiler, map[string]ast.Body{}}
		p.programs.opa[order] = compiled
	}
	query, known := compiled.queries[decision]
	if !known {
		var err error
		query, err = compiled.QueryCompiler().Compile(p.query(decision))
		if err != nil {
			return nil, nil, err
		}
		compiled.queries[decision] = query
	}
	return compiled.Compiler, query, nil
}
