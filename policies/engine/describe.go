package engine

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Source is what the set was compiled from; not to be changed.
func (s *PolicySet) Source() Source { return s.source }

// Describe lists the policies of the set by package.
func (s *PolicySet) Describe() []PolicyInfo {
	infos := make([]PolicyInfo, len(s.policies))
	for i, p := range s.policies {
		infos[i] = p.info()
	}
	return infos
}

// Reads are the paths under data that the rules read and that neither a package nor a
// data file of the source defines, as far as they are constant: a.b for data.a.b[x].
// What Lintel fills itself is left out.
func (s *PolicySet) Reads() []string {
	packages := map[string]bool{}
	for _, module := range s.compiler.Modules {
		packages[module.Package.Path.String()] = true
	}
	found := map[string]bool{}
	for _, module := range s.compiler.Modules {
		ast.WalkRefs(module, func(ref ast.Ref) bool {
			if path := s.undefined(ref, packages); path != "" {
				found[path] = true
			}
			return false
		})
	}
	return sortedKeys(found)
}

func (s *PolicySet) undefined(ref ast.Ref, packages map[string]bool) string {
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return ""
	}
	prefix := ref.ConstantPrefix()
	if len(prefix) < 2 || slices.Contains(reservedKeys, strings.Trim(prefix[1].String(), `"`)) {
		return ""
	}
	var keys []string
	for i := 2; i <= len(prefix); i++ {
		if packages[prefix[:i].String()] {
			return ""
		}
		key, ok := prefix[i-1].Value.(ast.String)
		if !ok {
			break
		}
		keys = append(keys, string(key))
	}
	if s.hasData(keys) {
		return ""
	}
	return strings.TrimPrefix(prefix.String(), "data.")
}

// Defines says whether data files of the source have something at a path under data: a.b.
func (s *PolicySet) Defines(path string) bool { return s.hasData(strings.Split(path, ".")) }
