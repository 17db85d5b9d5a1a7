package admission

import "slices"

// Subresource is a subresource whose requests carry an object of a kind.
type Subresource struct {
	Group, Resource, Name string
	// Kind is the kind of the object: the kind of the resource, or one that no resource has.
	Kind GroupVersionKind
	// Connect reports that its requests have the operation CONNECT, and others CREATE or
	// UPDATE.
	Connect bool
}

// GatekeeperSubresources are those that Gatekeeper 3.23's chart registers. Left out are
// pods/log, which is never sent to admission, and nodes/proxy, for which Lintel is never
// called.
func GatekeeperSubresources() []Subresource {
	pod, service := GroupVersionKind{Version: "v1", Kind: "Pod"}, GroupVersionKind{Version: "v1", Kind: "Service"}
	scale := GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	core := func(kind string) GroupVersionKind { return GroupVersionKind{Version: "v1", Kind: kind} }
	return []Subresource{
		{"", "pods", "ephemeralcontainers", pod, false},
		{"", "pods", "resize", pod, false},
		{"", "pods", "eviction", GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, false},
		{"", "pods", "binding", core("Binding"), false},
		{"apps", "deployments", "scale", scale, false},
		{"apps", "replicasets", "scale", scale, false},
		{"apps", "statefulsets", "scale", scale, false},
		{"", "replicationcontrollers", "scale", scale, false},
		{"", "services", "status", service, false},
		{"", "pods", "attach", core("PodAttachOptions"), true},
		{"", "pods", "exec", core("PodExecOptions"), true},
		{"", "pods", "portforward", core("PodPortForwardOptions"), true},
		{"", "pods", "proxy", core("PodProxyOptions"), true},
		{"", "services", "proxy", core("ServiceProxyOptions"), true},
	}
}

// OnlyInSubresources reports whether objects of a kind come with subresources alone.
func (t *Resources) OnlyInSubresources(kind GroupVersionKind) bool {
	_, known := t.ByKind(kind.Group, kind.Kind)
	return !known && slices.ContainsFunc(GatekeeperSubresources(), func(one Subresource) bool {
		return one.Kind.WithoutVersion() == kind.WithoutVersion()
	})
}
