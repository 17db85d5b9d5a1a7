package engine

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/planning"
)

// Recompile is Compile with an earlier set of the source, compiled with the same dialects. A
// package or template that is unchanged, and depends only on unchanged ones, is reused. The set
// and the errors are the same as Compile's. before may be nil.
func Recompile(source definition.Source, before *PolicySet, dialects ...definition.Dialect) (*PolicySet, error) {
	return newPolicySet(source).compileSince(before, dialects)
}

// Verify is Recompile for a process that has only facts of the earlier set. It keeps the
// compiler's results. The set cannot be evaluated: it has only the policies that were compiled,
// and its Compiler has them and their dependencies. If known is nil, the set is complete.
func Verify(source definition.Source, known *Known, dialects ...definition.Dialect) (*PolicySet, error) {
	s := newPolicySet(source)
	s.analysed = true
	if known == nil {
		return s.compile(dialects)
	}
	return s.compileSince(knownSet(*known), dialects)
}

// TakenOver are the packages of a set of Verify that were not compiled.
func (s *PolicySet) TakenOver() (names []string) {
	for _, u := range s.units {
		if u.batch.program == nil && !u.isTemplate() {
			names = append(names, u.Name)
		}
	}
	return names
}

func (s *PolicySet) compileSince(before *PolicySet, dialects []definition.Dialect) (*PolicySet, error) {
	if before != nil {
		changed := *s
		if changed.recompile(before, dialects) {
			return &changed, nil
		}
	}
	return s.compile(dialects)
}

// recompile compiles what differs from another set, and what depends on that. It gives
// up where anything is wrong, and where most has changed: errors are found in the order
// of all files.
func (s *PolicySet) recompile(before *PolicySet, dialects []definition.Dialect) (ok bool) {
	if s.readParameters() != nil || !s.readDataSince(before) {
		return false
	}
	templates, errs := s.readTemplates(dialects)
	if len(errs) > 0 {
		return false
	}
	c := &change{set: s, before: before}
	if !c.find(templates) || !c.spread(templates) {
		return false
	}
	return c.compile(templates)
}

// change is how a set differs from another.
type change struct {
	set, before *PolicySet
	// next are the current units, and gone are those of the earlier set that changed or were
	// removed.
	next []*nextUnit
	gone []*UnitFacts
}

// nextUnit is a unit that was drafted, taken over, or both: where it has to be compiled
// although it has not changed.
type nextUnit struct {
	draft *draft
	old   *unit
}

func (n *nextUnit) facts() *UnitFacts {
	if n.old != nil {
		return &n.old.UnitFacts
	}
	return &n.draft.UnitFacts
}

// find drafts the units whose text has changed.
func (c *change) find(templates []definition.Template) (ok bool) {
	packages, parsed, ok := c.packages()
	if !ok {
		return false
	}
	before := map[string]*unit{}
	for _, u := range c.before.units {
		before[u.Name] = u
		if !u.isTemplate() && !maps.Equal(u.Files, packages[u.Name]) {
			c.gone = append(c.gone, &u.UnitFacts)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		old := before[name]
		next := &nextUnit{}
		if same := old != nil && maps.Equal(old.Files, packages[name]); same {
			next.old = old
		}
		if next.old == nil || c.set.conflicts(c.before, old) {
			if next.draft = c.draft(packages[name], parsed); next.draft == nil {
				return false
			}
		}
		c.next = append(c.next, next)
	}
	for i := range templates {
		template := &templates[i]
		old := before[templateUnit+template.Name]
		if old != nil && template.Text != "" && old.Files[template.Name] == sumOf(template.Text) {
			delete(before, old.Name)
			c.next = append(c.next, &nextUnit{old: old})
			continue
		}
		c.next = append(c.next, &nextUnit{draft: draftTemplate(template)})
	}
	for _, u := range before {
		if u.isTemplate() {
			c.gone = append(c.gone, &u.UnitFacts)
		}
	}
	return true
}

// packages are the sums of the modules of each package, by file. A file that has changed is
// parsed for that: parsed has those.
func (c *change) packages() (packages map[string]map[string]string, parsed map[string]*ast.Module, ok bool) {
	ofFile := map[string]*unit{}
	for _, u := range c.before.units {
		if !u.isTemplate() {
			for file := range u.Files {
				ofFile[file] = u
			}
		}
	}
	packages, parsed = map[string]map[string]string{}, map[string]*ast.Module{}
	for file, sum := range c.set.sums {
		name := ""
		if u := ofFile[file]; u != nil && u.Files[file] == sum {
			name = u.Name
		} else if parsed[file], ok = c.parse(file); ok {
			name = definition.PackageName(parsed[file])
		} else {
			return nil, nil, false
		}
		if packages[name] == nil {
			packages[name] = map[string]string{}
		}
		packages[name][file] = sum
	}
	return packages, parsed, true
}

func (c *change) parse(file string) (module *ast.Module, ok bool) {
	module, errs := definition.ParseModule(file, c.set.source.Files[file])
	return module, module != nil && len(errs) == 0
}

// draft drafts a package: nil where one of its files does not parse.
func (c *change) draft(files map[string]string, parsed map[string]*ast.Module) *draft {
	var modules []*ast.Module
	for _, file := range slices.Sorted(maps.Keys(files)) {
		module, ok := parsed[file], true
		if module == nil {
			module, ok = c.parse(file)
		}
		if !ok {
			return nil
		}
		modules = append(modules, module)
	}
	return draftPackage(modules, c.set.sums)
}

// conflicts says whether data files may have something where the rules of a unit are, and
// had not before.
func (s *PolicySet) conflicts(before *PolicySet, u *unit) bool {
	return s.dataSum != before.dataSum && slices.ContainsFunc(u.Packages, s.hasData)
}

// spread drafts the units that depend on changed or removed units, and the dependencies that are
// needed to compile them.
func (c *change) spread(templates []definition.Template) (ok bool) {
	facts := make([]*UnitFacts, len(c.next))
	var changed []int
	for i, n := range c.next {
		facts[i] = n.facts()
		if n.draft != nil {
			changed = append(changed, i)
		}
	}
	for i := range c.gone {
		changed = append(changed, len(facts)+i)
	}
	dirty := reach(reversed(connections(slices.Concat(facts, c.gone))), changed)[:len(facts)]
	var from []int
	for i, isDirty := range dirty {
		if isDirty {
			from = append(from, i)
		}
	}
	byTemplate := map[string]*definition.Template{}
	for i := range templates {
		byTemplate[templateUnit+templates[i].Name] = &templates[i]
	}
	count := 0
	for i, needed := range reach(connections(facts), from) {
		if !needed {
			continue
		}
		count++
		n := c.next[i]
		if n.draft == nil {
			if n.draft = c.again(n.old, byTemplate); n.draft == nil {
				return false
			}
			n.draft.support = !dirty[i]
		}
	}
	return 2*count <= len(c.next)
}

// again drafts a unit that has not changed.
func (c *change) again(old *unit, templates map[string]*definition.Template) *draft {
	if old.isTemplate() {
		return draftTemplate(templates[old.Name])
	}
	return c.draft(old.Files, nil)
}

// compile compiles the drafted units and assembles the set.
func (c *change) compile(templates []definition.Template) (ok bool) {
	s := c.set
	var drafts []*draft
	s.required = map[string]admission.GroupVersionKind{}
	for _, n := range c.next {
		if n.draft != nil {
			drafts = append(drafts, n.draft)
		}
		if n.old != nil {
			s.require(n.old.Requires)
		}
	}
	for _, template := range templates {
		for _, constraint := range template.Constraints {
			s.require(constraint.Requires)
		}
	}
	var built map[*draft]*unit
	if len(drafts) > 0 {
		var errs definition.CompileErrors
		if built, errs = s.build(drafts); len(errs) > 0 {
			return false
		}
	}
	batches := map[*batch]bool{}
	for _, n := range c.next {
		u := n.old
		if n.draft != nil && !n.draft.support {
			u = built[n.draft]
		}
		for _, name := range u.KindsRead {
			if _, required := s.required[name]; !required {
				return false
			}
		}
		batches[u.batch] = true
		s.units = append(s.units, u)
	}
	return withinBounds(batches, len(s.units)) && len(s.assemble(templates)) == 0
}

// spareUnits is how many units a set may keep beyond twice its own.
const spareUnits = 16

// withinBounds reports whether the batches of a set are together within the bounds of a source,
// and whether the unused part of the batches is small enough.
func withinBounds(batches map[*batch]bool, units int) bool {
	var all BatchFacts
	for p := range batches {
		all.Work.Dependencies += p.Work.Dependencies
		all.Work.DependencySteps += p.Work.DependencySteps
		all.Work.TypeSteps += p.Work.TypeSteps
		all.Repeated += p.Repeated
		all.Units += p.Units
	}
	return all.Work.Dependencies <= bounds.OfSources.Dependencies && all.Work.DependencySteps <= bounds.OfSources.DependencySteps &&
		all.Work.TypeSteps <= bounds.OfSources.TypeSteps && all.Repeated <= planning.MaxGrowth && all.Units <= 2*units+spareUnits
}
