package kyverno

import (
	"slices"
	"strings"
)

// validate translates validate.
func (r *rule) validate(f field) {
	r.onlyKeys(f, "message", "pattern", "anyPattern", "deny", "foreach", "podSecurity", "cel", "manifests", "assert",
		"failureAction", "failureActionOverrides", "allowExistingViolations")
	switch {
	case f.get("deny").exists():
		r.deny(f.get("deny"), nil)
	case f.get("pattern").exists():
		r.pattern(f.get("pattern"))
	case f.get("anyPattern").exists():
		r.anyPattern(f.get("anyPattern"))
	case f.get("foreach").exists():
		for _, item := range f.get("foreach").items() {
			r.foreach(item, nil)
		}
	case f.get("cel").exists():
		r.cel(f.get("cel"))
	case f.get("podSecurity").exists():
		r.add(f.get("podSecurity"), "validate.podSecurity", "use the samples pod_security_baseline and pod_security_restricted, or the API server's Pod Security admission")
	default:
		for _, e := range f.entries() {
			if e.key == "manifests" || e.key == "assert" {
				r.add(e.value, "validate."+e.key, "write the rule in Rego")
			}
		}
	}
}

// subject is the value that patterns are compared with.
func (r *rule) subject() string {
	if r.pods {
		return "pod"
	}
	return r.object
}

// pattern translates validate.pattern.
func (r *rule) pattern(f field) {
	lines := r.patternLines(f, r.subject())
	if tree, ok := f.value().(map[string]any); ok && r.pods && onlyOptional(tree) {
		lines = append([]string{"pod != {}"}, lines...) // a workload has a template
	}
	name := r.module.helperName("valid")
	r.module.helpers = append(r.module.helpers, body(name, lines))
	r.denials = append(r.denials, []string{"not " + name})
}

func (r *rule) patternLines(f field, value string) []string {
	p := &patterns{expressions: r.expressions, at: f, taken: map[string]bool{}}
	return p.notFailing(f.value(), value)
}

// anyPattern translates validate.anyPattern.
func (r *rule) anyPattern(f field) {
	name := r.module.helperName("valid")
	for _, item := range f.items() {
		if maySkip(item.value()) {
			r.add(item, "conditions in anyPattern", "split the rule, or write it in Rego")
		}
		r.module.helpers = append(r.module.helpers, body(name, r.patternLines(item, r.subject())))
	}
	r.denials = append(r.denials, []string{"not " + name})
}

// deny translates conditions after lines, which declare the variables of loops.
func (r *rule) deny(f field, lines []string) {
	r.onlyKeys(f, "conditions")
	conditions := f.get("conditions")
	if !conditions.exists() {
		r.denials = append(r.denials, lines)
		return
	}
	all := r.conditionBlocks(conditions)
	prefix := slices.Clone(lines)
	for _, b := range all[:max(0, len(all)-1)] {
		r.addErrors(b, slices.Concat(r.applies, prefix))
		prefix = append(prefix, r.statements(b, "condition")...)
	}
	if len(all) == 0 {
		return
	}
	last := all[len(all)-1]
	r.addErrors(last, slices.Concat(r.applies, prefix))
	if len(last.any) > 0 && len(last.all) == 0 {
		for _, one := range last.any {
			r.denials = append(r.denials, slices.Concat(prefix, []string{one.statement}))
		}
		return
	}
	r.denials = append(r.denials, slices.Concat(prefix, r.statements(last, "condition")))
}

// foreach translates a loop of validate.foreach.
func (r *rule) foreach(f field, outer []string) {
	r.onlyKeys(f, "list", "context", "preconditions", "pattern", "anyPattern", "deny", "elementScope", "foreach")
	if f.get("elementScope").exists() {
		r.add(f.get("elementScope"), "elementScope", "write the loop in Rego")
	}
	lines, end := r.loop(f, outer)
	defer end()
	switch {
	case f.get("deny").exists():
		r.deny(f.get("deny"), lines)
	case f.get("pattern").exists():
		r.elementPattern(f.get("pattern"), lines)
	case f.get("anyPattern").exists():
		var bodies [][]string
		for _, item := range f.get("anyPattern").items() {
			if maySkip(item.value()) {
				r.add(item, "conditions in anyPattern", "split the rule, or write it in Rego")
			}
			bodies = append(bodies, r.patternLines(item, r.elements[len(r.elements)-1]))
		}
		name := r.module.define("valid_element", strings.Join(r.elements, ", "), bodies...)
		r.denials = append(r.denials, append(lines, "not "+name+"("+strings.Join(r.elements, ", ")+")"))
	case f.get("foreach").exists():
		for _, item := range f.get("foreach").items() {
			r.foreach(item, lines)
		}
	}
}

func (r *rule) elementPattern(f field, lines []string) {
	element := r.elements[len(r.elements)-1]
	name := r.module.define("valid_element", strings.Join(r.elements, ", "), r.patternLines(f, element))
	r.denials = append(r.denials, append(lines, "not "+name+"("+strings.Join(r.elements, ", ")+")"))
}

// onlyOptional reports whether a pattern has only optional keys.
func onlyOptional(pattern map[string]any) bool {
	first, second := partsOf(pattern)
	return len(second) == 0 && !slices.ContainsFunc(first, func(p part) bool { return p.anchor != equality })
}
