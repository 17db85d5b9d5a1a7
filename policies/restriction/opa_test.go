package restriction

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/sidecar"
)

// replayOfOPA is a replay by OPA's own evaluator, which gateways run.
func replayOfOPA(ctx context.Context) *replay {
	r := newReplay(ctx)
	r.run = func(p *sidecar.Policy, decision string, input ast.Value, _ *eval.Coverage) (ast.Value, error) {
		return p.AskOPA(ctx, decision, input, r.now)
	}
	return r
}
