package policyset

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// dataRead is a reference to data by the rules that a policy evaluates.
type dataRead struct {
	path []string // as far as it is constant
	definition.CompileError
}

// collectReads are the constant paths below data that rules read, each once, without those that
// Lintel fills itself. mocks are the paths that they replace by `with`.
func collectReads(rules map[*ast.Rule]bool) (reads []dataRead, mocks [][]string) {
	first := map[string]dataRead{}
	for rule := range rules {
		ast.WalkRefs(rule, func(ref ast.Ref) bool {
			if !ref[0].Equal(ast.DefaultRootDocument) {
				return false
			}
			path := constantPath(ref)
			if len(path) == 0 || slices.Contains(definition.ReservedKeys, path[0]) {
				return false
			}
			one := dataRead{path, definition.ErrorAt(ref[0].Location, "")}
			if known, ok := first[pathKey(path)]; !ok || one.Compare(known.CompileError) < 0 {
				first[pathKey(path)] = one
			}
			return false
		})
		mocks = append(mocks, collectMocks(rule, nil)...)
	}
	for _, one := range first {
		reads = append(reads, one)
	}
	return reads, mocks
}

// collectMocks are the paths below data that a part of a module replaces by `with`. aliases are
// the imports of a module that is not compiled.
func collectMocks(node any, aliases map[ast.Var]ast.Ref) (paths [][]string) {
	ast.WalkWiths(node, func(with *ast.With) bool {
		ref, ok := with.Target.Value.(ast.Ref)
		if !ok {
			return false
		}
		if name, isVar := ref[0].Value.(ast.Var); isVar && aliases[name] != nil {
			ref = aliases[name].Concat(ref[1:])
		}
		if ref[0].Equal(ast.DefaultRootDocument) {
			paths = append(paths, constantPath(ref))
		}
		return false
	})
	return paths
}

// externalRefs are the constant parts of references to data in compiled modules, each once,
// without those to what Lintel fills itself and to the packages of the modules.
func externalRefs(modules []*ast.Module) (refs []ast.Ref) {
	seen := map[string]bool{}
	add := func(ref ast.Ref) bool {
		if !ref[0].Equal(ast.DefaultRootDocument) || slices.ContainsFunc(modules, func(own *ast.Module) bool { return ref.HasPrefix(own.Package.Path) }) {
			return false
		}
		prefix := ref.ConstantPrefix()
		if len(prefix) < 2 || slices.Contains(definition.ReservedKeys, strings.Trim(prefix[1].String(), `"`)) || seen[prefix.String()] {
			return false
		}
		seen[prefix.String()] = true
		refs = append(refs, detachedRef(prefix))
		return false
	}
	for _, module := range modules {
		ast.WalkRefs(module, add)
	}
	return refs
}
