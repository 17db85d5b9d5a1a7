package functions

import (
	"fmt"
	"regexp"

	celast "github.com/google/cel-go/common/ast"
)

// impure are Kyverno's variables with functions that read more than their arguments, with the
// reason and a hint.
var impure = map[string]string{
	"resource":      "it reads or writes objects of the cluster during the review; write the policy in Rego with requires in its METADATA, and read data.cluster",
	"globalContext": "it reads data that Kyverno fetches; provide the data with a DataSource, or read data.cluster, in a policy in Rego",
	"http":          "it calls a server during the review; provide the data with a DataSource, in a policy in Rego",
	"image":         "it reads from a registry during the review; provide the data of the images with a DataSource, in a policy in Rego",
	"images":        "ValidatingPolicies have no list of images",
	"generator":     "ValidatingPolicies create no objects",
}

// impureCalls are functions that are not a member of such a variable.
var impureCalls = map[string]string{
	"time.now":      "its result changes with the clock; write the policy in Rego, with clock: true in its METADATA",
	"random":        "its result is random",
	"random.random": "its result is random",
}

var undeclared = regexp.MustCompile(`^undeclared reference to '(\w+)'`)

// Refusal returns the refusal of an impure function that the message of the type checker is about;
// empty if it is about something else.
func Refusal(message, expression string) string {
	found := undeclared.FindStringSubmatch(message)
	if found == nil || impure[found[1]] == "" {
		return ""
	}
	name := found[1]
	if call := regexp.MustCompile(`\b` + name + `\s*\.\s*(\w+)\s*\(`).FindStringSubmatch(expression); call != nil {
		name += "." + call[1]
	}
	return fmt.Sprintf("%s is not supported: %s", name, impure[found[1]])
}

// RefusedCall returns the refusal of the first call of an impure function, and the call; nil if
// there is none.
func RefusedCall(root celast.Expr) (call celast.Expr, refusal string) {
	celast.PreOrderVisit(root, celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.CallKind || call != nil {
			return
		}
		name := e.AsCall().FunctionName()
		if e.AsCall().IsMemberFunction() {
			if target := e.AsCall().Target(); target.Kind() == celast.IdentKind {
				name = target.AsIdent() + "." + name
			}
		}
		if why := impureCalls[name]; why != "" {
			call, refusal = e, fmt.Sprintf("%s is not supported: %s", name, why)
		}
	}))
	return call, refusal
}
