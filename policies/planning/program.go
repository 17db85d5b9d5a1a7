package planning

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/eval/plan"
)

// MaxGrowth is how many terms OPA may plan beyond those that are written, as they are
// planned again under a `with` and for each rule that a reference may mean.
const MaxGrowth = 50_000

// CheckGrowth refuses rules of which OPA would plan far more than is written, and says how
// many terms it would plan again.
func CheckGrowth(compiler *ast.Compiler, rules ...ast.Ref) (repeated int64, errs definition.CompileErrorList) {
	growth := plan.Estimate(compiler, rules...)
	if growth.Planned > growth.Written+MaxGrowth {
		return 0, definition.CompileErrorList{definition.ErrorAt(growth.Where, "this reference is planned again for every rule or package that it may mean, and under every `with` that replaces a rule or function: the plan is %d times as large as the policies; name the rule or package, or move the replaced value into input", growth.Planned/max(growth.Written, 1))}
	}
	if growth.Uneven != nil {
		return 0, definition.CompileErrorList{definition.ErrorAt(growth.Uneven, "a variable stands here in the place of keys of which some are rules and others have rules below them: name the keys, or have all rules at the same depth")}
	}
	return growth.Again, nil
}

// NewProgram creates the program that evaluates rules of compiled policies, which must have
// passed CheckGrowth. Missing rules are omitted.
func NewProgram(compiler *ast.Compiler, functions eval.FunctionLookup, options eval.CompileOptions, rules ...ast.Ref) (*eval.Program, definition.CompileErrorList) {
	planned, err := plan.Rules(compiler, rules...)
	if err != nil {
		return nil, notPlanned(compiler, err, rules)
	}
	program, err := eval.Compile(planned, functions, options)
	if err != nil {
		return nil, notPlanned(compiler, err, rules)
	}
	return program, nil
}
