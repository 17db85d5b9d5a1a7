package policyset

import (
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/planning"
)

// compileChanges is an incremental compilation in three steps: plan the reuse of units of an
// earlier set, compile the rest, and assemble the set. It returns false if anything is invalid,
// because errors are reported in the order of all files, and if most units have changed.
func (s *Set) compileChanges(before *Set, dialects []definition.Dialect) (ok bool) {
	if s.readParameters() != nil || !s.readDataSince(before) {
		return false
	}
	templates, errs := s.readTemplates(dialects)
	if len(errs) > 0 {
		return false
	}
	plan, ok := planReuse(s, before, templates)
	if !ok {
		return false
	}
	s.requireAll(plan, templates)
	var compiled map[*draft]*unit
	if drafts := plan.drafts(); len(drafts) > 0 {
		if compiled, errs = s.build(drafts); len(errs) > 0 {
			return false
		}
	}
	s.units = plan.merge(compiled)
	return s.readsAreDeclared() && withinBounds(s.units) && len(s.assemble(templates)) == 0
}

// requireAll records the kinds that reused units and constraints require, and their DataSources. Those of compiled units
// are recorded by build.
func (s *Set) requireAll(plan *reusePlan, templates []definition.Template) {
	s.document.Required = map[string]admission.GroupVersionKind{}
	for _, n := range plan.units {
		if n.reused != nil {
			s.require(n.reused.Requires)
			s.readExternal(n.reused.External)
		}
	}
	for _, template := range templates {
		for _, constraint := range template.Constraints {
			s.require(constraint.Requires)
			s.readExternal(constraint.External)
		}
	}
}

// readsAreDeclared reports whether a policy of the set names each kind and each DataSource that a
// unit reads.
func (s *Set) readsAreDeclared() bool {
	for _, u := range s.units {
		for _, name := range u.KindsRead {
			if _, required := s.document.Required[name]; !required {
				return false
			}
		}
		for _, name := range u.ExternalReads {
			if !s.namesExternal(name) {
				return false
			}
		}
	}
	return true
}

// spareUnits is how many units the batches of a set may retain beyond twice its own number.
const spareUnits = 16

// withinBounds reports whether the batches of units are together within the bounds of a source,
// and whether the unused part of the batches is small enough.
func withinBounds(units []*unit) bool {
	batches := map[*batch]bool{}
	for _, u := range units {
		batches[u.batch] = true
	}
	var all BatchFacts
	for p := range batches {
		all.Work.Dependencies += p.Work.Dependencies
		all.Work.DependencySteps += p.Work.DependencySteps
		all.Work.TypeSteps += p.Work.TypeSteps
		all.Repeated += p.Repeated
		all.Units += p.Units
	}
	return all.Work.Dependencies <= bounds.OfSources.Dependencies && all.Work.DependencySteps <= bounds.OfSources.DependencySteps &&
		all.Work.TypeSteps <= bounds.OfSources.TypeSteps && all.Repeated <= planning.MaxGrowth && all.Units <= 2*len(units)+spareUnits
}
