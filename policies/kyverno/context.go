package kyverno

import "strings"

// context translates variables, and entries that read objects of the cluster. Entries that reach the
// network are refused.
func (r *rule) context(f field) {
	for _, item := range f.items() {
		name := item.get("name").text()
		for _, e := range item.entries() {
			switch e.key {
			case "globalReference":
				r.add(e.value, "context.globalReference", "declare the kind under requires and read data.cluster")
			case "imageRegistry":
				r.add(e.value, "context.imageRegistry", "policies reach no registry; put the data into a data file")
			}
		}
		switch {
		case item.get("variable").exists():
			r.variables[name] = r.variableTerm(name, item.get("variable"))
		case item.get("apiCall").exists():
			r.variables[name] = r.named(name, r.apiCall(item.get("apiCall")))
		case item.get("configMap").exists():
			r.variables[name] = r.named(name, r.configMap(item.get("configMap")))
		default:
			r.variables[name] = "null"
		}
	}
}

// variableTerm is the term of a variable.
func (r *rule) variableTerm(name string, f field) string {
	r.onlyKeys(f, "value", "jmesPath", "default")
	fallback := f.get("default")
	var term string
	switch path := f.get("jmesPath"); {
	case path.exists() && f.get("value").exists():
		here := place{base: r.template(f.get("value"), f.get("value").value(), fallback.exists())}
		term = r.inPlace(path, path.text(), here, fallback.exists())
	case path.exists():
		term = r.expression(path, path.text(), fallback.exists())
	default:
		term = r.template(f.get("value"), f.get("value").value(), fallback.exists())
	}
	if fallback.exists() {
		term = "kyverno.or_default(" + term + ", " + r.template(fallback, fallback.value(), true) + ")"
	}
	return r.named(name, term)
}

// named defines a helper for a term. In a loop, the term itself stands for it.
func (r *rule) named(name, term string) string {
	if len(r.elements) > 0 {
		return term
	}
	helper := r.module.helperName(identifier(name))
	r.module.helpers = append(r.module.helpers, helper+" := "+term+"\n")
	if r.mayBeMissing(term) {
		r.module.partial[helper] = true
	}
	return helper
}

// configMap is the term of a ConfigMap.
func (r *rule) configMap(f field) string {
	r.onlyKeys(f, "name", "namespace")
	namespace := `"default"`
	if own := r.policy.get("metadata", "namespace"); r.policy.get("kind").text() == "Policy" && own.exists() {
		namespace = literal(own.text())
	}
	if f.get("namespace").text() != "" {
		namespace = r.text(f.get("namespace"), f.get("namespace").text(), false)
	}
	r.reads(f, clusterKind{"", "ConfigMap"})
	return "kyverno.config_map(data.cluster.ConfigMap[" + namespace + "][" + r.text(f.get("name"), f.get("name").text(), false) + "])"
}

// inPlace translates an expression about a value.
func (e *expressions) inPlace(at field, source string, here place, lenient bool) string {
	tree, ok := e.parse(at, source)
	if !ok {
		return "null"
	}
	return e.term(at, tree, here, lenient)
}

// clusterKind is a kind whose objects a policy reads.
type clusterKind struct{ group, kind string }

// key is the name of the kind below data.cluster.
func (k clusterKind) key() string { return strings.TrimSuffix(k.kind+"."+k.group, ".") }

// reads adds a kind to those that the rule requires.
func (r *rule) reads(at field, kind clusterKind) {
	if r.policy.get("kind").text() == "Policy" {
		r.add(at, "objects of the cluster in a Policy", "convert it to a ClusterPolicy for the namespace first")
	}
	r.requires[kind] = true
}
