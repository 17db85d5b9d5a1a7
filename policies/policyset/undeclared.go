package policyset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// undeclaredReads finds the reads of kinds and DataSources that no policy of the source names. They
// would be undefined without an error, and a rule with `not` would be true because of that.
func (s *Set) undeclaredReads(modules map[string]*ast.Module) definition.CompileErrorList {
	var errs definition.CompileErrorList
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
	if name, reads := externalName(ref); reads {
		return s.externalError(name)
	}
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

// externalError is the error of a read of data.external by a name that no policy declares.
func (s *Set) externalError(name string) error {
	switch {
	case s.namesExternal(name):
		return nil
	case name == "":
		return fmt.Errorf("data.external is read, and no policy of this source names a DataSource; " +
			"add external: [name] under custom in the METADATA of the package")
	}
	if !definition.IsDataSourceName(name) {
		return fmt.Errorf("data.external[%q]: %q is not the name of a DataSource", name, name)
	}
	return fmt.Errorf("data.external[%q] is not named by any policy of this source; "+
		"add external: [%s] under custom in the METADATA of the package", name, name)
}

// namesExternal reports whether a policy of the set names a DataSource: any of them for "".
func (s *Set) namesExternal(name string) bool {
	_, named := slices.BinarySearch(s.document.External, name)
	return named || name == "" && len(s.document.External) > 0
}

// externalReads lists the DataSources that modules read, as of externalName, sorted.
func externalReads(modules []*ast.Module) (names []string) {
	for _, module := range modules {
		ast.WalkRefs(module, func(ref ast.Ref) bool {
			if name, reads := externalName(ref); reads {
				names = append(names, strings.Clone(name))
			}
			return false
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}
