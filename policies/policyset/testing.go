package policyset

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// TestModules are what the Rego tests of a source need: its modules with those of the
// tests, by file; a compiler for them, with the functions of policies, which has compiled nothing yet; and
// its data.
func TestModules(source definition.Source) (map[string]*ast.Module, *ast.Compiler, eval.Document, definition.CompileErrorList) {
	modules, own, errs := definition.ReadFiles(source.Files, definition.FileRego, definition.FileTest)
	compiler := bounds.OfSources.On(ast.NewCompiler()).WithCapabilities(sandbox.Capabilities()).
		WithEvalMode(ast.EvalModeIR).
		WithEnablePrintStatements(true).
		WithPathConflictsCheck(func(path []string) (bool, error) { return definition.Descend(own, path) != nil, nil })
	return modules, compiler, eval.ObjectDocument(own), definition.Distinct(errs)
}
