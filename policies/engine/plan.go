package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
)

// maxGrowth is how many terms OPA may plan beyond those that are written, as they are
// planned again under a `with` and for each rule that a reference may mean.
const maxGrowth = 50_000

// plan makes the program that evaluates the policies.
func (s *PolicySet) plan() (*eval.Program, CompileErrors) {
	var rules []ast.Ref
	for _, p := range s.policies {
		for _, entry := range []string{entryDeny, entryWarn, entryPatch, entryDefaults, entryViolation} {
			rules = append(rules, p.entry(entry))
		}
	}
	slices.SortFunc(rules, ast.RefCompare) // the constraints of a template share its rules
	rules = slices.CompactFunc(rules, ast.RefEqual)
	growth := eval.Estimate(s.compiler, rules...)
	if growth.Planned > growth.Written+maxGrowth {
		return nil, CompileErrors{errorAt(growth.Where, "this is planned anew for every rule or package that it may mean, and under every `with` that replaces a rule or function, which makes %d times as much of the policies as is written: name the rule or package, or put what is replaced into input", growth.Planned/max(growth.Written, 1))}
	}
	if growth.Uneven != nil {
		return nil, CompileErrors{errorAt(growth.Uneven, "a variable stands here in the place of keys of which some are rules and others have rules below them: name the keys, or have all rules at the same depth")}
	}
	if !s.prints { // coverage names columns
		compact(s.compiler.Modules) // OPA's planner reads all text of an expression for each of its terms
	}
	planned, err := eval.Plan(s.compiler, rules...)
	if err != nil {
		return nil, s.notPlanned(err)
	}
	program, err := eval.Compile(planned, callable, eval.CompileOptions{Capabilities: capabilities(), Cover: s.prints})
	if err != nil {
		return nil, s.notPlanned(err)
	}
	return program, nil
}

// notPlanned is the error of OPA's planner, which begins with a place where it knows one.
func (s *PolicySet) notPlanned(err error) CompileErrors {
	var unordered *eval.UnorderedError
	if errors.As(err, &unordered) {
		return CompileErrors{errorAt(unordered.Location, "%s", unordered.Message())}
	}
	message := err.Error()
	for _, module := range s.compiler.Modules {
		for _, rule := range module.Rules {
			rest, at := strings.CutPrefix(message, rule.Location.String()+": ")
			if name, shared := strings.CutSuffix(rest, " is not supported: rules sharing that path prefix are planned as a single function"); at && shared {
				return CompileErrors{errorAt(rule.Location, "a rule refers to %s, with which it shares the beginning of its name, or one that it calls does: give one of them another name", strings.TrimPrefix(name, "reference to "))}
			}
			if at {
				return CompileErrors{errorAt(rule.Location, "%s", rest)}
			}
		}
	}
	return CompileErrors{{Message: message}}
}
