package cel

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// constraint is a constraint of a Gatekeeper template in CEL.
type constraint struct {
	program  *Program
	template manifest.Object
	params   runtime.Object
}

// NewConstraint returns an evaluator of a program that reads a constraint as params.
func NewConstraint(program *Program, template manifest.Object, params runtime.Object) definition.Evaluator {
	return &constraint{program, template, params}
}

// Evaluate implements definition.Evaluator.
func (c *constraint) Evaluate(ctx context.Context, request *definition.CheckRequest) (result definition.CheckResult) {
	in := inputOf(request, request.Offline)
	if in.err != nil {
		result.Findings = []definition.CheckFinding{{Words: in.err.Error(), Location: locationIn(c.template, nil), Error: true}}
		return result
	}
	c.program.requireKnown(in)
	out := c.program.evaluate(ctx, in, c.params, request.MaxSteps)
	result.Steps = out.cost
	for _, d := range out.decisions {
		result.Findings = append(result.Findings, definition.CheckFinding{Words: d.message, Location: locationIn(c.template, d.path), Error: d.isError, Limit: d.limit})
	}
	if request.Explain {
		result.Outcomes = c.program.explain(c.template, in, c.params, out)
	}
	return result
}
