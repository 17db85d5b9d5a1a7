package engine

import (
	"context"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// LimitFunctions puts limits on the operands and results of the standard functions of
// OPA, for the whole process. Compiling a source does so, too; this is for those who
// evaluate policies without the engine.
func LimitFunctions() { limitFunctions() }

// IsLimited says whether LimitFunctions puts limits on a function of OPA.
func IsLimited(function string) bool { return slices.Contains(allowedBuiltins, function) }

// Budget is what one evaluation in OPA may take: StepBudget, until the context's
// deadline. stopped says why it was stopped: empty, if it was not.
func Budget(ctx context.Context) (cancel topdown.Cancel, stopped func() string) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		deadline = time.Now().Add(MaxTimeout)
	}
	m := &meter{ctx: ctx, timeout: time.Until(deadline), deadline: deadline}
	return m, func() string { return m.stopped }
}
