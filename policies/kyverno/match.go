package kyverno

import (
	"regexp"
	"slices"
	"strings"
)

// kindSelector is one entry of match.resources.kinds.
type kindSelector struct{ group, version, kind, subresource string }

var version = regexp.MustCompile(`^(v\d((alpha|beta)\d)?|\*)$`)

// parseKind reads [group/][version/]kind[/subresource] as Kyverno does.
func parseKind(text string) kindSelector {
	parts := strings.Split(text, "/")
	parts = append(parts[:len(parts)-1], strings.Split(parts[len(parts)-1], ".")...)
	switch {
	case len(parts) == 1:
		return kindSelector{"*", "*", parts[0], ""}
	case len(parts) == 2 && version.MatchString(parts[0]) && parts[1] != "*":
		return kindSelector{"*", parts[0], parts[1], ""}
	case len(parts) == 2:
		return kindSelector{"*", "*", parts[0], parts[1]}
	case len(parts) == 3 && version.MatchString(parts[0]):
		return kindSelector{"*", parts[0], parts[1], parts[2]}
	case len(parts) == 3:
		return kindSelector{parts[0], parts[1], parts[2], ""}
	case len(parts) == 4:
		return kindSelector{parts[0], parts[1], parts[2], parts[3]}
	}
	return kindSelector{}
}

// filter is one entry of match.any, match.all, exclude.any or exclude.all.
type filter struct {
	kinds      []kindSelector
	operations []string
	lines      []string
	at         field
}

// connections are the kinds of the requests that connect to a subresource.
var connections = map[string]kindSelector{
	"PodExecOptions":        {"", "*", "Pod", "exec"},
	"PodAttachOptions":      {"", "*", "Pod", "attach"},
	"PodPortForwardOptions": {"", "*", "Pod", "portforward"},
	"PodProxyOptions":       {"", "*", "Pod", "proxy"},
	"ServiceProxyOptions":   {"", "*", "Service", "proxy"},
	"NodeProxyOptions":      {"", "*", "Node", "proxy"},
}

// kindsNamed are the kinds that match names.
func (r *rule) kindsNamed() (out []kindSelector) {
	match := r.field.get("match")
	for _, one := range slices.Concat([]field{match}, match.get("any").items(), match.get("all").items()) {
		for _, kind := range one.get("resources", "kinds").texts() {
			out = append(out, parseKind(kind))
		}
	}
	return out
}

// workloads are the kinds that Kyverno's autogen adds to rules about Pods.
var workloads = []string{"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}

// filters reads match or exclude. joined is true for all.
func (r *rule) filters(f field) (out []filter, joined bool) {
	r.onlyKeys(f, "any", "all", "resources", "subjects", "roles", "clusterRoles")
	switch {
	case f.get("any").exists():
		for _, item := range f.get("any").items() {
			out = append(out, r.filter(item))
		}
	case f.get("all").exists():
		for _, item := range f.get("all").items() {
			out = append(out, r.filter(item))
		}
		return out, true
	case f.get("resources").exists() || f.get("subjects").exists() || f.get("clusterRoles").exists() || f.get("roles").exists():
		out = append(out, r.filter(f))
	}
	return out, false
}

// filter translates one entry.
func (r *rule) filter(f field) filter {
	out := filter{at: f}
	r.onlyKeys(f, "resources", "subjects", "roles", "clusterRoles", "any", "all")
	for _, roles := range []string{"roles", "clusterRoles"} {
		if f.get(roles).exists() {
			r.add(f.get(roles), "match or exclude by "+roles, "Lintel does not resolve RBAC; name users or groups under subjects")
		}
	}
	resources := f.get("resources")
	r.onlyKeys(resources, "kinds", "name", "names", "namespaces", "annotations", "selector", "namespaceSelector", "operations")
	for _, kind := range resources.get("kinds").items() {
		out.kinds = append(out.kinds, parseKind(kind.text()))
		if strings.ContainsAny(kind.text(), "?") || strings.Contains(parseKind(kind.text()).kind, "*") && parseKind(kind.text()).kind != "*" {
			r.add(kind, "wildcard in a kind", "name the kinds")
		}
	}
	out.operations = resources.get("operations").texts()
	out.lines = r.resourceLines(resources)
	if subjects := f.get("subjects"); subjects.exists() {
		out.lines = append(out.lines, "kyverno.from_subject("+literal(subjects.value())+")")
	}
	return out
}

// resourceLines are the conditions on names, namespaces, annotations and labels.
func (r *rule) resourceLines(f field) (out []string) {
	list := func(f field) string { return literal(toAny(f.texts())) }
	if name := f.get("name"); name.exists() {
		out = append(out, "kyverno.like("+literal(name.text())+", input.name)")
	}
	if names := f.get("names"); names.exists() {
		out = append(out, "kyverno.like_any("+list(names)+", input.name)")
	}
	if namespaces := f.get("namespaces"); namespaces.exists() {
		out = append(out, "kyverno.like_any("+list(namespaces)+", kyverno.namespace)")
	}
	labels := func(of, key string) string { return "object.get(" + of + `, ["metadata", "` + key + `"], {})` }
	if annotations := f.get("annotations"); annotations.exists() {
		out = append(out, "kyverno.annotated("+literal(annotations.value())+", "+labels(r.object, "annotations")+")")
	}
	if selector := f.get("selector"); selector.exists() {
		out = append(out, "kyverno.selects("+literal(selector.value())+", "+labels(r.object, "labels")+")")
	}
	if selector := f.get("namespaceSelector"); selector.exists() {
		out = append(out, `input.request.kind.kind != "Namespace"`, "kyverno.selects("+literal(selector.value())+", "+labels(`object.get(input, "namespace", {})`, "labels")+")")
	}
	return out
}

func toAny(texts []string) []any {
	out := make([]any, 0, len(texts))
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}

// kindLines are the conditions that the request is about one of the kinds.
func (r *rule) kindLines(kinds []kindSelector) []string {
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(k kindSelector) bool { return k.kind == "*" }) {
		return nil
	}
	var names []string
	for _, k := range r.withWorkloads(kinds) {
		names = append(names, k.kind)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 1 {
		return []string{"input.request.kind.kind == " + literal(names[0])}
	}
	return []string{"input.request.kind.kind in " + literal(toAny(names))}
}

// withWorkloads adds the kinds of autogen to kinds with Pod.
func (r *rule) withWorkloads(kinds []kindSelector) []kindSelector {
	if len(r.controllers) == 0 || !slices.ContainsFunc(kinds, func(k kindSelector) bool { return k.kind == "Pod" }) {
		return kinds
	}
	out := slices.Clone(kinds)
	for _, kind := range r.controllers {
		out = append(out, kindSelector{"*", "*", kind, ""})
	}
	return out
}
