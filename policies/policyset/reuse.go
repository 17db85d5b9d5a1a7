package policyset

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// reusePlan lists the units of a set: those of an earlier set that are reused, and those that
// must be compiled.
type reusePlan struct {
	set, before *Set
	// units are the current units, and removed those of the earlier set that changed or are
	// missing.
	units   []*plannedUnit
	removed []*UnitFacts
}

// plannedUnit has a draft if it must be compiled, and the unit of the earlier set if its text is
// the same. It has both if it depends on a changed unit, or a changed unit depends on it.
type plannedUnit struct {
	draft  *draft
	reused *unit
}

// planReuse compares the files of a set with an earlier one. It returns false if a file does not
// parse, or if more than half of the units would be compiled.
func planReuse(set, before *Set, templates []definition.Template) (plan *reusePlan, ok bool) {
	plan = &reusePlan{set: set, before: before}
	return plan, plan.diff(templates) && plan.addDependents(templates)
}

// drafts are the units that must be compiled.
func (c *reusePlan) drafts() (drafts []*draft) {
	for _, n := range c.units {
		if n.draft != nil {
			drafts = append(drafts, n.draft)
		}
	}
	return drafts
}

// merge returns all units: the compiled ones, and those that are reused.
func (c *reusePlan) merge(compiled map[*draft]*unit) (units []*unit) {
	for _, n := range c.units {
		u := n.reused
		if n.draft != nil && !n.draft.dependencyOnly {
			u = compiled[n.draft]
		}
		units = append(units, u)
	}
	return units
}

func (n *plannedUnit) facts() *UnitFacts {
	if n.reused != nil {
		return &n.reused.UnitFacts
	}
	return &n.draft.UnitFacts
}

// diff drafts the units whose text has changed.
func (c *reusePlan) diff(templates []definition.Template) (ok bool) {
	packages, parsed, ok := c.packages()
	if !ok {
		return false
	}
	before := map[string]*unit{}
	for _, u := range c.before.units {
		before[u.Name] = u
		if !u.isTemplate() && !maps.Equal(u.Files, packages[u.Name]) {
			c.removed = append(c.removed, &u.UnitFacts)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		old := before[name]
		next := &plannedUnit{}
		if same := old != nil && maps.Equal(old.Files, packages[name]); same {
			next.reused = old
		}
		if next.reused == nil || c.set.dataConflicts(c.before, old) {
			if next.draft = c.draftFiles(packages[name], parsed); next.draft == nil {
				return false
			}
		}
		c.units = append(c.units, next)
	}
	for i := range templates {
		template := &templates[i]
		old := before[templatePrefix+template.Name]
		if old != nil && template.Text != "" && old.Files[template.Name] == digestOf(template.Text) {
			delete(before, old.Name)
			c.units = append(c.units, &plannedUnit{reused: old})
			continue
		}
		c.units = append(c.units, &plannedUnit{draft: draftTemplate(template)})
	}
	for _, u := range before {
		if u.isTemplate() {
			c.removed = append(c.removed, &u.UnitFacts)
		}
	}
	return true
}

// packages are the digests of the modules of each package, by file. Changed files are parsed to
// find their packages.
func (c *reusePlan) packages() (packages map[string]map[string]string, parsed map[string]*ast.Module, ok bool) {
	ofFile := map[string]*unit{}
	for _, u := range c.before.units {
		if !u.isTemplate() {
			for file := range u.Files {
				ofFile[file] = u
			}
		}
	}
	packages, parsed = map[string]map[string]string{}, map[string]*ast.Module{}
	for file, digest := range c.set.fileDigests {
		name := ""
		if u := ofFile[file]; u != nil && u.Files[file] == digest {
			name = u.Name
		} else if parsed[file], ok = c.parse(file); ok {
			name = definition.PackageName(parsed[file])
		} else {
			return nil, nil, false
		}
		if packages[name] == nil {
			packages[name] = map[string]string{}
		}
		packages[name][file] = digest
	}
	return packages, parsed, true
}

func (c *reusePlan) parse(file string) (module *ast.Module, ok bool) {
	module, errs := definition.ParseModule(file, c.set.source.Files[file])
	return module, module != nil && len(errs) == 0
}

// draftFiles drafts a package. It returns nil if one of its files does not parse.
func (c *reusePlan) draftFiles(files map[string]string, parsed map[string]*ast.Module) *draft {
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
	return draftPackage(modules, c.set.fileDigests)
}

// dataConflicts reports whether changed data files have a value at the path of a package of the
// unit.
func (s *Set) dataConflicts(before *Set, u *unit) bool {
	return s.dataDigest != before.dataDigest && slices.ContainsFunc(u.Packages, s.hasData)
}

// addDependents drafts the units that depend on changed or removed units, and the dependencies that are
// needed to compile them.
func (c *reusePlan) addDependents(templates []definition.Template) (ok bool) {
	facts := make([]*UnitFacts, len(c.units))
	var changed []int
	for i, n := range c.units {
		facts[i] = n.facts()
		if n.draft != nil {
			changed = append(changed, i)
		}
	}
	for i := range c.removed {
		changed = append(changed, len(facts)+i)
	}
	dirty := reachable(reversed(connections(slices.Concat(facts, c.removed))), changed)[:len(facts)]
	var from []int
	for i, isDirty := range dirty {
		if isDirty {
			from = append(from, i)
		}
	}
	byTemplate := map[string]*definition.Template{}
	for i := range templates {
		byTemplate[templatePrefix+templates[i].Name] = &templates[i]
	}
	count := 0
	for i, needed := range reachable(connections(facts), from) {
		if !needed {
			continue
		}
		count++
		n := c.units[i]
		if n.draft == nil {
			if n.draft = c.redraft(n.reused, byTemplate); n.draft == nil {
				return false
			}
			n.draft.dependencyOnly = !dirty[i]
		}
	}
	return 2*count <= len(c.units)
}

// redraft drafts an unchanged unit.
func (c *reusePlan) redraft(old *unit, templates map[string]*definition.Template) *draft {
	if old.isTemplate() {
		return draftTemplate(templates[old.Name])
	}
	return c.draftFiles(old.Files, nil)
}
