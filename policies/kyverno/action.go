package kyverno

import (
	"slices"
	"strings"
)

// enforcement is that of METADATA, and sets the namespaces with another one.
func (r *rule) enforcement() string {
	spec := r.policy.get("spec")
	action := r.field.get("validate", "failureAction")
	if !action.exists() {
		action = spec.get("validationFailureAction")
	}
	enforces := strings.EqualFold(action.text(), "enforce")
	overrides := r.field.get("validate", "failureActionOverrides")
	if len(overrides.items()) == 0 {
		overrides = spec.get("validationFailureActionOverrides")
	}
	for _, f := range overrides.items() {
		r.override(f, enforces)
	}
	switch {
	case enforces || len(r.overridden) > 0:
		return "deny"
	case spec.get("emitWarning").text() == "true":
		return "warn"
	}
	return "audit"
}

// override adds the namespaces of one entry of the overrides.
func (r *rule) override(f field, enforces bool) {
	r.onlyKeys(f, "action", "namespaces", "namespaceSelector")
	if strings.EqualFold(f.get("action").text(), "enforce") == enforces {
		r.add(f, "override with the same action", "remove the override")
		return
	}
	var lines []string
	if namespaces := f.get("namespaces"); namespaces.exists() {
		lines = append(lines, "kyverno.like_any("+literal(toAny(namespaces.texts()))+", kyverno.namespace)")
	}
	if selector := f.get("namespaceSelector"); selector.exists() {
		lines = append(lines, `kyverno.selects(`+literal(selector.value())+`, object.get(input, ["namespace", "metadata", "labels"], {}))`)
	}
	r.overridden = append(r.overridden, lines)
	r.enforces = enforces
}

// withOverrides replaces the rules deny by findings, which deny or warn depending on the namespace.
func (r *rule) withOverrides(denials []string) []string {
	if len(r.overridden) == 0 {
		return denials
	}
	out := make([]string, 0, len(denials)+4)
	inside, outside := "deny", "warn"
	if r.enforces {
		inside, outside = "warn", "deny"
	}
	out = append(out,
		body(outside+" contains msg", []string{"some msg in finding", "not overridden"}),
		body(inside+" contains msg", []string{"some msg in finding", "overridden"}))
	for _, lines := range r.overridden {
		out = append(out, body("overridden", lines))
	}
	for _, denial := range denials {
		out = append(out, strings.Replace(denial, "deny contains msg", "finding contains msg", 1))
	}
	return slices.Clip(out)
}
