package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Target is the resource that a request is about, and its operation.
type Target struct {
	// Resource is the resource, or the parent of the subresource.
	Resource    admission.ServedResource
	Subresource string
	// Operation is the one that requests for the subresource have; empty without a subresource.
	Operation string
	// HasOwnKind reports that the objects of the subresource have another kind than the resource,
	// such as Scale.
	HasOwnKind bool
	// HasNoMetadata reports that objects of the kind have no metadata, such as PodExecOptions:
	// only the path of the request names the object.
	HasNoMetadata bool
}

// body is a subresource of the core group whose objects have a kind of their own.
type body struct {
	resource, name string
	kind           schema.GroupVersionKind
	operation      string
}

var bodies = []body{
	{"pods", "attach", schema.GroupVersionKind{Version: "v1", Kind: "PodAttachOptions"}, "CONNECT"},
	{"pods", "binding", schema.GroupVersionKind{Version: "v1", Kind: "Binding"}, "CREATE"},
	{"pods", "eviction", schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, "CREATE"},
	{"pods", "exec", schema.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, "CONNECT"},
	{"pods", "portforward", schema.GroupVersionKind{Version: "v1", Kind: "PodPortForwardOptions"}, "CONNECT"},
	{"pods", "proxy", schema.GroupVersionKind{Version: "v1", Kind: "PodProxyOptions"}, "CONNECT"},
	{"services", "proxy", schema.GroupVersionKind{Version: "v1", Kind: "ServiceProxyOptions"}, "CONNECT"},
	{"serviceaccounts", "token", schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}, "CREATE"},
}

// scaleKind is the kind of the subresource scale of every resource that has one.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// states are the subresources with objects of the kind of the resource, and the resources that
// have them; nil for any.
var states = map[string][]string{
	"approval":            {"certificatesigningrequests.certificates.k8s.io"},
	"ephemeralcontainers": {"pods"},
	"finalize":            {"namespaces"},
	"resize":              {"pods"},
	"status":              nil,
}

// Subresources are the names of the subresources that Resolve knows.
func Subresources() []string {
	names := slices.Collect(maps.Keys(states))
	names = append(names, "scale")
	for _, one := range bodies {
		names = append(names, one.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Resolve finds the target of a request with an object of a kind. subresource is a name such as
// exec or, with its parent, deployments.apps/scale. own is the resource of the kind.
func Resolve(subresource string, kind schema.GroupVersionKind, own admission.ServedResource, resources *admission.Resources) (Target, error) {
	if subresource == "" {
		return Target{Resource: own}, nil
	}
	parent, name, hasParent := strings.Cut(subresource, "/")
	if !hasParent {
		parent, name = "", subresource
	}
	target := Target{Resource: own, Subresource: name, Operation: "UPDATE"}
	if hasParent {
		found, err := resourceNamed(parent, resources)
		if err != nil {
			return target, err
		}
		target.Resource = found
	}
	switch {
	case name == "scale":
		return resolveScale(target, hasParent, kind)
	case slices.ContainsFunc(bodies, func(b body) bool { return b.name == name }):
		return resolveBody(target, hasParent, kind, resources)
	}
	parents, known := states[name]
	full := nameOf(own)
	switch {
	case !known:
		return target, fmt.Errorf("%q is not a subresource of Kubernetes: the subresources are %s", name, strings.Join(Subresources(), ", "))
	case hasParent && nameOf(target.Resource) != full:
		return target, fmt.Errorf("%s/%s takes an object of kind %s, not %s", nameOf(target.Resource), name, target.Resource.Kind, kind.Kind)
	case parents != nil && !slices.Contains(parents, full):
		return target, fmt.Errorf("%s has no subresource %s: only %s has one", full, name, parents[0])
	}
	target.Resource = own
	return target, nil
}

func resolveScale(target Target, hasParent bool, kind schema.GroupVersionKind) (Target, error) {
	switch {
	case kind != scaleKind:
		return target, fmt.Errorf("scale takes an object of kind Scale in autoscaling/v1, not %s in %s", kind.Kind, kind.GroupVersion())
	case !hasParent:
		return target, fmt.Errorf("several resources have a subresource scale: name the resource, such as deployments.apps/scale")
	}
	target.HasOwnKind = true
	return target, nil
}

func resolveBody(target Target, hasParent bool, kind schema.GroupVersionKind, resources *admission.Resources) (Target, error) {
	var takes []string
	for _, one := range bodies {
		if one.name != target.Subresource || hasParent && (target.Resource.Group != "" || target.Resource.Name != one.resource) {
			continue
		}
		if one.kind != kind {
			takes = append(takes, one.kind.Kind+" in "+one.kind.GroupVersion().String())
			continue
		}
		target.Resource, _ = resources.ByName("", one.resource)
		target.Operation, target.HasOwnKind, target.HasNoMetadata = one.operation, true, one.operation == "CONNECT"
		return target, nil
	}
	if len(takes) == 0 {
		return target, fmt.Errorf("%s has no subresource %s", nameOf(target.Resource), target.Subresource)
	}
	return target, fmt.Errorf("%s takes an object of kind %s, not %s in %s", target.Subresource, strings.Join(takes, " or "), kind.Kind, kind.GroupVersion())
}

// resourceNamed finds a resource by its name, such as pods or deployments.apps. Without a group, the
// name must be unique.
func resourceNamed(name string, resources *admission.Resources) (admission.ServedResource, error) {
	plural, group, hasGroup := strings.Cut(name, ".")
	if hasGroup {
		if found, ok := resources.ByName(group, plural); ok {
			return found, nil
		}
		return admission.ServedResource{}, fmt.Errorf("there is no resource %s at hand: the name is plural, with its group, such as deployments.apps", name)
	}
	if found, ok := resources.ByName("", plural); ok {
		return found, nil
	}
	var found []admission.ServedResource
	var names []string
	for _, resource := range resources.All() {
		if resource.Name == plural {
			found, names = append(found, resource), append(names, nameOf(resource))
		}
	}
	switch len(found) {
	case 0:
		return admission.ServedResource{}, fmt.Errorf("there is no resource %s at hand: the name is plural, such as deployments.apps", name)
	case 1:
		return found[0], nil
	}
	return admission.ServedResource{}, fmt.Errorf("several groups have a resource %s: write %s", name, strings.Join(names, " or "))
}

// nameOf is the name of a resource with its group.
func nameOf(resource admission.ServedResource) string {
	return strings.TrimSuffix(resource.Name+"."+resource.Group, ".")
}
