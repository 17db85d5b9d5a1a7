// Package plan has OPA plan rules for package eval, and says before what a plan would come
// to. It is apart from package eval because OPA's planner comes with all of OPA: a program
// that has its plan ready links and starts up without.
package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/rego"
)

// planTarget is the name under which package eval is an evaluator to OPA.
const planTarget = "lintel"

// planner takes plans out of package rego: OPA's planner is internal, and gives its plan
// to the evaluator that was registered for a target, one at a time for the whole process.
type planner struct {
	mu       sync.Mutex
	register sync.Once
	policy   *ir.Policy
}

var plans planner

// IsTarget implements rego.TargetPlugin.
func (*planner) IsTarget(target string) bool { return target == planTarget }

// PrepareForEval implements rego.TargetPlugin.
func (p *planner) PrepareForEval(_ context.Context, policy *ir.Policy, _ ...rego.PrepareOption) (rego.TargetPluginEval, error) {
	p.policy = policy
	return p, nil
}

// Eval implements rego.TargetPluginEval.
func (*planner) Eval(context.Context, *rego.EvalContext, ast.Value) (ast.Value, error) {
	return nil, errors.New("plans are run by package eval")
}

// Rules plans the rules at the references and all that they need. The modules of the
// compiler have been compiled; a reference without rules is left out.
func Rules(compiler *ast.Compiler, rules ...ast.Ref) (*ir.Policy, error) {
	body := ast.Body{}
	for _, rule := range rules {
		if len(compiler.GetRulesExact(rule)) > 0 {
			body.Append(ast.NewExpr(ast.NewTerm(rule)))
		}
	}
	if len(body) == 0 {
		body.Append(ast.NewExpr(ast.BooleanTerm(true)))
	}
	return Query(compiler, body)
}

// Query plans a query; its plan is named "eval".
func Query(compiler *ast.Compiler, query ast.Body, options ...func(*rego.Rego)) (policy *ir.Policy, err error) {
	plans.register.Do(func() { rego.RegisterPlugin(planTarget, &plans) })
	plans.mu.Lock()
	defer plans.mu.Unlock()
	defer func() {
		plans.policy = nil
		if cause := recover(); cause != nil {
			policy, err = nil, fmt.Errorf("planning: %v", cause)
		}
	}()
	options = append(options, rego.Compiler(compiler), rego.ParsedQuery(query), rego.Target(planTarget))
	if _, err := rego.New(options...).PrepareForEval(context.Background()); err != nil {
		return nil, err
	}
	return plans.policy, nil
}
