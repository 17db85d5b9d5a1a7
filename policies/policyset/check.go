package policyset

import (
	"cmp"

	"github.com/lintel-policy/lintel/policies/definition"
)

// addUnplanned adds the policies that are not written in Rego.
func (s *Set) addUnplanned() (errs definition.CompileErrorList) {
	add := func(p *Policy) {
		p.Validate = &Query{} // the entry points are those of the evaluator
		if err := p.setDefaults(); err != nil {
			errs = append(errs, p.Location.Errorf("%v", err))
			return
		}
		s.add(p)
	}
	for _, template := range s.unplanned {
		s.warnings = append(s.warnings, template.Warnings...)
		if check := template.Check; check != nil {
			add(&Policy{
				Name: check.Name, Location: check.Location, Check: check, Evaluator: check.Evaluator, ReadsNamespace: check.ReadsNamespace,
				Meta: definition.Metadata{Title: check.Title, Match: &check.Match, Enforcement: check.Enforcement},
			})
		}
		for _, c := range template.Constraints {
			add(&Policy{
				Name: c.Name, Location: c.Location, Constraint: &c, Evaluator: c.Evaluator, ReadsNamespace: template.ReadsNamespace,
				Meta: definition.Metadata{Title: c.Title, Match: &c.Match, Enforcement: cmp.Or(c.Admission.Enforcement, definition.EnforceAudit)},
			})
		}
	}
	s.unplanned = nil
	return errs
}
