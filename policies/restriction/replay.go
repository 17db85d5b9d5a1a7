package restriction

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/sandbox"
	"github.com/lintel-policy/lintel/policies/sidecar"
)

// replay evaluates decisions of policies, each by itself.
type replay struct {
	ctx context.Context
	now time.Time
	// unsure says that it is not known what OPA makes of an evaluation that ends with a
	// conflict in Lintel's evaluator.
	unsure bool
	// run evaluates a decision, as evaluate does.
	run func(p *sidecar.Policy, decision string, input ast.Value, coverage *eval.Coverage) (ast.Value, error)
}

// newReplay is a replay that ends with the context.
func newReplay(ctx context.Context) *replay {
	r := &replay{ctx: ctx, now: time.Now()}
	r.run = r.evaluate
	return r
}

// inEveryOrder is a replay that fails wherever a release of OPA may, and is not sure where
// another release may give another value than an error.
func (r *replay) inEveryOrder() *replay {
	all := &replay{ctx: r.ctx, now: r.now}
	all.run = func(p *sidecar.Policy, decision string, input ast.Value, _ *eval.Coverage) (ast.Value, error) {
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		defer cancel()
		value, err := p.AskOPAInEveryOrder(ctx, decision, input, r.now)
		if err == nil {
			return value, nil
		}
		without, known := valueWithoutConflict(ctx, p, decision, input, r.now, err)
		grantsNothing := without == nil || ast.Compare(without, ast.Boolean(false)) == 0
		all.unsure = all.unsure || !known || !grantsNothing
		return nil, err
	}
	return all
}

// valueWithoutConflict is the value of a decision where a release of OPA does not meet the
// conflict that another has met: OPA 1.22 looks for a second value of h in `not h`, and 1.4.2
// does not. It is known where it is the same with each of the rules that conflict alone. All
// releases meet a conflict of the decision itself.
func valueWithoutConflict(ctx context.Context, p *sidecar.Policy, decision string, input ast.Value, now time.Time, err error) (value ast.Value, known bool) {
	failure, ok := errors.AsType[*topdown.Error](err)
	if !ok || failure.Code != topdown.ConflictErr || failure.Location == nil || !strings.HasPrefix(failure.Message, "rule ") {
		return nil, false
	}
	var conflicting []*ast.Rule
	for _, rule := range p.AllRules() {
		if rule.Location.Row == failure.Location.Row {
			name, _ := p.RuleName(rule.Ref())
			if name == decision {
				return nil, true
			}
			conflicting, _ = chainsOf(p.Rules(name))
		}
	}
	for i, rule := range conflicting {
		one, err := p.AskOPAWithOnly(ctx, rule, decision, input, now)
		if err != nil || i > 0 && (one == nil) != (value == nil) || one != nil && i > 0 && ast.Compare(one, value) != 0 {
			return nil, false
		}
		value = one
	}
	return value, len(conflicting) > 0
}

// decide is the value of a decision for an input, which is undefined where nil. The
// value is nil where the decision is undefined or its evaluation ends with an error.
func (r *replay) decide(p *sidecar.Policy, decision string, input ast.Value) ast.Value {
	value, err := r.run(p, decision, input, nil)
	if r.ctx.Err() != nil {
		panic(outOfTime)
	}
	if err != nil {
		return nil
	}
	return value
}

// evaluate is decide with the error, and tells what was reached where coverage is not nil.
func (r *replay) evaluate(p *sidecar.Policy, decision string, input ast.Value, coverage *eval.Coverage) (ast.Value, error) {
	program, err := p.Program(decision, coverage != nil)
	if err != nil {
		panic(exhausted{"evaluating " + p.Name + ": " + err.Error()})
	}
	deadline, bounded := r.ctx.Deadline()
	if !bounded {
		deadline = time.Now().Add(definition.MaxTimeout)
	}
	options := eval.Options{
		Now: r.now, Cover: coverage,
		Limits: eval.Limits{Steps: engine.StepBudget, Bytes: engine.MaxMadeBytes, Timeout: max(time.Until(deadline), 1)},
	}
	if input != nil {
		options.Input = ast.NewTerm(input)
	}
	value, err := program.Run(r.ctx, options)
	var limit *eval.LimitError
	if errors.As(err, &limit) && r.ctx.Err() == nil {
		panic(exhausted{"evaluating " + p.Name + ": " + limit.Message})
	}
	if conflict, ok := errors.AsType[*topdown.Error](err); ok && conflict.Code == topdown.ConflictErr {
		return r.askOPA(p, decision, input)
	}
	if err != nil || value == nil {
		return nil, err
	}
	return value.Value, nil
}

// patience is how long OPA may take for what Lintel's evaluator has ended with a conflict.
// It has no limits of memory, so this bounds what it can take.
const patience = 50 * time.Millisecond

// askOPA is evaluate by OPA's own evaluator. An error is a conflict that it meets, too. It
// differs between its releases which of several rules with one value are evaluated, and which
// first, and so whether a conflict is met.
func (r *replay) askOPA(p *sidecar.Policy, decision string, input ast.Value) (ast.Value, error) {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	value, err := p.AskOPA(ctx, decision, input, r.now)
	if err != nil {
		failure, ok := errors.AsType[*topdown.Error](err)
		chains, _ := chainsOf(p.Rules(decision))
		r.unsure = r.unsure || !ok || failure.Code != topdown.ConflictErr || len(chains) > 1 && sameConstant(chains)
	}
	return value, err
}

// ruleLine is the line of the rule that gave a decision its value: of the last that
// had one, else of the default, else of the first.
func (r *replay) ruleLine(p *sidecar.Policy, decision string, input ast.Value) int {
	var coverage eval.Coverage
	_, _ = r.run(p, decision, input, &coverage)
	line := 0
	rules := p.Rules(decision)
	for _, rule := range rules {
		for branch := rule; branch != nil && !rule.Default; branch = branch.Else {
			if coverage.Has(branch.Head.Location, func(outcome eval.Outcome) bool { return outcome.Gave }) {
				line = branch.Location.Row
			}
		}
	}
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
func repeatable(p *sidecar.Policy) error {
	var err error
	for _, rule := range p.AllRules() {
		ast.WalkRefs(rule, func(ref ast.Ref) bool {
			switch builtin := ast.BuiltinMap[ref.String()]; {
			case builtin == nil:
			case builtin.Nondeterministic:
				err = errNotRepeatable
			case !sandbox.Allows(builtin.Name):
				err = errUnlimited
			}
			return err != nil
		})
	}
	return err
}
