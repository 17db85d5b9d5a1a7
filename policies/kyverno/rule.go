package kyverno

import (
	"slices"
	"strings"
)

// rule translates one rule of a policy.
type rule struct {
	*expressions
	field       field
	policy      field
	controllers []string
	kinds       []kindSelector
	operations  []string
	applies     []string   // what match, exclude and the preconditions require
	errors      []missing  // conditions under which Kyverno reports an error
	denials     [][]string // bodies of violations
	changes     [][]string // bodies of patches
	overridden  [][]string // bodies that select namespaces with the other action
	messages    []string   // terms of the messages of denials, if each has its own
	enforces    bool       // the action of the other namespaces
	requires    map[clusterKind]bool
}

var ruleKeys = []string{"name", "match", "exclude", "preconditions", "context", "validate", "mutate", "skipBackgroundRequests", "reportProperties", "celPreconditions", "generate", "verifyImages", "imageExtractors"}

var refusedBlocks = map[string]string{
	"generate":        "Lintel decides about objects and creates none; let a GitOps tool create them",
	"verifyImages":    "policies reach no registry; verify signatures with sigstore's policy-controller, and require digests in a policy",
	"imageExtractors": "policies reach no registry",
}

// translate fills the rule from its field.
func (r *rule) translate() {
	f := r.field
	r.onlyKeys(f, ruleKeys...)
	for _, e := range f.entries() {
		if hint, ok := refusedBlocks[e.key]; ok {
			r.add(e.value, e.key, hint)
		}
	}
	validate, mutate := f.get("validate"), f.get("mutate")
	r.chooseObject()
	r.scope()
	r.context(f.get("context"))
	if preconditions := f.get("preconditions"); preconditions.exists() {
		r.preconditions(preconditions)
	}
	switch {
	case validate.exists():
		r.validate(validate)
	case mutate.exists():
		r.mutate(mutate)
	}
}

// isAboutDeletion reports whether the rule may deny a DELETE: patterns and foreach ignore it.
func (r *rule) isAboutDeletion() bool {
	return r.field.get("validate", "deny").exists() && slices.Contains(r.wantedOperations(), "DELETE")
}

// wantedOperations are those of match, reduced by preconditions about the operation alone.
func (r *rule) wantedOperations() []string {
	all := []string{"CREATE", "UPDATE", "DELETE"}
	if slices.ContainsFunc(r.kindsNamed(), func(k kindSelector) bool { return connects(k) }) {
		all = append(all, "CONNECT")
	}
	var named []string
	match := r.field.get("match")
	filters := slices.Concat([]field{match}, match.get("any").items(), match.get("all").items())
	for _, f := range filters {
		if operations := f.get("resources", "operations").texts(); len(operations) > 0 {
			named = append(named, operations...)
		} else if f.get("resources").exists() {
			named = append(named, all...)
		}
	}
	wanted := slices.DeleteFunc([]string{"CREATE", "UPDATE", "DELETE", "CONNECT"}, func(o string) bool { return !slices.Contains(named, o) })
	conditions := r.field.get("preconditions", "all").items()
	if any := r.field.get("preconditions", "any").items(); len(any) == 1 {
		conditions = append(conditions, any...)
	}
	if r.field.get("preconditions").isList() {
		conditions = r.field.get("preconditions").items()
	}
	for _, c := range conditions {
		if !operationKey(c.get("key").text()) {
			continue
		}
		values := c.get("value").texts()
		if len(values) == 0 {
			values = []string{c.get("value").text()}
		}
		excludes := slices.Contains([]string{"NotEquals", "NotEqual", "AnyNotIn", "AllNotIn", "NotIn"}, c.get("operator").text())
		includes := slices.Contains([]string{"Equals", "Equal", "AnyIn", "AllIn", "In"}, c.get("operator").text())
		wanted = slices.DeleteFunc(wanted, func(o string) bool {
			return excludes && slices.Contains(values, o) || includes && !slices.Contains(values, o)
		})
	}
	return wanted
}

// connects reports whether requests about a kind connect to a subresource.
func connects(k kindSelector) bool {
	_, ok := connections[k.kind]
	return ok || k.kind == "*" || slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, k.subresource)
}

func operationKey(key string) bool {
	key = strings.ReplaceAll(strings.ReplaceAll(key, " ", ""), `"`, "'")
	return key == "{{request.operation}}" || strings.HasPrefix(key, "{{request.operation||")
}

// chooseObject decides what the references to the object are.
func (r *rule) chooseObject() {
	r.object = "input.request.object"
	if r.isAboutDeletion() {
		r.object = "reviewed"
	}
	r.pods = len(r.controllers) > 0 && r.matchesPods()
	if !r.pods {
		r.controllers = nil
	}
	switch {
	case r.pods:
		r.imagesOf = "pod"
	case !slices.ContainsFunc(r.kindsNamed(), func(k kindSelector) bool { return k.kind != "Pod" || k.subresource != "" }):
		r.imagesOf = r.object
	}
}

func (r *rule) matchesPods() bool {
	match, exclude := r.field.get("match"), r.field.get("exclude")
	kindsOf := func(f field) (out []string) {
		for _, one := range slices.Concat([]field{f}, f.get("any").items(), f.get("all").items()) {
			out = append(out, one.get("resources", "kinds").texts()...)
		}
		return out
	}
	excluded := kindsOf(exclude)
	return containsPod(kindsOf(match)) && (len(excluded) == 0 || containsPod(excluded))
}

// scope translates match and exclude.
func (r *rule) scope() {
	matched, joined := r.filters(r.field.get("match"))
	for _, f := range matched {
		r.kinds = append(r.kinds, r.withWorkloads(f.kinds)...)
		if len(f.kinds) == 0 && !joined {
			r.kinds = append(r.kinds, kindSelector{"*", "*", "*", ""})
		}
		if r.pods && !joined && len(matched) > 1 && !containsPodSelector(f.kinds) {
			r.add(f.at, "Pods next to other kinds in match.any", "split the rule")
		}
	}
	r.operations = r.wantedOperations()
	if !r.field.get("validate", "deny").exists() {
		r.operations = slices.DeleteFunc(r.operations, func(o string) bool { return o == "DELETE" })
	}
	if r.field.get("mutate").exists() {
		r.operations = slices.DeleteFunc(r.operations, func(o string) bool { return o == "CONNECT" })
	}
	if len(r.operations) == 0 {
		r.add(r.field.get("match"), "no operation", "the rule never applies; remove it")
	}
	r.applies = append(r.applies, r.subresourceLines()...)
	r.applies = append(r.applies, r.filterLines("matched", matched, joined, len(matched) > 1)...)
	excluded, all := r.filters(r.field.get("exclude"))
	if len(excluded) == 0 {
		return
	}
	lines := r.filterLines("excluded", excluded, all, true)
	if len(lines) == 1 && !strings.Contains(lines[0], " in ") {
		r.applies = append(r.applies, "not "+lines[0])
		return
	}
	name := r.module.helperName("excluded")
	r.module.helpers = append(r.module.helpers, body(name, lines))
	r.applies = append(r.applies, "not "+name)
}

// subresourceLines require the subresource that the kinds name: METADATA also match the resource.
func (r *rule) subresourceLines() []string {
	var named []string
	for _, k := range r.kindsNamed() {
		if connection, ok := connections[k.kind]; ok {
			k = connection
		}
		named = append(named, k.subresource)
	}
	slices.Sort(named)
	switch named = slices.Compact(named); {
	case len(named) == 0 || len(named) == 1 && named[0] == "":
		return nil
	case len(named) > 1 || named[0] == "*":
		r.add(r.field.get("match"), "several subresources", "split the rule by subresource")
		return nil
	}
	return []string{"input.request.subResource == " + literal(named[0])}
}

func containsPodSelector(kinds []kindSelector) bool {
	return slices.ContainsFunc(kinds, func(k kindSelector) bool { return k.kind == "Pod" })
}

// filterLines are the conditions of several filters, of which one or all must hold.
func (r *rule) filterLines(name string, filters []filter, joined, withKinds bool) []string {
	linesOf := func(f filter) (lines []string) {
		if withKinds {
			lines = append(lines, r.kindLines(f.kinds)...)
		}
		if len(f.operations) > 0 && (withKinds || len(filters) > 1) {
			lines = append(lines, "input.request.operation in "+literal(toAny(f.operations)))
		}
		return append(lines, f.lines...)
	}
	if len(filters) == 1 {
		return linesOf(filters[0])
	}
	if joined {
		var out []string
		for _, f := range filters {
			out = append(out, linesOf(f)...)
		}
		return out
	}
	var bodies [][]string
	for _, f := range filters {
		lines := linesOf(f)
		if len(lines) == 0 {
			return nil
		}
		bodies = append(bodies, lines)
	}
	if name == "matched" && onlyKinds(bodies) {
		return nil
	}
	helper := r.module.helperName(name)
	for _, lines := range bodies {
		r.module.helpers = append(r.module.helpers, body(helper, lines))
	}
	return []string{helper}
}

// onlyKinds reports whether filters differ in kinds alone, which METADATA selects.
func onlyKinds(bodies [][]string) bool {
	return !slices.ContainsFunc(bodies, func(lines []string) bool {
		return len(lines) != 1 || !strings.HasPrefix(lines[0], "input.request.kind.kind ")
	})
}

// preconditions translates those of the rule.
func (r *rule) preconditions(f field) {
	for _, b := range r.conditionBlocks(f) {
		r.addErrors(b, r.applies)
		b.all = slices.DeleteFunc(b.all, r.isDecidedByMatch)
		r.applies = append(r.applies, r.statements(b, "precondition")...)
	}
}

// addErrors adds the errors of conditions that are evaluated after others.
func (r *rule) addErrors(b blocks, before []string) {
	for _, one := range b.missing() {
		one.lines = slices.Concat(before, one.lines)
		r.errors = append(r.errors, one)
	}
}

// isDecidedByMatch reports whether METADATA decide a condition about the operation.
func (r *rule) isDecidedByMatch(t test) bool {
	return strings.HasPrefix(t.statement, "input.request.operation != ") &&
		!slices.Contains(r.operations, strings.Trim(strings.TrimPrefix(t.statement, "input.request.operation != "), `"`))
}

func cloneMap(of map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range of {
		out[key] = value
	}
	return out
}
