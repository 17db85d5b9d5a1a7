package engine

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/inert"
	"github.com/lintel-policy/lintel/policies/planning"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// draftsOf are the units of a source: packages by name, and templates in their order.
func draftsOf(modules []*ast.Module, templates []definition.Template, sums map[string]string) []*draft {
	packages := map[string][]*ast.Module{}
	for _, module := range modules {
		packages[definition.PackageName(module)] = append(packages[definition.PackageName(module)], module)
	}
	var drafts []*draft
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		drafts = append(drafts, draftPackage(packages[name], sums))
	}
	for i := range templates {
		drafts = append(drafts, draftTemplate(&templates[i]))
	}
	return drafts
}

func byFile(modules []*ast.Module) []*ast.Module {
	return slices.SortedFunc(slices.Values(modules), func(a, b *ast.Module) int {
		return cmp.Compare(a.Package.Location.File, b.Package.Location.File)
	})
}

// build compiles drafts together, and gives the units that they become: none for those that
// are compiled for others' sake.
func (s *PolicySet) build(drafts []*draft) (map[*draft]*unit, definition.CompileErrors) {
	if errs := s.prepare(drafts); len(errs) > 0 {
		return nil, errs
	}
	modules := map[string]*ast.Module{}
	for _, d := range drafts {
		for i, module := range d.modules {
			modules[d.names[i]] = module
		}
	}
	together := &batch{BatchFacts: BatchFacts{Units: len(drafts)}}
	s.compiler = bounds.OfSources.Measure(ast.NewCompiler(), &together.Work).WithCapabilities(sandbox.Capabilities()).
		WithEvalMode(ast.EvalModeIR).
		WithEnablePrintStatements(s.prints).
		WithPathConflictsCheck(func(path []string) (bool, error) {
			return s.hasData(path), nil
		})
	s.compiler.Compile(modules)
	var errs definition.CompileErrors
	if s.compiler.Failed() {
		for _, err := range definition.ParseErrors(s.compiler.Errors) {
			err.Message = sandbox.ExplainUndefined(definition.Readable(err.Message))
			errs = append(errs, err)
		}
		return nil, errs
	}
	errs = s.unrequired(s.compiler.Modules)
	for _, d := range drafts {
		if d.compiled != nil {
			silent, _ := s.silentViolations(d)
			errs = append(errs, silent...)
		}
		d.examine(s.compiler) // before planning.Compact, which changes locations
		d.examineForAudit(s.compiler)
	}
	program, repeated, planErrs := s.plan(entriesOf(drafts))
	if errs = append(errs, planErrs...); len(errs) > 0 {
		return nil, errs
	}
	together.program, together.Repeated = program, repeated
	s.compiled = len(drafts)
	units := map[*draft]*unit{}
	for _, d := range drafts {
		if !d.support {
			units[d] = s.finish(d, together)
		}
	}
	if !s.analysed && !s.prints {
		s.compiler = nil
	}
	return units, nil
}

// prepare reads the policies of drafts.
func (s *PolicySet) prepare(drafts []*draft) (errs definition.CompileErrors) {
	if s.required == nil {
		s.required = map[string]admission.GroupVersionKind{}
	}
	var modules []*ast.Module
	for _, d := range drafts {
		var found definition.CompileErrors
		if d.template == nil {
			modules = append(modules, d.modules...)
			if d.policy, found = newPolicy(d.Name, d.modules); d.policy != nil {
				d.Requires = d.policy.meta.Requires
				s.require(d.Requires)
			}
		} else if d.compiled, found = newTemplate(d.template); d.compiled != nil {
			var policies []*compiledPolicy
			policies, found = d.compiled.policies(d.template)
			for _, p := range policies {
				s.require(p.meta.Requires)
			}
		}
		errs = append(errs, found...)
	}
	return append(errs, definition.CheckPackages(byFile(modules))...)
}

// entriesOf are the rules that are asked of drafts.
func entriesOf(drafts []*draft) (rules []ast.Ref) {
	for _, d := range drafts {
		switch {
		case d.support:
		case d.policy != nil:
			for _, entry := range definition.EntryPoints {
				rules = append(rules, entryRule(d.policy.path, entry))
			}
		case d.compiled != nil:
			rules = append(rules, entryRule(d.compiled.path, definition.EntryViolation))
		}
	}
	slices.SortFunc(rules, ast.RefCompare)
	return rules
}

// entryRule is the rule that answers for an entry point of a package.
func entryRule(path ast.Ref, entry string) ast.Ref {
	if entry == definition.EntryDefaults {
		entry = bounds.ReservedPrefix + entry
	}
	return path.Copy().Append(ast.StringTerm(entry))
}

// examine finds what the policy of a draft reads and requires.
func (d *draft) examine(compiler *ast.Compiler) {
	if d.policy == nil || d.support {
		return
	}
	var entries []*ast.Rule
	for _, name := range d.names {
		for _, rule := range compiler.Modules[name].Rules {
			if definition.EntryOf(rule) != "" {
				entries = append(entries, rule)
			}
		}
	}
	reachable := ReachableRules(entries, compiler.Graph)
	d.reads, d.mocks = readsOf(reachable)
	var replacing []*ast.Rule // that ask others with another input
	for rule := range reachable {
		ast.WalkWiths(rule, func(*ast.With) bool {
			replacing = append(replacing, rule)
			return true
		})
	}
	for rule := range ReachableRules(replacing, compiler.Graph) {
		delete(reachable, rule)
	}
	d.policy.requires = inert.Read(entries, reachable, compiler)
}

// finish makes a unit of a draft that was compiled.
func (s *PolicySet) finish(d *draft, together *batch) *unit {
	var modules []*ast.Module
	var rules []*ast.Rule
	for _, name := range d.names {
		module := s.compiler.Modules[name]
		modules, rules = append(modules, module), append(rules, module.Rules...)
	}
	u := &unit{UnitFacts: d.UnitFacts, batch: together, policy: d.policy, template: d.compiled, clusters: clusterdata.FieldsRead(modules), data: dataReads(modules), reads: d.reads, mocks: d.mocks}
	u.KindsRead = slices.DeleteFunc(slices.Sorted(maps.Keys(u.clusters)), func(name string) bool { return name == "" })
	if d.template == nil {
		u.unasked = definition.FindUnused(modules)
		for _, rule := range rules {
			u.rulePaths = append(u.rulePaths, constantPath(rule.Ref()))
		}
	}
	ask := func(path ast.Ref, lenient bool, entries ...string) *query {
		q := &query{program: together.program, lenient: lenient}
		found := false
		for _, entry := range entries {
			var rule *eval.Rule
			if entry != "" {
				rule = together.program.Rule(entryRule(path, entry))
			}
			q.rules, found = append(q.rules, rule), found || rule != nil
		}
		if !found {
			return nil
		}
		return q
	}
	if p := d.policy; p != nil {
		p.validate, p.mutate = ask(p.path, false, definition.EntryDeny, definition.EntryWarn), ask(p.path, false, definition.EntryPatch, definition.EntryDefaults)
		reachable := ReachableRules(rules, s.compiler.Graph)
		p.needsNamespace, u.request = readInput("namespace", reachable), readInput("csr", reachable)
		p.path, p.meta.MatchLocation = withoutLocation(p.path), nil
		if s.prints {
			p.conditioned = readConditions(d.modules, s.compiler.Modules, definition.EntryOf)
		}
	}
	if t := d.compiled; t != nil {
		_, u.unasked = s.silentViolations(d)
		t.validate = ask(t.path, true, definition.EntryViolation, "")
		t.path = withoutLocation(t.path)
		if s.prints {
			t.conditioned = readConditions(d.modules[:1], s.compiler.Modules, definition.ViolationOf)
		}
	}
	return u
}

// assemble makes the policies of the set, and finds what depends on all of its units.
func (s *PolicySet) assemble(templates []definition.Template) (errs definition.CompileErrors) {
	ofTemplate := map[string]*unit{}
	for _, u := range s.units {
		s.rules += u.Rules
		s.readsRequest = s.readsRequest || u.request
		if u.isTemplate() {
			ofTemplate[u.Name] = u
		} else if u.policy != nil {
			s.add(u.policy)
		}
	}
	for i := range templates {
		template := &templates[i]
		s.warnings = append(s.warnings, template.Warnings...)
		u := ofTemplate[templateUnit+template.Name]
		policies, found := u.template.policies(template)
		errs = append(errs, found...)
		for _, p := range policies {
			if u.batch.program != nil {
				s.add(p)
			}
		}
	}
	s.findReads()
	s.sums = nil // the units have theirs
	return errs
}

// add makes a policy one of the set.
func (s *PolicySet) add(p *compiledPolicy) {
	own := *p
	own.set, own.limit = s, &atomic.Pointer[limitAt]{}
	s.policies = append(s.policies, &own)
	s.require(own.meta.Requires)
}

// plan makes the program that evaluates rules, and says how many terms are planned again.
func (s *PolicySet) plan(rules []ast.Ref) (program *eval.Program, repeated int64, errs definition.CompileErrors) {
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
