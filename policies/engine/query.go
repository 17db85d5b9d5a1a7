package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// StepBudget is how many expressions one evaluation of one policy may take. It
// makes the command line and the webhook stop at the same point, which a deadline
// alone cannot.
const StepBudget = 200_000

// query is a prepared question to one policy, safe for concurrent use.
type query struct {
	body     ast.Body
	compiler *ast.Compiler
	result   ast.Var
	// lenient takes the failure of a function for undefined, as OPA does by default.
	// That of a limit is a failure all the same.
	lenient bool
}

// newQuery prepares a query for the values of several terms together.
func newQuery(compiler *ast.Compiler, terms ...*ast.Term) (*query, error) {
	body := ast.NewBody(ast.Equality.Expr(ast.VarTerm("result"), ast.ArrayTerm(terms...)))
	compiled, err := compiler.QueryCompiler().Compile(body)
	if err != nil {
		return nil, err
	}
	return &query{body: compiled, compiler: compiler, result: "result"}, nil
}

// evalError is why a policy could not be evaluated.
type evalError struct {
	message  string
	location Location // zero where unknown
	limit    string   // steps, timeout or function where a limit was reached
}

// run evaluates the query. values has one element per term of the query, and is
// nil after an error that ended the evaluation; errors that did not (a builtin
// that failed in one rule) come beside the values of the other rules.
func (q *query) run(ctx context.Context, input *ast.Term, data *dataView, timeout time.Duration, now time.Time, observers ...func(*topdown.Query) *topdown.Query) (values []*ast.Term, errs []evalError) {
	meter := &meter{ctx: ctx, timeout: timeout, deadline: time.Now().Add(timeout)}
	results := newRuleCache()
	defer results.release()
	var builtinErrors []topdown.Error
	query := topdown.NewQuery(q.body).
		WithCompiler(q.compiler).
		WithStore(data).
		WithTransaction(data).
		WithInput(input).
		WithTime(now).
		WithMetrics(metrics.NoOp()).
		WithCancel(meter).
		WithVirtualCache(results).
		WithBuiltinErrorList(&builtinErrors)
	for _, observe := range observers {
		query = observe(query)
	}
	err := query.Iter(ctx, func(result topdown.QueryResult) error {
		array := result[q.result].Value.(*ast.Array)
		for i := range array.Len() {
			values = append(values, array.Elem(i))
		}
		return nil
	})
	if meter.stopped != "" {
		return nil, []evalError{{message: meter.stopped, limit: meter.limit}}
	}
	if err != nil {
		values = nil
		var failure *topdown.Error
		if errors.As(err, &failure) {
			errs = append(errs, builtinError(failure))
		} else {
			errs = append(errs, evalError{message: err.Error()})
		}
	}
	for i := range builtinErrors {
		if err := builtinError(&builtinErrors[i]); err.limit != "" || !q.lenient {
			errs = append(errs, err)
		}
	}
	return values, errs
}

// valueFree are the errors of functions that quote no value.
var valueFree = []string{"divide by zero", "modulo by zero", "modulo on floating-point number"}

// withoutValues is the error of a function without the values that it quotes: they may be
// those of a Secret, and the error goes to users, logs, Events and status.
func withoutValues(message string) string {
	function, detail, _ := strings.Cut(message, ": ")
	if slices.Contains(valueFree, detail) {
		return message
	}
	return function + " cannot use the value that it was given (not shown: it may be secret)"
}

func builtinError(failure *topdown.Error) evalError {
	err := evalError{message: failure.Message, location: locationOf(failure.Location)}
	var limit *limitError
	if failure.Code == topdown.BuiltinErr && !errors.As(failure, &limit) {
		err.message = withoutValues(failure.Message)
	}
	if errors.As(failure, &limit) {
		err.limit = "function"
	}
	return err
}

// meter stops an evaluation: OPA asks it before every expression. It belongs to
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
	if m.steps += steps; m.steps > StepBudget {
		m.stop("steps", "it took more than %d steps: iterate over less, or in fewer nested loops", StepBudget)
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
