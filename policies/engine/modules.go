package engine

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Modules parses the modules of a source, by file, as Compile does but without what it
// adds to them: for analyses of the text. Tests are not among them.
func Modules(source Source) (map[string]*ast.Module, error) {
	modules, errs := parseModules(source.Files, fileRego)
	if len(errs) > 0 {
		return nil, errs
	}
	return modules, nil
}

// parseModules parses those of some files that are of the given classes, by file.
func parseModules(files map[string]string, classes ...fileClass) (modules map[string]*ast.Module, errs CompileErrors) {
	modules = map[string]*ast.Module{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !slices.Contains(classes, classify(name)) {
			continue
		}
		module, moduleErrs := parseModule(name, files[name])
		errs = append(errs, moduleErrs...)
		if module != nil {
			modules[name] = module
		}
	}
	return modules, errs
}

// Compiler is what a set of Verify was compiled by, with the graph of its rules and what
// the engine adds to them: for analyses, not to be changed. It is nil for other sets, which
// live long.
func (s *PolicySet) Compiler() *ast.Compiler { return s.compiler }
