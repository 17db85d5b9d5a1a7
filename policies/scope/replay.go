package scope

import (
	"context"
	"errors"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/engine"
)

// replay evaluates decisions of policies in OPA, each in a query of its own.
type replay struct {
	ctx     context.Context
	store   storage.Store
	now     time.Time
	queries map[*Policy]map[string]ast.Body
}

// newReplay is a replay that ends with the context.
func newReplay(ctx context.Context) *replay {
	engine.LimitFunctions()
	return &replay{ctx: ctx, store: inmem.New(), now: time.Now(), queries: map[*Policy]map[string]ast.Body{}}
}

var resultVar = ast.Var("result")

// decide is the value of a decision for an input, which is undefined where nil. The
// value is nil where the decision is undefined or its evaluation ends with an error.
func (r *replay) decide(p *Policy, decision string, input ast.Value) ast.Value {
	value, err := r.evaluate(p, decision, input, nil)
	if r.ctx.Err() != nil {
		panic(exhausted{"there was no time left to compare the policies"})
	}
	if err != nil {
		return nil
	}
	return value
}

func (r *replay) evaluate(p *Policy, decision string, input ast.Value, tracer topdown.QueryTracer) (value ast.Value, err error) {
	body, err := r.query(p, decision)
	if err != nil {
		return nil, err
	}
	txn, err := r.store.NewTransaction(r.ctx)
	if err != nil {
		return nil, err
	}
	defer r.store.Abort(r.ctx, txn)
	cancel, stopped := engine.Budget(r.ctx)
	query := topdown.NewQuery(body).WithCompiler(p.compiler).WithStore(r.store).WithTransaction(txn).
		WithTime(r.now).WithCancel(cancel)
	if input != nil {
		query = query.WithInput(ast.NewTerm(input))
	}
	if tracer != nil {
		query = query.WithQueryTracer(tracer)
	}
	err = query.Iter(r.ctx, func(result topdown.QueryResult) error {
		value = result[resultVar].Value
		return nil
	})
	if why := stopped(); why != "" && r.ctx.Err() == nil {
		panic(exhausted{"evaluating " + p.Name + ": " + why})
	}
	return value, err
}

func (r *replay) query(p *Policy, decision string) (ast.Body, error) {
	if body, ok := r.queries[p][decision]; ok {
		return body, nil
	}
	body, err := p.compiler.QueryCompiler().Compile(ast.NewBody(
		ast.Equality.Expr(ast.NewTerm(resultVar), ast.NewTerm(p.ref(decision)))))
	if err != nil {
		return nil, err
	}
	if r.queries[p] == nil {
		r.queries[p] = map[string]ast.Body{}
	}
	r.queries[p][decision] = body
	return body, nil
}

// ruleLine is the line of the rule that gave a decision its value: of the last that
// had one, else of the default, else of the first.
func (r *replay) ruleLine(p *Policy, decision string, input ast.Value) int {
	tracer := topdown.NewBufferTracer()
	_, _ = r.evaluate(p, decision, input, tracer)
	line := 0
	for _, event := range *tracer {
		rule, ok := event.Node.(*ast.Rule)
		if ok && event.Op == topdown.ExitOp && string(rule.Head.Name) == decision {
			line = rule.Location.Row
		}
	}
	rules := p.rules(decision)
	for _, rule := range rules {
		if line == 0 && rule.Default {
			line = rule.Location.Row
		}
	}
	if line == 0 && len(rules) > 0 {
		line = rules[0].Location.Row
	}
	return line
}

// asAny is a value as JSON has it.
func asAny(value ast.Value) (any, error) {
	if value == nil {
		return nil, nil
	}
	return ast.JSON(value)
}

var (
	errNotRepeatable = errors.New("it calls a function whose result is not the same every time")
	errUnlimited     = errors.New("it calls a function that may take any time or memory")
)

// repeatable says that two evaluations give the same, and that either comes to an end.
func repeatable(p *Policy) error {
	var err error
	for _, rule := range p.compiler.Modules[p.Name].Rules {
		ast.WalkRefs(rule, func(ref ast.Ref) bool {
			switch builtin := ast.BuiltinMap[ref.String()]; {
			case builtin == nil:
			case builtin.Nondeterministic:
				err = errNotRepeatable
			case !engine.IsLimited(builtin.Name):
				err = errUnlimited
			}
			return err != nil
		})
	}
	return err
}
