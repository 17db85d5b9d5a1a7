package restriction

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// replay evaluates single decisions of policies.
type replay struct {
	ctx context.Context
	now time.Time
	// inconclusive is true if an evaluation ended with a conflict in Lintel's evaluator and the
	// result of OPA may differ.
	inconclusive bool
	// run evaluates a decision, as evaluate does.
	run func(p *sidecar.Policy, decision string, input ast.Value, coverage *eval.Coverage) (ast.Value, error)
}

// newReplay is a replay that ends with the context.
func newReplay(ctx context.Context) *replay {
	r := &replay{ctx: ctx, now: time.Now()}
	r.run = r.evaluate
	return r
}

// inEveryOrder returns a replay that fails if any release of OPA may fail, and is inconclusive
// if another release may return a value.
func (r *replay) inEveryOrder() *replay {
	all := &replay{ctx: r.ctx, now: r.now}
	all.run = func(p *sidecar.Policy, decision string, input ast.Value, _ *eval.Coverage) (ast.Value, error) {
		ctx, cancel := context.WithTimeout(r.ctx, opaTimeout)
		defer cancel()
		value, err := p.AskOPAInEveryOrder(ctx, decision, input, r.now)
		if err == nil {
			return value, nil
		}
		without, known := valueWithoutConflict(ctx, p, decision, input, r.now, err)
		grantsNothing := without == nil || ast.Compare(without, ast.Boolean(false)) == 0
		all.inconclusive = all.inconclusive || !known || !grantsNothing
		return nil, err
	}
	return all
}

// valueWithoutConflict is the value of a decision in a release of OPA that does not detect
// a conflict: for `not h`, OPA 1.22 computes a second value of h, and 1.4.2 does not. The value
// is known if each of the conflicting rules alone yields the same value. All releases detect a
// conflict of the decision itself.
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

// decide is the value of a decision for an input; a nil input is undefined. The value is nil
// if the decision is undefined or its evaluation ends with an error.
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

// evaluate is decide with the error. It records the evaluated code if coverage is not nil.
func (r *replay) evaluate(p *sidecar.Policy, decision string, input ast.Value, coverage *eval.Coverage) (ast.Value, error) {
	program, err := p.Program(decision, coverage != nil)
	if err != nil {
		panic(exhausted{"evaluating " + p.Name + ": " + err.Error()})
	}
	options := eval.Options{
		Now: r.now, Cover: coverage,
		Limits: eval.Limits{Steps: engine.StepBudget, Bytes: engine.MaxMadeBytes},
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

// opaTimeout limits an evaluation by OPA after a conflict in Lintel's evaluator. OPA does not
// limit its memory, so this timeout also bounds the memory.
const opaTimeout = 50 * time.Millisecond

// askOPA evaluates with OPA's own evaluator. An error is a conflict that OPA also detects.
// Releases of OPA differ in the choice and order of the rules that they evaluate when several
// rules have one value. Therefore, they also differ in the conflicts that they detect.
func (r *replay) askOPA(p *sidecar.Policy, decision string, input ast.Value) (ast.Value, error) {
	ctx, cancel := context.WithTimeout(r.ctx, opaTimeout)
	defer cancel()
	value, err := p.AskOPA(ctx, decision, input, r.now)
	if err != nil {
		failure, ok := errors.AsType[*topdown.Error](err)
		chains, _ := chainsOf(p.Rules(decision))
		r.inconclusive = r.inconclusive || !ok || failure.Code != topdown.ConflictErr || len(chains) > 1 && sameConstant(chains)
	}
	return value, err
}

// ruleLine is the line of the rule that determined a decision: the last rule with a value,
// otherwise the default, otherwise the first rule.
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

// asAny converts a value to JSON types.
func asAny(value ast.Value) (any, error) {
	if value == nil {
		return nil, nil
	}
	return ast.JSON(value)
}

var (
	errNotRepeatable = errors.New("the policy calls a nondeterministic function")
	errUnlimited     = errors.New("the policy calls a function whose time or memory is not limited")
)

// repeatable returns an error if two evaluations may differ or one may not terminate.
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
