// Package exceptions contains the rule about PolicyExceptions.
//
// Invariant: an exception is admitted only if its requester may make exceptions for the scope
// that owns the rule, or for a broader one, and only if the engine would honor it.
package exceptions

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

//go:embed *.rego
var files embed.FS

// Facts are what the rule reads as input.facts.
type Facts struct {
	// Permitted reports whether the requester may make exceptions for one of Scopes, the IDs of
	// the scopes that may: that of the exception, named Scope in messages, and those above it.
	Permitted bool     `json:"permitted"`
	Scope     string   `json:"scope"`
	Scopes    []string `json:"scopes"`
	// Problems are why the exception would have no effect.
	Problems []engine.ExceptionProblem `json:"problems"`
	Expired  bool                      `json:"expired"`
	// Warning is shown to the requester; empty for none.
	Warning string `json:"warning"`
}

// New compiles the rule.
func New() (*engine.Snapshot, error) { return rules.Snapshot("exceptions", files, nil) }
