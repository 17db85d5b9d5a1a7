package engine

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// compiledTemplate is what the policies of a template have in common.
type compiledTemplate struct {
	path        ast.Ref
	rules       definition.Rules
	conditioned []conditionedRule
	lines       map[string][]ruleLine
	clock       bool
	validate    *query
	// requestReads are the rules that read what only a request has.
	requestReads []NotAuditable
}

// newTemplate reads the entry point of a template.
func newTemplate(template *definition.Template) (*compiledTemplate, definition.CompileErrors) {
	t := &compiledTemplate{path: template.Modules[0].Package.Path, lines: ruleLines(template.Modules)}
	for _, module := range template.Modules {
		t.clock = t.clock || len(definition.ClockCalls(module)) > 0 // in its own home it needs no leave
	}
	var errs definition.CompileErrors
	if t.rules, errs = definition.ReadEntries(template.Modules[:1], definition.ViolationOf); len(errs) > 0 {
		return nil, errs
	}
	if len(t.rules) == 0 {
		return nil, definition.CompileErrors{definition.ErrorAt(template.Modules[0].Package.Location, `template %s has no rule violation: write violation[{"msg": msg}] { … }`, template.Name)}
	}
	return t, nil
}

// policies are those that constraints make of a template.
func (t *compiledTemplate) policies(template *definition.Template) (policies []*compiledPolicy, errs definition.CompileErrors) {
	for _, c := range template.Constraints {
		p := &compiledPolicy{
			name: c.Name, path: t.path, rules: t.rules, lines: t.lines, validate: t.validate, location: c.Location,
			conditioned:    t.conditioned,
			form:           &constraint{c},
			needsNamespace: template.ReadsNamespace,
			requestReads:   t.requestReads,
		}
		p.meta = definition.Metadata{Title: c.Title, Match: &c.Match, Enforcement: c.Enforcement, Requires: c.Requires, Clock: t.clock}
		if err := p.setDefaults(); err != nil {
			errs = append(errs, c.Location.Errorf("%v", err))
			continue
		}
		policies = append(policies, p)
	}
	return policies, errs
}
