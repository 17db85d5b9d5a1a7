package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/planning"
)

// Recompile is Compile of a source of which an earlier set is at hand, compiled with the
// same dialects: a package or template that has not changed, and depends on nothing that
// has, is taken over as it was compiled. The set is the same as Compile gives, and so are
// the errors. before may be nil.
func Recompile(source definition.Source, before *PolicySet, dialects ...definition.Dialect) (*PolicySet, error) {
	return newPolicySet(source).compileSince(before, dialects)
}

// Verify is Recompile for a process that only knows facts of the set before, and keeps
// what the compiler found. Nothing can be asked of the set: its policies are those that
// were compiled, and its Compiler has them and what they need. known may be nil, and then
// the set is complete.
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
	// next are the units there are now, and gone those of before that have changed or are
	// not there any more, by their index.
	next []*nextUnit
	gone []int
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
	s := c.set
	ofFile, byName := map[string]int{}, map[string]int{}
	for i, u := range c.before.units {
		byName[u.Name] = i
		if !u.isTemplate() {
			for file := range u.Files {
				ofFile[file] = i
			}
		}
	}
	packages := map[string][]*ast.Module{}
	touched := map[int]bool{}
	parse := func(file string) bool {
		module, errs := definition.ParseModule(file, s.source.Files[file])
		if module == nil || len(errs) > 0 {
			return false
		}
		name := definition.PackageName(module)
		packages[name] = append(packages[name], module)
		if i, known := byName[name]; known {
			touched[i] = true
		}
		return true
	}
	for file, i := range ofFile {
		if _, still := s.sums[file]; !still {
			touched[i] = true
		}
	}
	for file, sum := range s.sums {
		i, known := ofFile[file]
		if known && c.before.units[i].Files[file] == sum {
			continue
		}
		if known {
			touched[i] = true
		}
		if !parse(file) {
			return false
		}
	}
	for i := range touched {
		for file, sum := range c.before.units[i].Files {
			if s.sums[file] == sum && !parse(file) {
				return false
			}
		}
	}
	for i, u := range c.before.units {
		switch {
		case touched[i] || u.isTemplate():
		case s.conflicts(c.before, u):
			again := c.again(u, nil)
			if again == nil {
				return false
			}
			c.next = append(c.next, &nextUnit{old: u, draft: again})
		default:
			c.next = append(c.next, &nextUnit{old: u})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		c.next = append(c.next, &nextUnit{draft: draftPackage(byFile(packages[name]), s.sums)})
	}
	slices.SortFunc(c.next, func(a, b *nextUnit) int { return cmp.Compare(a.facts().Name, b.facts().Name) })
	same := map[int]bool{}
	for i := range templates {
		template := &templates[i]
		at, known := byName[templateUnit+template.Name]
		if known && template.Text != "" && c.before.units[at].Files[template.Name] == sumOf(template.Text) {
			same[at] = true
			c.next = append(c.next, &nextUnit{old: c.before.units[at]})
			continue
		}
		c.next = append(c.next, &nextUnit{draft: draftTemplate(template)})
	}
	for i, u := range c.before.units {
		if touched[i] || u.isTemplate() && !same[i] {
			c.gone = append(c.gone, i)
		}
	}
	return true
}

// conflicts says whether data files may have something where the rules of a unit are, and
// had not before.
func (s *PolicySet) conflicts(before *PolicySet, u *unit) bool {
	return s.dataSum != before.dataSum && slices.ContainsFunc(u.Packages, s.hasData)
}

// spread drafts what depends on what has changed, and what that needs to be compiled.
func (c *change) spread(templates []definition.Template) (ok bool) {
	facts := make([]*UnitFacts, len(c.next))
	var changed []int
	for i, n := range c.next {
		facts[i] = n.facts()
		if n.draft != nil {
			changed = append(changed, i)
		}
	}
	edges := connections(facts)
	dirty := reach(reversed(edges), changed)
	lost := c.lost()
	var from []int
	for i, n := range c.next {
		if dirty[i] = dirty[i] || n.old != nil && lost[n.old]; dirty[i] {
			from = append(from, i)
		}
	}
	byTemplate := map[string]*definition.Template{}
	for i := range templates {
		byTemplate[templateUnit+templates[i].Name] = &templates[i]
	}
	count := 0
	for i, needed := range reach(edges, from) {
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

// lost are the units of before that depended on what is gone.
func (c *change) lost() map[*unit]bool {
	facts := make([]*UnitFacts, len(c.before.units))
	for i, u := range c.before.units {
		facts[i] = &u.UnitFacts
	}
	lost := map[*unit]bool{}
	for i, is := range reach(reversed(connections(facts)), c.gone) {
		if is {
			lost[c.before.units[i]] = true
		}
	}
	return lost
}

// again drafts a unit that has not changed.
func (c *change) again(old *unit, templates map[string]*definition.Template) *draft {
	if old.isTemplate() {
		return draftTemplate(templates[old.Name])
	}
	var modules []*ast.Module
	for _, file := range slices.Sorted(maps.Keys(old.Files)) {
		module, errs := definition.ParseModule(file, c.set.source.Files[file])
		if module == nil || len(errs) > 0 {
			return nil
		}
		modules = append(modules, module)
	}
	return draftPackage(modules, c.set.sums)
}

// compile compiles what was drafted, and puts the set together.
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
		for _, name := range u.Reads {
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

// withinBounds says whether the batches of a set are together within what is bounded for a
// source, and whether not too much of what is kept is of no use any more.
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
