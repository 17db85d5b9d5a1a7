package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// evalError is the reason why a policy could not be evaluated.
type evalError struct {
	message  string
	location definition.Location // zero where unknown
	limit    string              // steps, bytes, timeout, function or source where a limit was reached
	unknown  bool                // the input lacks what the policy reads
}

// runQuery evaluates the query. results are the values for each rule of the query, or nil after an
// error that ended the evaluation. Errors that did not end it (a function that failed in one
// rule) are returned together with the values of the other rules. steps is the work that was done.
func runQuery(ctx context.Context, q *policyset.Query, options eval.Options) (results [][]eval.Given, steps int64, errs []evalError) {
	_, report, err := q.Program.Run(ctx, q.Rules, options)
	if unknown, ok := errors.AsType[*eval.UnknownError](err); ok {
		return nil, report.Steps, []evalError{unknownError(unknown)}
	}
	var limit *eval.LimitError
	if errors.As(err, &limit) {
		return nil, report.Steps, []evalError{{message: limit.Message, limit: limit.Limit}}
	}
	results = report.Given
	switch {
	case err != nil:
		results, errs = nil, append(errs, newEvalError(err))
	case results == nil:
		results = noResults
	}
	for _, err := range report.Errors {
		if err := newEvalError(err); err.limit != "" || !q.Lenient {
			errs = append(errs, err)
		}
	}
	return results, report.Steps, errs
}

// unknownError is the error of an evaluation that depends on an unknown value.
func unknownError(err *eval.UnknownError) evalError {
	return evalError{message: "it reads " + err.Reference + ", which is masked or not recorded", unknown: true}
}

// noResults is the result of most policies: none at either entry point.
var noResults = make([][]eval.Given, 2)

// valueFree are the errors of functions that quote no value.
var valueFree = []string{"divide by zero", "modulo by zero", "modulo on floating-point number"}

// withoutValues is the error of a function without the values that it quotes: they may be
// those of a Secret, and the error goes to users, logs, Events and status.
func withoutValues(message string) string {
	function, detail, _ := strings.Cut(message, ": ")
	if slices.Contains(valueFree, detail) {
		return message
	}
	return function + " cannot use its operand (not shown: it may be secret)"
}

// newEvalError returns the error of an evaluation, or of one function in it.
func newEvalError(err error) evalError {
	var failure *topdown.Error
	if !errors.As(err, &failure) {
		return evalError{message: err.Error()}
	}
	found := evalError{message: failure.Message, location: definition.LocationOf(failure.Location)}
	var limit *sandbox.LimitError
	switch {
	case errors.As(failure, &limit):
		found.limit = "function"
	case failure.Code == topdown.BuiltinErr:
		found.message = withoutValues(failure.Message)
	}
	return found
}
