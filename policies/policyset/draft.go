package policyset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/inert"
)

// draft is a unit that is to be compiled.
type draft struct {
	UnitFacts
	// modules are those that were parsed, in order, and names what the compiler calls them.
	modules  []*ast.Module
	names    []string
	template *definition.Template // nil for a package
	// dependencyOnly reports that the unit is compiled only because others depend on it.
	dependencyOnly bool
	policy         *Policy
	entry          *templateEntry
	reads          []dataRead
	mocks          [][]string
}

// draftPackage makes a draft of the modules of a package, by file.
func draftPackage(modules []*ast.Module, fileDigests map[string]string) *draft {
	d := &draft{modules: modules, UnitFacts: UnitFacts{Name: definition.PackageName(modules[0]), Files: map[string]string{}}}
	for _, module := range modules {
		file := module.Package.Location.File
		d.Files[file] = fileDigests[file]
		d.names = append(d.names, file)
	}
	d.survey()
	return d
}

// draftTemplate makes a draft of a template.
func draftTemplate(template *definition.Template) *draft {
	d := &draft{modules: template.Modules, template: template}
	d.UnitFacts = UnitFacts{Name: templatePrefix + template.Name, Files: map[string]string{template.Name: digestOf(template.Text)}}
	for i, module := range template.Modules {
		d.names = append(d.names, fmt.Sprintf("%s#%s.%d", module.Package.Location.File, template.Name, i))
	}
	d.survey()
	return d
}

// draftsOf are the units of a source: packages by name, and templates in their order.
func draftsOf(modules []*ast.Module, templates []definition.Template, fileDigests map[string]string) []*draft {
	packages := map[string][]*ast.Module{}
	for _, module := range modules {
		packages[definition.PackageName(module)] = append(packages[definition.PackageName(module)], module)
	}
	var drafts []*draft
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		drafts = append(drafts, draftPackage(packages[name], fileDigests))
	}
	for i := range templates {
		drafts = append(drafts, draftTemplate(&templates[i]))
	}
	return drafts
}

// survey collects the packages of the modules, and the paths that they refer to.
func (d *draft) survey() {
	refers := map[string][]string{}
	add := func(ref ast.Ref) bool {
		if ref[0].Equal(ast.DefaultRootDocument) {
			path := constantPath(ref)
			refers[pathKey(path)] = path
		}
		return false
	}
	for _, module := range d.modules {
		if path := constantPath(module.Package.Path); !slices.ContainsFunc(d.Packages, func(other []string) bool { return slices.Equal(other, path) }) {
			d.Packages = append(d.Packages, path)
		}
		d.Rules += len(module.Rules)
		ast.WalkRefs(module, add)
	}
	for _, key := range slices.Sorted(maps.Keys(refers)) {
		d.Refers = append(d.Refers, refers[key])
	}
}

// examine finds the data that the policy of a draft reads, and its requirements for a request.
func (d *draft) examine(compiler *ast.Compiler) {
	if d.policy == nil || d.dependencyOnly {
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
	d.reads, d.mocks = collectReads(reachable)
	var replacing []*ast.Rule // rules that evaluate others with another input
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

// entriesOf lists the rules of drafts that are evaluated.
func entriesOf(drafts []*draft) (rules []ast.Ref) {
	for _, d := range drafts {
		switch {
		case d.dependencyOnly:
		case d.policy != nil:
			for _, entry := range definition.EntryPoints {
				rules = append(rules, entryRule(d.policy.path, entry))
			}
		case d.entry != nil:
			rules = append(rules, entryRule(d.entry.path, definition.EntryViolation))
		}
	}
	slices.SortFunc(rules, ast.RefCompare)
	return rules
}
