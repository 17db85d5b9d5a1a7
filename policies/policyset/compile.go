package policyset

import (
	"github.com/lintel-policy/lintel/policies/definition"
)

// Compile compiles a source. The error is a CompileErrorList: all that is wrong, by
// file and line. Policies in other forms than Lintel's own come from the dialects.
func Compile(source definition.Source, dialects ...definition.Dialect) (*Set, error) {
	return newSet(source).compileAll(dialects)
}

// CompileForTest is Compile with the calls of print, which are otherwise left out, and with
// what telling coverage and explaining rules needs.
func CompileForTest(source definition.Source, dialects ...definition.Dialect) (*Set, error) {
	set := newSet(source)
	set.prints = true
	return set.compileAll(dialects)
}

// Recompile is Compile with an earlier set of the source, compiled with the same dialects. A
// package or template that is unchanged, and depends only on unchanged ones, is reused. The set
// and the errors are the same as Compile's. before may be nil.
func Recompile(source definition.Source, before *Set, dialects ...definition.Dialect) (*Set, error) {
	return newSet(source).compileIncrementally(before, dialects)
}

// Verify is Recompile for a process that has only facts of the earlier set. It keeps the
// compiler's results. The set cannot be evaluated: it has only the policies that were compiled,
// and its Compiler has them and their dependencies. If known is nil, the set is complete.
func Verify(source definition.Source, known *Known, dialects ...definition.Dialect) (*Set, error) {
	s := newSet(source)
	s.analysed = true
	if known == nil {
		return s.compileAll(dialects)
	}
	return s.compileIncrementally(knownSet(*known), dialects)
}

// compileAll compiles all units.
func (s *Set) compileAll(dialects []definition.Dialect) (*Set, error) {
	if err := s.readParameters(); err != nil {
		return nil, definition.CompileErrorList{{Message: err.Error()}}
	}
	modules, errs := s.readFiles()
	templates, dialectErrs := s.readTemplates(dialects)
	if errs = append(errs, dialectErrs...); len(errs) > 0 {
		return nil, definition.Distinct(errs)
	}
	drafts := draftsOf(modules, templates, s.fileDigests)
	built, errs := s.build(drafts)
	if len(errs) > 0 {
		return nil, definition.Distinct(errs)
	}
	for _, d := range drafts {
		s.units = append(s.units, built[d])
	}
	if errs := s.assemble(templates); len(errs) > 0 {
		return nil, definition.Distinct(errs)
	}
	return s, nil
}

// compileIncrementally reuses the units of an earlier set if it can, and compiles all otherwise.
func (s *Set) compileIncrementally(before *Set, dialects []definition.Dialect) (*Set, error) {
	if before != nil {
		incremental := *s
		if incremental.compileChanges(before, dialects) {
			return &incremental, nil
		}
	}
	return s.compileAll(dialects)
}
