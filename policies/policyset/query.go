package policyset

import (
	"github.com/lintel-policy/lintel/policies/eval"
)

// Query selects the entry points of one policy in a program. It is safe for concurrent use.
type Query struct {
	Program *eval.Program
	// Rules are evaluated in their order; an element is nil if the policy lacks the entry point.
	Rules []*eval.Rule
	// Lenient treats the failure of a function as undefined, as OPA does by default. Reaching a
	// limit remains a failure.
	Lenient bool
}
