package policyset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/terms"
)

// newSet returns a set of the source with its defaults, without policies.
func newSet(source definition.Source) *Set {
	set := &Set{source: source.Pin(), document: Document{Data: ast.NewObject()}}
	set.document.Scope = ast.ObjectTerm(
		ast.Item(ast.InternedTerm("level"), ast.InternedTerm(string(set.source.Scope.Level))),
		ast.Item(ast.InternedTerm("name"), ast.InternedTerm(source.Scope.Name)),
	)
	return set
}

// readParameters decodes the parameters of the source.
func (s *Set) readParameters() error {
	s.document.Parameters = ast.ObjectTerm()
	if len(s.source.Parameters) == 0 {
		return nil
	}
	term, err := terms.Decode(s.source.Parameters)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if _, ok := term.Value.(ast.Object); !ok {
		return fmt.Errorf("parameters: not an object")
	}
	s.document.Parameters = term
	return nil
}

// readFiles parses the modules, by path, and merges the data files.
func (s *Set) readFiles() ([]*ast.Module, definition.CompileErrorList) {
	s.digestFiles()
	parsed, data, errs := definition.ReadFiles(s.source.Files, definition.FileRego)
	s.document.Data = data
	return byFile(slices.Collect(maps.Values(parsed))), errs
}

// byFile sorts modules by the names of their files.
func byFile(modules []*ast.Module) []*ast.Module {
	return slices.SortedFunc(slices.Values(modules), func(a, b *ast.Module) int {
		return cmp.Compare(a.Package.Location.File, b.Package.Location.File)
	})
}

// digestFiles computes the digests by which a later set detects unchanged files.
func (s *Set) digestFiles() {
	s.fileDigests = map[string]string{}
	var data strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.source.Files)) {
		switch definition.Classify(name) {
		case definition.FileRego:
			s.fileDigests[name] = digestOf(s.source.Files[name])
		case definition.FileData:
			fmt.Fprintf(&data, "%q %s ", name, digestOf(s.source.Files[name]))
		}
	}
	s.dataDigest = digestOf(data.String())
}

// readDataSince reads the data files, unless another set has the same.
func (s *Set) readDataSince(before *Set) (ok bool) {
	s.digestFiles()
	if s.dataDigest == before.dataDigest && before.document.Data != nil {
		s.document.Data = before.document.Data
		return true
	}
	data, errs := definition.ReadData(s.source.Files)
	s.document.Data = data
	return len(errs) == 0
}

// readTemplates reads the policies in the forms of other hosts. It stores mutators and templates
// without Rego, which need no compilation, for assemble.
func (s *Set) readTemplates(dialects []definition.Dialect) (templates []definition.Template, errs definition.CompileErrorList) {
	for _, dialect := range dialects {
		found, dialectErrs := dialect(s.source.Files)
		errs = append(errs, dialectErrs...)
		for _, template := range found {
			switch {
			case template.Mutators != nil:
				s.mutators = append(s.mutators, template.Mutators)
			case len(template.Modules) == 0:
				s.unplanned = append(s.unplanned, template)
			default:
				templates = append(templates, template)
			}
		}
	}
	return templates, errs
}
