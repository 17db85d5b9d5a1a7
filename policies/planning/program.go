package planning

import (
	"errors"
	"strings"

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
func CheckGrowth(compiler *ast.Compiler, rules ...ast.Ref) (repeated int64, errs definition.CompileErrors) {
	growth := plan.Estimate(compiler, rules...)
	if growth.Planned > growth.Written+MaxGrowth {
		return 0, definition.CompileErrors{definition.ErrorAt(growth.Where, "this is planned anew for every rule or package that it may mean, and under every `with` that replaces a rule or function, which makes %d times as much of the policies as is written: name the rule or package, or put what is replaced into input", growth.Planned/max(growth.Written, 1))}
	}
	if growth.Uneven != nil {
		return 0, definition.CompileErrors{definition.ErrorAt(growth.Uneven, "a variable stands here in the place of keys of which some are rules and others have rules below them: name the keys, or have all rules at the same depth")}
	}
	return growth.Again, nil
}

// NewProgram makes the program that evaluates rules of what was compiled, which CheckGrowth
// does not refuse. A rule that is not there is left out.
func NewProgram(compiler *ast.Compiler, functions eval.Functions, options eval.CompileOptions, rules ...ast.Ref) (*eval.Program, definition.CompileErrors) {
	planned, err := plan.Rules(compiler, rules...)
	if err != nil {
		return nil, notPlanned(compiler, err)
	}
	program, err := eval.Compile(planned, functions, options)
	if err != nil {
		return nil, notPlanned(compiler, err)
	}
	return program, nil
}

// notPlanned is the error of OPA's planner, which begins with a place where it knows one.
func notPlanned(compiler *ast.Compiler, err error) definition.CompileErrors {
	var unordered *eval.UnorderedError
	if errors.As(err, &unordered) {
		return definition.CompileErrors{definition.ErrorAt(unordered.Location, "%s", unordered.Message())}
	}
	message := err.Error()
	for _, module := range compiler.Modules {
		for _, rule := range module.Rules {
			rest, at := strings.CutPrefix(message, rule.Location.String()+": ")
			if name, shared := strings.CutSuffix(rest, " is not supported: rules sharing that path prefix are planned as a single function"); at && shared {
				return definition.CompileErrors{definition.ErrorAt(rule.Location, "a rule refers to %s, with which it shares the beginning of its name, or one that it calls does: give one of them another name", strings.TrimPrefix(name, "reference to "))}
			}
			if at {
				return definition.CompileErrors{definition.ErrorAt(rule.Location, "%s", rest)}
			}
		}
	}
	return definition.CompileErrors{{Message: message}}
}
