package engine

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// TestModules are what the Rego tests of a source need: its modules with those of the
// tests, by file; a compiler for them, with the functions of policies, which has compiled nothing yet; and
// its data.
func TestModules(source Source) (map[string]*ast.Module, *ast.Compiler, eval.Document, CompileErrors) {
	set := newPolicySet(source)
	_, errs := set.readFiles()
	modules := map[string]*ast.Module{}
	for _, name := range slices.Sorted(maps.Keys(source.Files)) {
		if class := classify(name); class != fileRego && class != fileTest {
			continue
		}
		module, moduleErrs := parseModule(name, source.Files[name])
		errs = append(errs, moduleErrs...)
		if module != nil {
			modules[name] = module
		}
	}
	compiler := bounds.OfSources.On(ast.NewCompiler()).WithCapabilities(sandbox.Capabilities()).
		WithEvalMode(ast.EvalModeIR).
		WithEnablePrintStatements(true).
		WithPathConflictsCheck(func(path []string) (bool, error) { return set.hasData(path), nil })
	return modules, compiler, eval.ObjectDocument(set.data), distinct(errs)
}
