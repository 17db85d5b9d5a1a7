package kyverno

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/format"

	"github.com/lintel-policy/lintel/policies/admission"
)

// render is the Rego of a rule.
func (r *rule) render(pkg, enforcement string) (string, error) {
	var b strings.Builder
	b.WriteString(r.metadata(pkg, enforcement))
	fmt.Fprintf(&b, "package %s\n\nimport rego.v1\n\nimport data.lib.kyverno\n\n", pkg)
	denials := r.withOverrides(r.withEarlierViolations(r.denialRules()))
	for _, rule := range slices.Concat(denials, r.patchRules(), r.shared(), r.podPath(), r.module.helpers) {
		b.WriteString(rule + "\n")
	}
	text := b.String()
	if !strings.Contains(text, "kyverno.") {
		text = strings.Replace(text, "import data.lib.kyverno\n\n", "", 1)
	}
	formatted, err := format.SourceWithOpts(pkg+".rego", []byte(text), format.Opts{})
	if err != nil {
		return text, fmt.Errorf("formatting the Rego of rule %s: %w", r.field.get("name").text(), err)
	}
	return string(formatted), nil
}

// denialRules are the rules deny. What all share is in the rule applies.
func (r *rule) denialRules() (out []string) {
	message := r.message()
	applies := r.applies
	if len(r.denials) > 1 && len(applies) > 1 {
		name := r.module.helperName("applies")
		r.module.helpers = append([]string{body(name, applies)}, r.module.helpers...)
		applies = []string{name}
	}
	for i, denial := range r.denials {
		if len(r.messages) > i {
			message = r.messages[i]
		}
		out = append(out, body("deny contains msg", withoutIndex(slices.Concat(applies, denial, []string{"msg := " + message}))))
	}
	for _, missing := range r.errors {
		reason := r.name() + ": has no value: " + missing.source
		out = append(out, body("deny contains msg", withoutIndex(slices.Concat(missing.lines, []string{"msg := " + literal(reason)}))))
	}
	return out
}

// withoutIndex leaves out the index of loops that do not use it.
func withoutIndex(lines []string) []string {
	text := strings.Join(lines, "\n")
	out := slices.Clone(lines)
	for i, line := range out {
		if before, rest, ok := strings.Cut(line, "_index, "); ok && strings.HasPrefix(line, "some element") {
			name := strings.TrimPrefix(before, "some ")
			if strings.Count(text, name+"_index") == 1 {
				out[i] = "some " + rest
			}
		}
	}
	return out
}

func (r *rule) name() string { return r.field.get("name").text() }

// message is the term of the message of a denial.
func (r *rule) message() string {
	f := r.field.get("validate", "message")
	text := strings.TrimSpace(f.text())
	if text == "" {
		return literal(fmt.Sprintf("validation error: rule %s failed", r.name()))
	}
	elements := r.elements
	defer func() { r.elements = elements }()
	return r.text(f, text, true)
}

// shared are the rules about the object and the Pod template.
func (r *rule) shared() (out []string) {
	if r.object == "reviewed" {
		out = append(out,
			body("reviewed := input.request.object", []string{`input.request.operation != "DELETE"`}),
			body("reviewed := input.request.oldObject", []string{`input.request.operation == "DELETE"`}))
	}
	if !r.pods {
		return out
	}
	out = append(out, "default pod := {}\n", body("pod := "+r.object, []string{`input.request.kind.kind == "Pod"`}))
	var templated []string
	for _, kind := range r.controllers {
		if kind == "CronJob" {
			out = append(out, body("pod := "+r.object+".spec.jobTemplate.spec.template", []string{`input.request.kind.kind == "CronJob"`}))
		} else {
			templated = append(templated, kind)
		}
	}
	if len(templated) > 0 {
		out = append(out, body("pod := "+r.object+".spec.template", []string{"input.request.kind.kind in " + literal(toAny(templated))}))
	}
	return out
}

// metadata is the METADATA of the package.
func (r *rule) metadata(pkg, enforcement string) string {
	annotations := map[string]string{}
	for _, e := range r.policy.get("metadata", "annotations").entries() {
		annotations[e.key] = e.value.text()
	}
	name := r.policy.get("metadata", "name").text()
	var b strings.Builder
	fmt.Fprintf(&b, "# METADATA\n# title: %s\n", quoted(cmp.Or(annotations["policies.kyverno.io/title"], name)+": "+r.name()))
	if description := strings.Join(strings.Fields(annotations["policies.kyverno.io/description"]), " "); description != "" {
		fmt.Fprintf(&b, "# description: %s\n", quoted(description))
	}
	b.WriteString("# custom:\n#   match:\n")
	fmt.Fprintf(&b, "#     kinds: [%s]\n#     operations: [%s]\n", strings.Join(r.metadataKinds(), ", "), strings.Join(r.operations, ", "))
	if subresources := r.subresources(); len(subresources) > 0 {
		fmt.Fprintf(&b, "#     subresources: [%s]\n", strings.Join(subresources, ", "))
	}
	if r.policy.get("kind").text() == "Policy" {
		fmt.Fprintf(&b, "#     namespaces: [%s]\n", literal(cmp.Or(r.policy.get("metadata", "namespace").text(), "default")))
	}
	if len(r.requires) > 0 {
		fmt.Fprintf(&b, "#   requires: [%s]\n", strings.Join(r.required(), ", "))
	}
	if len(r.changes) == 0 {
		fmt.Fprintf(&b, "#   enforcement: %s\n", enforcement)
	}
	if severity := annotations["policies.kyverno.io/severity"]; severity != "" {
		fmt.Fprintf(&b, "#   severity: %s\n", quoted(severity))
	}
	if category := annotations["policies.kyverno.io/category"]; category != "" {
		fmt.Fprintf(&b, "#   category: %s\n", quoted(category))
	}
	return b.String()
}

// required are the entries of requires.
func (r *rule) required() (out []string) {
	for kind := range r.requires {
		out = append(out, fmt.Sprintf("{group: %s, kind: %s}", literal(kind.group), literal(kind.kind)))
	}
	slices.Sort(out)
	return out
}

// metadataKinds are the entries of match.kinds.
func (r *rule) metadataKinds() (out []string) {
	builtin := admission.BuiltinResourcesWith()
	for _, k := range r.kinds {
		if connection, ok := connections[k.kind]; ok {
			k = connection
		}
		group := k.group
		if group == "*" {
			group = builtinGroup(builtin, k.kind)
		}
		entry := fmt.Sprintf("{group: %s, kind: %s}", literal(group), literal(k.kind))
		if k.version != "*" && k.version != "" {
			entry = fmt.Sprintf("{group: %s, version: %s, kind: %s}", literal(group), literal(k.version), literal(k.kind))
		}
		if !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	return out
}

// groups are those of kinds that Kyverno's policies usually name without a group.
var groups = []string{"", "apps", "batch", "networking.k8s.io", "rbac.authorization.k8s.io", "policy", "autoscaling", "storage.k8s.io", "apiextensions.k8s.io", "admissionregistration.k8s.io", "scheduling.k8s.io", "certificates.k8s.io"}

func builtinGroup(builtin *admission.Resources, kind string) string {
	for _, group := range groups {
		if _, ok := builtin.ByKind(group, kind); ok {
			return group
		}
	}
	return "*"
}

// subresources are those that the kinds name, and the one that Kyverno always adds to Pods.
func (r *rule) subresources() (out []string) {
	for _, k := range r.kinds {
		if connection, ok := connections[k.kind]; ok {
			k = connection
		}
		switch {
		case k.subresource != "":
			out = append(out, literal(k.subresource))
		case k.kind == "Pod" && slices.Contains(r.operations, "UPDATE") && len(r.denials) > 0:
			out = append(out, `"ephemeralcontainers"`)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
