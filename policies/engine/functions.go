package engine

import (
	"context"
	"fmt"
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

// Budget is what one evaluation in OPA may take: expressionBudget, until the context's
// deadline. stopped says why it was stopped: empty, if it was not.
func Budget(ctx context.Context) (cancel topdown.Cancel, stopped func() string) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		deadline = time.Now().Add(MaxTimeout)
	}
	m := &meter{ctx: ctx, timeout: time.Until(deadline), deadline: deadline}
	return m, func() string { return m.stopped }
}

// expressionBudget is how many expressions OPA may evaluate where it does so itself.
const expressionBudget = 200_000

// meter stops an evaluation of OPA's own: OPA asks it before every expression. It belongs to
// one evaluation and its goroutine.
type meter struct {
	ctx      context.Context
	timeout  time.Duration
	deadline time.Time
	extended bool // the deadline was, once
	steps    int
	asked    int
	stopped  string // why, once it is
	limit    string // which limit that was
}

// spend takes steps for the work of one function call. A nil meter, of an evaluation
// that is not ours, has no budget.
func (m *meter) spend(steps int) error {
	if m == nil {
		return nil
	}
	if m.steps += steps; m.steps > expressionBudget {
		m.stop("steps", "it took more than %d steps: iterate over less, or in fewer nested loops", expressionBudget)
		return exceeds("%s", m.stopped)
	}
	return nil
}

func (m *meter) stop(limit, format string, args ...any) {
	m.limit, m.stopped = limit, fmt.Sprintf(format, args...)
}

// Cancel implements topdown.Cancel.
func (m *meter) Cancel() { m.stopped = "it was cancelled" }

// Cancelled implements topdown.Cancel.
func (m *meter) Cancelled() bool {
	const clockEvery = 8 // reading the clock costs as much as a small expression
	m.steps++
	m.asked++ // not steps, which calls add to by amounts that may never meet a multiple
	switch {
	case m.stopped != "":
	case m.spend(0) != nil:
	case m.asked%clockEvery != 0 && !m.extended:
	case m.ctx.Err() != nil:
		m.stop("", "the request's own deadline passed")
	case m.overdue(time.Now()):
		m.stop("timeout", "it took longer than its timeout of %s", m.timeout)
	}
	return m.stopped != ""
}

// overdue says whether the deadline has passed. The first time that it has, there is a
// tenth more from then on: a policy that the machine did not let run, and that has
// little left to do, comes to its end, and one that never ends gains next to nothing.
func (m *meter) overdue(now time.Time) bool {
	if !now.After(m.deadline) {
		return false
	}
	if m.extended {
		return true
	}
	m.extended, m.deadline = true, now.Add(m.timeout/10)
	return false
}
