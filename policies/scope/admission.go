// Package scope says whether a source of admission policies keeps within its scope.
//
// Admission policies deny, so more of them never allow more: a source of a narrower scope could
// widen the set of namespaces that it binds, values that broader scopes set, the rules that
// they declare, and the data that it reads. The evaluation of the source (policies/engine)
// prevents all of these; this package reports the reasons to its author.
//
// Invariant: a source is never refused for what narrower scopes have.
package scope

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// The reasons why a source does not keep within its scope.
const (
	// ReasonNoParent reports that no live source declares the parent scope.
	ReasonNoParent = "ParentNotFound"
	// ReasonOutsideParent reports namespaces that the parent scope does not have.
	ReasonOutsideParent = "OutsideParentScope"
	// ReasonMatchesOutside reports a policy that matches objects outside the scope.
	ReasonMatchesOutside = "MatchesOutsideScope"
	// ReasonPatchesParent reports a patch of a path that a broader scope sets.
	ReasonPatchesParent = "PatchesParentPath"
	// ReasonRedeclares reports a package that a broader scope has.
	ReasonRedeclares = "RedeclaresParentPolicy"
	// ReasonExempts reports data or rules that a policy of a broader scope reads as exemptions.
	ReasonExempts = "ExemptsFromParent"
	// ReasonNotGranted reports the use of a permission that no broader scope grants.
	ReasonNotGranted = "NotGranted"
	// ReasonPackageConflict reports a package that another source of the scope has live.
	ReasonPackageConflict = "PackageConflict"
)

// ofSource is the location of violations of the PolicySource itself.
var ofSource definition.Location

// Violation is one way in which a source does not keep within its scope. It has no place
// where it is about the PolicySource itself.
type Violation struct {
	Reason string
	definition.CompileError
}

// CheckScope says whether the scope of a source fits below those of the others, which
// must not hold the source itself.
func CheckScope(scope hierarchy.Scope, others []hierarchy.Scope) []Violation {
	key := scope.Key()
	if key.Level == hierarchy.Enterprise {
		return nil
	}
	hierarchy := hierarchy.New(others...)
	if names := hierarchy.Parents(key); len(names) > 0 && !slices.Equal(names, []string{scope.Parent}) {
		return []Violation{{ReasonOutsideParent, ofSource.Errorf(
			"another source of %s names the parent %q, and this one %q: one scope has one parent", key, names[0], scope.Parent)}}
	}
	if _, err := hierarchy.Parent(scope); err != nil {
		return []Violation{{ReasonNoParent, ofSource.Errorf("%v", err)}}
	}
	var out []Violation
	for _, above := range hierarchy.Above(scope) {
		bounds := hierarchy.Namespaces(above)
		if bounds == nil {
			continue
		}
		name, err := outside(scope.Namespaces, bounds)
		switch {
		case err != nil:
			out = append(out, Violation{ReasonOutsideParent, ofSource.Errorf("spec.scope.namespaces cannot be compared with those of %s: %v", above, err)})
		case name != "":
			out = append(out, Violation{ReasonOutsideParent, ofSource.Errorf(
				"spec.scope.namespaces of %s (%s) reach beyond %s: they match %q, and %s has %s only", key, strings.Join(scope.Namespaces, ", "), above, name, above, strings.Join(bounds, ", "))})
		}
	}
	return out
}

// Check reports whether a compiled source stays within its scope, together with the other live
// sources. Only the candidate is reviewed: a broader scope is never refused because of narrower
// ones.
//
// before is the live set of the candidate's source, or nil. A package belongs to the source that
// has it live; if two have, to the older one.
func Check(candidate, before *engine.PolicySet, others []*engine.PolicySet, resources *admission.Resources) []Violation {
	scopes := make([]hierarchy.Scope, len(others))
	for i, other := range others {
		scopes[i] = other.Source().Scope
	}
	c := &candidateCheck{
		set: candidate, scope: candidate.Source().Scope, resources: resources,
		hierarchy: hierarchy.New(scopes...),
	}
	c.packages = sync.OnceValue(func() []declared { return packagesOf(candidate) })
	c.written = sync.OnceValue(func() map[string][]writtenPath { return patchPaths(candidate, true) })
	out := CheckScope(c.scope, scopes)
	if c.scope.Key().Level != hierarchy.Enterprise {
		for _, policy := range engine.Describe(candidate) {
			out = append(out, c.match(policy)...)
			out = append(out, c.grants(policy)...)
		}
	}
	above := c.hierarchy.Above(c.scope)
	for _, other := range others {
		key := other.Source().Scope.Key()
		switch {
		case key == c.scope.Key():
			out = append(out, sameScope(candidate, before, other)...)
		case slices.Contains(above, key):
			out = append(out, c.redeclares(other)...)
			out = append(out, c.exempts(other)...)
			out = append(out, c.patches(other)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// candidateCheck is the check of one candidate.
type candidateCheck struct {
	set       *engine.PolicySet
	scope     hierarchy.Scope
	resources *admission.Resources
	hierarchy *hierarchy.Tree
	packages  func() []declared
	written   func() map[string][]writtenPath // by package; unused for a source of the enterprise
}

// match is about whom a policy binds.
func (c *candidateCheck) match(policy engine.PolicyInfo) []Violation {
	var out []Violation
	report := func(format string, args ...any) {
		out = append(out, Violation{ReasonMatchesOutside, policy.Location.Errorf("policy %s %s", policy.Package, fmt.Sprintf(format, args...))})
	}
	if len(policy.Match.Namespaces) > 0 {
		own := slices.Concat(c.scope.Namespaces, policy.Match.ExcludedNamespaces)
		name, err := outside(policy.Match.Namespaces, own)
		switch {
		case err != nil:
			report("has match.namespaces that cannot be compared with those of %s: %v", c.scope.Key(), err)
		case name != "":
			report("matches outside its scope: match.namespaces (%s) matches %q, and %s has %s only; leave match.namespaces out for all that the scope has",
				strings.Join(policy.Match.Namespaces, ", "), name, c.scope.Key(), strings.Join(c.scope.Namespaces, ", "))
		}
	}
	for _, kind := range policy.Match.Kinds {
		if resource, known := c.resources.ByKind(kind.Group, kind.Kind); known && !resource.Namespaced {
			report("matches outside its scope: %s is cluster-scoped, so that no %s is in a namespace of %s; take the kind out of match.kinds", kind, kind.Kind, c.scope.Key())
		}
		if kind.Version != "" && kind.Version != "*" {
			report("names version %s of %s: a scope below the enterprise cannot choose the version that all policies receive; remove version", kind.Version, kind)
		}
	}
	return out
}

// grants checks the kinds that a policy matches, reads and mutates, and its timeout.
func (c *candidateCheck) grants(policy engine.PolicyInfo) []Violation {
	var out []Violation
	report := func(format string, args ...any) {
		out = append(out, Violation{ReasonNotGranted, policy.Location.Errorf("policy %s %s", policy.Package, fmt.Sprintf(format, args...))})
	}
	granted := c.hierarchy.GrantsTo(c.scope)
	if policy.Clock && !granted.Clock {
		report("reads the time (clock: true), which a scope below the enterprise may do only where every scope above grants it (spec.scope.grants.clock of their PolicySources)")
	}
	if policy.Match.HasWildcard() && !granted.Wildcards {
		report("matches kinds that it does not name (\"*\", or no match.kinds), which a scope below the enterprise may do only where every scope above grants it: name the kinds in match.kinds, or have the scopes above set spec.scope.grants.wildcards in their PolicySources")
	}
	for _, name := range policy.External {
		if err := granted.MayReadExternal(name); err != nil {
			report("%v", err)
		}
	}
	for _, kind := range policy.Requires {
		if err := granted.MayRequire(kind, c.resources); err != nil {
			report("%v", err)
		}
	}
	if policy.Mutates {
		for _, kind := range hierarchy.RightsKinds(policy.Match.Kinds, c.resources) {
			if resource, known := c.resources.ByKind(kind.Group, kind.Kind); known && !resource.Namespaced {
				continue // no scope below the enterprise has any
			}
			if err := granted.MayMutate(kind); err != nil {
				report("%v; take the kind out of match.kinds, or patch and defaults out of the policy", err)
			}
		}
	}
	if policy.Timeout > definition.DefaultTimeout {
		report("has timeout: %s, and below the enterprise a policy has at most %s; take it out", policy.Timeout, definition.DefaultTimeout)
	}
	return out
}

// CheckPackages checks that no package of a live source belongs to an older live source of the
// same scope.
func CheckPackages(live *engine.PolicySet, others []*engine.PolicySet) (out []Violation) {
	for _, other := range others {
		if other.Source().Scope.Key() == live.Source().Scope.Key() {
			out = append(out, sameScope(live, live, other)...)
		}
	}
	return out
}

// sameScope finds the packages of a candidate that belong to another source of its scope.
func sameScope(candidate, before, other *engine.PolicySet) []Violation {
	kept := map[string]bool{}
	if before != nil && candidate.Source().OlderThan(other.Source()) {
		for _, policy := range engine.Describe(before) {
			kept[policy.Package] = true
		}
	}
	var out []Violation
	for _, mine := range engine.Describe(candidate) {
		for _, theirs := range engine.Describe(other) {
			if mine.Package == theirs.Package && !kept[mine.Package] {
				out = append(out, Violation{ReasonPackageConflict, mine.Location.Errorf(
					"source %s has a policy %s, too (%s): messages could not distinguish them, and that source keeps the package; rename the package", other.Name(), theirs.Package, theirs.Location)})
			}
		}
	}
	return out
}

// redeclares is about packages in the place of a policy of a scope above.
func (c *candidateCheck) redeclares(parent *engine.PolicySet) []Violation {
	var out []Violation
	for _, policy := range engine.Describe(parent) {
		for _, own := range c.packages() {
			if overlaps(own.name, policy.Package) {
				out = append(out, Violation{ReasonRedeclares, own.location.Errorf(
					"package %s has the path of policy %s of source %s, which is of a scope above: it would not change that policy, which is evaluated on its own; give it another name", own.name, policy.Package, parent.Name())})
			}
		}
	}
	return out
}

// exempts is about what a policy of a scope above reads and does not define itself.
func (c *candidateCheck) exempts(parent *engine.PolicySet) []Violation {
	var out []Violation
	for _, read := range parent.UndefinedData() {
		for _, own := range c.packages() {
			if overlaps(own.name, read) {
				out = append(out, Violation{ReasonExempts, own.location.Errorf(
					"package %s: policies of source %s, which is of a broader scope, read data.%s: exemptions belong to the scope that owns the rule, and this package has no effect on it; ask the owners of the rule, or rename the package", own.name, parent.Name(), read)})
			}
		}
		if c.set.Defines(read) {
			out = append(out, Violation{ReasonExempts, ofSource.Errorf(
				"a data file defines data.%s, which policies of source %s read, which is of a scope above: exemptions belong to the scope that owns the rule, and nothing here reaches it; ask its owners, or move the data", read, parent.Name())})
		}
	}
	return out
}

type declared struct {
	name     string
	location definition.Location
}

// packagesOf are all that a source declares, each once.
func packagesOf(set *engine.PolicySet) []declared {
	var out []declared
	for _, module := range modulesOf(set) {
		name := definition.PackageName(module)
		if !slices.ContainsFunc(out, func(d declared) bool { return d.name == name }) {
			out = append(out, declared{name, definition.LocationOf(module.Package.Location)})
		}
	}
	for _, policy := range engine.Describe(set) {
		if !slices.ContainsFunc(out, func(d declared) bool { return d.name == policy.Package }) {
			out = append(out, declared{policy.Package, policy.Location})
		}
	}
	return out
}

// modulesOf are the modules of a set as they were written, by file.
func modulesOf(set *engine.PolicySet) []*ast.Module {
	modules, err := definition.Modules(set.Source())
	if err != nil {
		panic("parsing a compiled policy: " + err.Error())
	}
	var out []*ast.Module
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		out = append(out, modules[file])
	}
	return out
}

// overlaps says whether one path under data is the other, or within it.
func overlaps(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}
