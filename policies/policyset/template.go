package policyset

import (
	"cmp"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
)

// templateEntry is the entry point that all constraints of a template share.
type templateEntry struct {
	path     ast.Ref
	rules    definition.RuleList
	bodies   []RuleBody
	lines    map[string][]ruleLine
	clock    bool
	validate *Query
	// requestReads are the rules that read fields that only a request has.
	requestReads []NotAuditable
	userRead     *NotAuditable
	inputRead    *clusterdata.Fields
}

// readTemplateEntry reads the entry point of a template.
func readTemplateEntry(template *definition.Template) (*templateEntry, definition.CompileErrorList) {
	t := &templateEntry{path: template.Modules[0].Package.Path, lines: rulePositions(template.Modules)}
	for _, module := range template.Modules {
		t.clock = t.clock || len(definition.ClockCalls(module)) > 0 // Gatekeeper needs no permission for the clock
	}
	var errs definition.CompileErrorList
	if t.rules, errs = definition.ReadEntries(template.Modules[:1], definition.ViolationOf); len(errs) > 0 {
		return nil, errs
	}
	if len(t.rules) == 0 {
		return nil, definition.CompileErrorList{definition.ErrorAt(template.Modules[0].Package.Location, `template %s has no rule violation: write violation[{"msg": msg}] { … }`, template.Name)}
	}
	return t, nil
}

// policies are the constraints of the template.
func (t *templateEntry) policies(template *definition.Template) (policies []*Policy, errs definition.CompileErrorList) {
	for _, c := range template.Constraints {
		p := &Policy{
			Name: c.Name, path: t.path, EntryRules: t.rules, lines: t.lines, Validate: t.validate, Location: c.Location,
			Bodies:         t.bodies,
			Constraint:     &c,
			ReadsNamespace: template.ReadsNamespace,
			RequestReads:   t.requestReads,
			UserRead:       t.userRead,
			InputRead:      t.inputRead,
		}
		p.Meta = definition.Metadata{Title: c.Title, Match: &c.Match, Enforcement: cmp.Or(c.Admission.Enforcement, definition.EnforceAudit), Requires: c.Requires, Clock: t.clock}
		if err := p.setDefaults(); err != nil {
			errs = append(errs, c.Location.Errorf("%v", err))
			continue
		}
		policies = append(policies, p)
	}
	return policies, errs
}
