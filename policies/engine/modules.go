package engine

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Modules parses the modules of a source, by file, as Compile does but without what it
// adds to them: for analyses of the text. Tests are not among them.
func Modules(source Source) (map[string]*ast.Module, error) {
	modules := map[string]*ast.Module{}
	var errs CompileErrors
	for _, name := range slices.Sorted(maps.Keys(source.Files)) {
		if classify(name) != fileRego {
			continue
		}
		module, moduleErrs := parseModule(name, source.Files[name])
		errs = append(errs, moduleErrs...)
		modules[name] = module
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return modules, nil
}

// Compiler is what a set of Verify was compiled by, with the graph of its rules and what
// the engine adds to them: for analyses, not to be changed. It is nil for other sets, which
// live long.
func (s *PolicySet) Compiler() *ast.Compiler { return s.compiler }
