package eval

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// conflict is the error of rules that give one name two values, first here and then
// there; its location is that of the second.
func (f *plannedFunction) conflict(first, second *ast.Location) error {
	what := "rule " + f.path + " produced conflicting values"
	if f.takesArguments() {
		what = "function " + f.path + " produced conflicting values for the same inputs"
	}
	if first != nil && (first.File != second.File || first.Row != second.Row) {
		what += fmt.Sprintf(" (%s:%d and %s:%d)", first.File, first.Row, second.File, second.Row)
	}
	return &topdown.Error{Code: topdown.ConflictErr, Location: second, Message: what}
}

func keyConflict(at *ast.Location) error {
	return &topdown.Error{Code: topdown.ConflictErr, Location: at, Message: "object keys must be unique"}
}
