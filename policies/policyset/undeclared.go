package policyset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// undeclaredReads finds the reads of kinds that no policy of the source requires. They
// would be undefined without an error, and a rule with `not` would be true because of that.
func (s *Set) undeclaredReads(modules map[string]*ast.Module) definition.CompileErrors {
	var errs definition.CompileErrors
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		ast.WalkRefs(modules[name], func(ref ast.Ref) bool {
			if err := s.readError(ref); err != nil {
				errs = append(errs, definition.ErrorAt(ref[0].Location, "%v", err))
			}
			return false
		})
	}
	return errs
}

func (s *Set) readError(ref ast.Ref) error {
	key, constant := clusterName(ref)
	if _, required := s.document.Required[key]; required || !constant {
		return nil
	}
	kind, group, _ := strings.Cut(key, ".")
	if kind == "" || strings.Contains(key, "/") {
		return fmt.Errorf("data.cluster[%q] names no kind: write Kind.group, or Kind alone for the core group", key)
	}
	return fmt.Errorf("data.cluster[%q] is not required by any policy of this source; "+
		"add {group: %q, kind: %s} to custom.requires in the METADATA of the package", key, group, kind)
}
