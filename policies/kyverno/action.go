package kyverno

import (
	"slices"
	"strings"
)

// enforcement is that of METADATA, and sets the namespaces with another one.
func (r *rule) enforcement() string {
	spec := r.policy.get("spec")
	enforces := r.isEnforced()
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

// isEnforced reports whether the action of the rule is Enforce, without its overrides.
func (r *rule) isEnforced() bool {
	action := r.field.get("validate", "failureAction")
	if !action.exists() {
		action = r.policy.get("spec", "validationFailureAction")
	}
	return strings.EqualFold(action.text(), "enforce")
}

// withEarlierViolations admits updates of objects that violated the rule before, as Kyverno does for
// patterns and conditions of enforced rules, unless allowExistingViolations is false. An error denies.
func (r *rule) withEarlierViolations(denials []string) []string {
	validate := r.field.get("validate")
	if len(denials) == 0 || !r.isEnforced() || validate.get("cel").exists() || validate.get("allowExistingViolations").text() == "false" ||
		!slices.Contains(r.operations, "CREATE") || !slices.Contains(r.operations, "UPDATE") {
		return denials
	}
	failures := len(r.errors)
	out := []string{body("deny contains msg", []string{"some msg in violation", "not violated_before"})}
	before := []string{`input.request.operation == "UPDATE"`, "count(violation) > 0 with input.request as before"}
	if failures > 0 {
		out = append(out, body("deny contains msg", []string{"some msg in failure"}))
		before = []string{before[0], "count(failure) == 0", before[1], "count(failure) == 0 with input.request as before"}
	}
	out = append(out, body("violated_before", before),
		"# Kyverno evaluates the old object as if it was created.\n"+`before := object.union(object.remove(input.request, ["operation", "object", "oldObject"]), {"operation": "CREATE", "object": input.request.oldObject, "oldObject": null})`+"\n")
	for i, denial := range denials {
		name := "violation"
		if i >= len(denials)-failures {
			name = "failure"
		}
		out = append(out, strings.Replace(denial, "deny contains msg", name+" contains msg", 1))
	}
	return out
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
