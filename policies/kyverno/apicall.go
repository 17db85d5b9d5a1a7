package kyverno

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/admission"
)

// definedKinds are kinds of usual custom resources by group and plural name. A plural name does not
// tell the letters of a kind that are upper case.
var definedKinds = map[string]string{
	"autoscaling.k8s.io/verticalpodautoscalers":     "VerticalPodAutoscaler",
	"cert-manager.io/certificates":                  "Certificate",
	"cert-manager.io/clusterissuers":                "ClusterIssuer",
	"cert-manager.io/issuers":                       "Issuer",
	"config.openshift.io/infrastructures":           "Infrastructure",
	"gateway.networking.k8s.io/gateways":            "Gateway",
	"gateway.networking.k8s.io/httproutes":          "HTTPRoute",
	"networking.istio.io/gateways":                  "Gateway",
	"networking.istio.io/virtualservices":           "VirtualService",
	"policy.linkerd.io/httproutes":                  "HTTPRoute",
	"policy.linkerd.io/servers":                     "Server",
	"route.openshift.io/routes":                     "Route",
	"security.istio.io/authorizationpolicies":       "AuthorizationPolicy",
	"security.istio.io/peerauthentications":         "PeerAuthentication",
	"snapshot.storage.k8s.io/volumesnapshotclasses": "VolumeSnapshotClass",
	"snapshot.storage.k8s.io/volumesnapshots":       "VolumeSnapshot",
	"external-secrets.io/externalsecrets":           "ExternalSecret",
	"argoproj.io/applications":                      "Application",
	"argoproj.io/appprojects":                       "AppProject",
}

const callHint = "policies make no calls during a review; put the data into a data file or a DataSource"

// apiCall is the term of an apiCall that reads objects of the cluster: a list, or one object.
func (r *rule) apiCall(f field) string {
	r.onlyKeys(f, "urlPath", "jmesPath", "method", "data", "service", "default")
	switch method := f.get("method").text(); {
	case f.get("service").exists():
		r.add(f.get("service"), "context.apiCall to a service", callHint)
		return "null"
	case method != "" && method != "GET", f.get("data").exists():
		r.add(f, "context.apiCall that is not a GET", callHint)
		return "null"
	case f.get("default").exists():
		r.add(f.get("default"), "context.apiCall with a default", "write the rule in Rego with requires and data.cluster")
		return "null"
	}
	term, ok := r.objects(f.get("urlPath"))
	if path := f.get("jmesPath"); ok && path.exists() {
		return r.inPlace(path, path.text(), place{base: term}, false)
	}
	return term
}

// objects is the term of the objects at a path of the API.
func (r *rule) objects(f field) (string, bool) {
	path, query, _ := strings.Cut(strings.TrimSpace(f.text()), "?")
	parts := segments(path)
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		r.add(f, "context.apiCall to "+path, callHint)
		return "null", false
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = r.text(f, parts[1], false), parts[2:]
	}
	resource := strings.ToLower(parts[0])
	kind, ok := kindNamed(group, resource)
	if !ok || len(parts) > 2 {
		r.add(f, "context.apiCall to the resource "+strings.Join(parts, "/"), "write the rule in Rego with requires and data.cluster")
		return "null", false
	}
	if len(parts) == 2 && query == "" {
		return r.oneObject(f, clusterKind{group, kind}, namespace, parts[1]), true
	}
	if len(parts) == 2 {
		r.add(f, "context.apiCall with a query", "write the rule in Rego with requires and data.cluster")
		return "null", false
	}
	r.reads(f, clusterKind{group, kind})
	all := ref("data.cluster", clusterKind{group, kind}.key())
	term := "kyverno.all_items(" + all + ")"
	if namespace != "" {
		term = "kyverno.items(object.get(" + all + ", " + namespace + ", {}))"
	}
	return r.selectedObjects(f, term, query)
}

// oneObject is the term of one object. The Namespace of the request needs no permission.
func (r *rule) oneObject(f field, kind clusterKind, namespace, name string) string {
	term := r.text(f, name, false)
	if kind.kind == "Namespace" && namespace == "" {
		for _, same := range []string{"input.request.namespace", "input.request.object.metadata.namespace", "reviewed.metadata.namespace"} {
			if term == same {
				return "input.namespace"
			}
		}
	}
	r.reads(f, kind)
	if namespace == "" {
		namespace = `""`
	}
	return ref("data.cluster", kind.key()) + "[" + namespace + "][" + term + "]"
}

// selectedObjects is the term of the objects of a list that a query selects.
func (r *rule) selectedObjects(f field, list, query string) (string, bool) {
	if query == "" {
		return list, true
	}
	key, value, _ := strings.Cut(query, "=")
	switch decoded, err := url.QueryUnescape(value); {
	case err != nil || strings.Contains(query, "&"):
	case key == "labelSelector" && !strings.Contains(decoded, "{{"):
		if selector, err := labels.Parse(decoded); err == nil {
			if matched, ok := exactLabels(selector); ok {
				return "kyverno.labeled_items(" + list + ", " + literal(matched) + ")", true
			}
		}
	case key == "fieldSelector" && strings.HasPrefix(decoded, "metadata.name="):
		name := r.text(f, strings.TrimPrefix(strings.TrimPrefix(value, "metadata.name="), "metadata.name%3D"), false)
		return "kyverno.named_items(" + list + ", " + name + ")", true
	}
	r.add(f, "context.apiCall with a query", "write the rule in Rego with requires and data.cluster")
	return "null", false
}

// exactLabels are the labels of a selector that only compares labels with values.
func exactLabels(selector labels.Selector) (map[string]any, bool) {
	requirements, selectable := selector.Requirements()
	out := map[string]any{}
	for _, one := range requirements {
		values := one.Values().UnsortedList()
		if len(values) != 1 || one.Operator() != "=" && one.Operator() != "==" && one.Operator() != "in" {
			return nil, false
		}
		out[one.Key()] = values[0]
	}
	return out, selectable
}

// segments are the parts of a path; a variable is a part, or in one.
func segments(path string) (out []string) {
	start := 0
	for i := 0; i < len(path); i++ {
		switch {
		case strings.HasPrefix(path[i:], "{{"):
			if end := closing(path, i); end > 0 {
				i = end - 1
			}
		case path[i] == '/':
			if i > start {
				out = append(out, path[start:i])
			}
			start = i + 1
		}
	}
	if start < len(path) {
		out = append(out, path[start:])
	}
	return out
}

// kindNamed is the kind of a resource.
func kindNamed(group, resource string) (string, bool) {
	if found, ok := admission.BuiltinResourcesWith().ByName(group, resource); ok {
		return found.Kind, true
	}
	kind, ok := definedKinds[group+"/"+resource]
	return kind, ok
}
