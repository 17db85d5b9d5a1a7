package sandbox

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// JSON is a result of a policy as JSON values, within the limits: results share
// their parts, and JSON does not.
func JSON(term *ast.Term) (any, error) {
	if count, bytes := nodes(term); count > MaxNodes || bytes > MaxStringBytes {
		return nil, fmt.Errorf("a result is larger than %d values or %d bytes", MaxNodes, MaxStringBytes)
	}
	return ast.JSON(term.Value)
}
