package policyset

import (
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
)

// assemble adds the policies of all units to the set.
func (s *Set) assemble(templates []definition.Template) (errs definition.CompileErrorList) {
	ofTemplate := map[string]*unit{}
	for _, u := range s.units {
		s.rules += u.Rules
		s.document.ReadsCSR = s.document.ReadsCSR || u.readsCSR
		if u.isTemplate() {
			ofTemplate[u.Name] = u
		} else if u.policy != nil {
			s.add(u.policy)
		}
	}
	for i := range templates {
		template := &templates[i]
		s.warnings = append(s.warnings, template.Warnings...)
		u := ofTemplate[templatePrefix+template.Name]
		policies, found := u.entry.policies(template)
		errs = append(errs, found...)
		for _, p := range policies {
			if u.batch.program != nil {
				s.add(p)
			}
		}
	}
	for _, mutators := range s.mutators {
		p, err := newMutatorPolicy(s.source.Name, mutators)
		if err != nil {
			errs = append(errs, mutators.Location.Errorf("%v", err))
			continue
		}
		s.add(p)
	}
	s.mutators = nil
	errs = append(errs, s.addUnplanned()...)
	s.uniteReads()
	s.fileDigests = nil // each unit has its own
	return errs
}

// uniteReads unites the fields that the rules of all units can read of the cluster objects that
// the policies require.
func (s *Set) uniteReads() {
	s.projection = clusterdata.Projection{}
	for key, kind := range s.document.Required {
		fields := &clusterdata.Fields{}
		for _, u := range s.units {
			for _, read := range []*clusterdata.Fields{u.clusterFields[key], u.clusterFields[""]} {
				if read != nil {
					fields = fields.Union(read)
				}
			}
		}
		s.projection[kind] = fields
	}
	for _, p := range s.policies {
		if p.Constraint != nil { // the inventory is built from whole objects
			s.projection = s.projection.Union(clusterdata.Whole(p.Meta.Requires...))
		}
	}
}
