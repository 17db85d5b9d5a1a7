package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// unrequired finds the reads of kinds that no policy of the source requires. They
// would be undefined without a word, and a rule with `not` would hold for that.
func (s *PolicySet) unrequired(modules map[string]*ast.Module) definition.CompileErrors {
	var errs definition.CompileErrors
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		ast.WalkRefs(modules[name], func(ref ast.Ref) bool {
			if err := s.checkRead(ref); err != nil {
				errs = append(errs, definition.ErrorAt(ref[0].Location, "%v", err))
			}
			return false
		})
	}
	return errs
}

// clusterName is that by which a reference reads cluster objects, where it has one.
func clusterName(ref ast.Ref) (name string, ok bool) {
	if len(ref) < 3 || !ref[0].Equal(ast.DefaultRootDocument) || !ref[1].Equal(ast.InternedTerm(definition.ClusterKey)) {
		return "", false
	}
	key, constant := ref[2].Value.(ast.String)
	return string(key), constant
}

func (s *PolicySet) checkRead(ref ast.Ref) error {
	key, constant := clusterName(ref)
	if _, required := s.required[key]; required || !constant {
		return nil
	}
	kind, group, _ := strings.Cut(key, ".")
	if kind == "" || strings.Contains(key, "/") {
		return fmt.Errorf("data.cluster[%q] names no kind: write Kind.group, or Kind alone for the core group", key)
	}
	return fmt.Errorf("data.cluster[%q] is not required by any policy of this source; "+
		"add {group: %q, kind: %s} to custom.requires in the METADATA of the package", key, group, kind)
}
