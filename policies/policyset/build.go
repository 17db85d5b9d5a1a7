package policyset

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/planning"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// build compiles drafts together and returns their units, without those that are compiled only
// because others depend on them.
func (s *Set) build(drafts []*draft) (map[*draft]*unit, definition.CompileErrorList) {
	if errs := s.prepare(drafts); len(errs) > 0 {
		return nil, errs
	}
	modules := map[string]*ast.Module{}
	for _, d := range drafts {
		for i, module := range d.modules {
			modules[d.names[i]] = module
		}
	}
	group := &batch{BatchFacts: BatchFacts{Units: len(drafts)}}
	s.compiler = bounds.OfSources.Measure(ast.NewCompiler(), &group.Work).WithCapabilities(sandbox.Capabilities()).
		WithEvalMode(ast.EvalModeIR).
		WithEnablePrintStatements(s.prints).
		WithPathConflictsCheck(func(path []string) (bool, error) {
			return s.hasData(path), nil
		})
	s.compiler.Compile(modules)
	var errs definition.CompileErrorList
	if s.compiler.Failed() {
		for _, err := range definition.ParseErrors(s.compiler.Errors) {
			err.Message = sandbox.ExplainUndefined(definition.Readable(err.Message))
			errs = append(errs, err)
		}
		return nil, errs
	}
	errs = s.undeclaredReads(s.compiler.Modules)
	for _, d := range drafts {
		if d.entry != nil {
			invalid, _ := s.violationsWithoutMsg(d)
			errs = append(errs, invalid...)
		}
		d.examine(s.compiler) // before planning.Compact, which changes locations
		d.examineForAudit(s.compiler)
	}
	program, repeated, planErrs := s.plan(entriesOf(drafts))
	if errs = append(errs, planErrs...); len(errs) > 0 {
		return nil, errs
	}
	group.program, group.Repeated = program, repeated
	s.compiled = len(drafts)
	units := map[*draft]*unit{}
	for _, d := range drafts {
		if !d.dependencyOnly {
			units[d] = s.newUnit(d, group)
		}
	}
	if !s.analysed && !s.prints {
		s.compiler = nil
	}
	return units, nil
}

// prepare reads the policies of drafts, before they are compiled.
func (s *Set) prepare(drafts []*draft) (errs definition.CompileErrorList) {
	if s.document.Required == nil {
		s.document.Required = map[string]admission.GroupVersionKind{}
	}
	var modules []*ast.Module
	for _, d := range drafts {
		var found definition.CompileErrorList
		if d.template == nil {
			modules = append(modules, d.modules...)
			if d.policy, found = newPolicy(d.Name, d.modules); d.policy != nil {
				d.Requires, d.External = d.policy.Meta.Requires, d.policy.Meta.External
				s.require(d.Requires)
				s.readExternal(d.External)
			}
		} else if d.entry, found = readTemplateEntry(d.template); d.entry != nil {
			var policies []*Policy
			policies, found = d.entry.policies(d.template)
			for _, p := range policies {
				s.require(p.Meta.Requires)
			}
		}
		errs = append(errs, found...)
	}
	return append(errs, definition.CheckPackages(byFile(modules))...)
}

// plan returns the program that evaluates rules, and the number of terms that are planned again.
func (s *Set) plan(rules []ast.Ref) (program *eval.Program, repeated int64, errs definition.CompileErrorList) {
	repeated, errs = planning.CheckGrowth(s.compiler, rules...)
	if len(errs) > 0 {
		return nil, 0, errs
	}
	if !s.prints { // coverage names columns
		planning.Compact(s.compiler.Modules) // OPA's planner reads all text of an expression for each of its terms
	}
	program, errs = planning.NewProgram(s.compiler, sandbox.Function, eval.CompileOptions{Capabilities: sandbox.Capabilities(), Cover: s.prints}, rules...)
	return program, repeated, errs
}

// newUnit returns the unit of a compiled draft.
func (s *Set) newUnit(d *draft, group *batch) *unit {
	var modules []*ast.Module
	var rules []*ast.Rule
	for _, name := range d.names {
		module := s.compiler.Modules[name]
		modules, rules = append(modules, module), append(rules, module.Rules...)
	}
	u := &unit{UnitFacts: d.UnitFacts, batch: group, policy: d.policy, entry: d.entry, clusterFields: clusterdata.FieldsRead(modules), dataRefs: externalRefs(modules), reads: d.reads, mocks: d.mocks}
	u.KindsRead = slices.DeleteFunc(slices.Sorted(maps.Keys(u.clusterFields)), func(name string) bool { return name == "" })
	u.ExternalReads = externalReads(modules)
	if d.template == nil {
		u.unused = definition.FindUnused(modules)
		for _, rule := range rules {
			u.rulePaths = append(u.rulePaths, constantPath(rule.Ref()))
		}
	}
	query := func(path ast.Ref, lenient bool, entries ...string) *Query {
		q := &Query{Program: group.program, Lenient: lenient}
		found := false
		for _, entry := range entries {
			var rule *eval.Rule
			if entry != "" {
				rule = group.program.Rule(entryRule(path, entry))
			}
			q.Rules, found = append(q.Rules, rule), found || rule != nil
		}
		if !found {
			return nil
		}
		return q
	}
	if p := d.policy; p != nil {
		p.Validate, p.Mutate = query(p.path, false, definition.EntryDeny, definition.EntryWarn), query(p.path, false, definition.EntryPatch, definition.EntryDefaults)
		reachable := ReachableRules(rules, s.compiler.Graph)
		p.ReadsNamespace, u.readsCSR = readInput("namespace", reachable), readInput("csr", reachable)
		p.InputRead = clusterdata.InputRead(reachable)
		p.path, p.Meta.MatchLocation = detachedRef(p.path), nil
		if s.prints {
			p.Bodies = readBodies(d.modules, s.compiler.Modules, definition.EntryOf)
		}
	}
	if t := d.entry; t != nil {
		_, u.unused = s.violationsWithoutMsg(d)
		t.validate = query(t.path, true, definition.EntryViolation, "")
		t.path = detachedRef(t.path)
		t.inputRead = clusterdata.InputRead(ReachableRules(rules, s.compiler.Graph))
		if s.prints {
			t.bodies = readBodies(d.modules[:1], s.compiler.Modules, definition.ViolationOf)
		}
	}
	return u
}
