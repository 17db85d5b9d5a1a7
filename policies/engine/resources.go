package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Resource is one served resource.
type Resource struct {
	Group, Version, Kind string
	Name                 string // plural, such as "pods"
	Namespaced           bool
}

// Resources is the table from kinds to resources. It is immutable. The zero value
// knows nothing.
type Resources struct {
	byKind   map[GroupVersionKind]Resource // without version
	byName   map[GroupVersionResource]Resource
	versions map[GroupVersionKind][]string // the preferred one first
}

// NewResources makes a table; the first entry for a kind or a name wins, so list
// the preferred version first.
func NewResources(list []Resource) *Resources {
	t := &Resources{
		byKind: map[GroupVersionKind]Resource{}, byName: map[GroupVersionResource]Resource{},
		versions: map[GroupVersionKind][]string{},
	}
	for _, r := range list {
		kind := GroupVersionKind{Group: r.Group, Kind: r.Kind}
		name := GroupVersionResource{Group: r.Group, Resource: r.Name}
		if _, ok := t.byKind[kind]; !ok {
			t.byKind[kind] = r
		}
		if _, ok := t.byName[name]; !ok {
			t.byName[name] = r
		}
		if !slices.Contains(t.versions[kind], r.Version) {
			t.versions[kind] = append(t.versions[kind], r.Version)
		}
	}
	return t
}

// ByKind finds the resource of a kind, in its preferred version.
func (t *Resources) ByKind(group, kind string) (Resource, bool) {
	r, ok := t.byKind[GroupVersionKind{Group: group, Kind: kind}]
	return r, ok
}

// All lists the resources, one for each kind, in its preferred version.
func (t *Resources) All() []Resource {
	return slices.SortedFunc(maps.Values(t.byKind), func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
}

// Versions are those that a kind is served in, the preferred one first.
func (t *Resources) Versions(group, kind string) []string {
	return slices.Clone(t.versions[GroupVersionKind{Group: group, Kind: kind}])
}

// ByName finds a resource by its plural name.
func (t *Resources) ByName(group, name string) (Resource, bool) {
	r, ok := t.byName[GroupVersionResource{Group: group, Resource: name}]
	return r, ok
}

// KindOf is the kind of the resource a review is about: for a subresource such as
// scale or exec, that of its parent.
func (t *Resources) KindOf(r *Review) GroupVersionKind {
	if r.SubResource == "" {
		return r.Kind
	}
	if resource, ok := t.ByName(r.Resource.Group, r.Resource.Resource); ok {
		return GroupVersionKind{Group: resource.Group, Version: r.Resource.Version, Kind: resource.Kind}
	}
	return r.Kind
}

// BuiltinResources is the table of the kinds that every cluster serves, for
// callers without a cluster.
func BuiltinResources() *Resources {
	var list []Resource
	for _, line := range strings.Split(strings.TrimSpace(builtinResources), "\n") {
		f := strings.Fields(line)
		groupVersion, kind, name, scope := f[0], f[1], f[2], f[3]
		group, version, found := strings.Cut(groupVersion, "/")
		if !found {
			group, version = "", groupVersion
		}
		list = append(list, Resource{group, version, kind, name, scope == "namespaced"})
	}
	return NewResources(list)
}

// The kinds of Kubernetes 1.36 in their preferred versions, as its discovery
// documents list them, and Lintel's own.
const builtinResources = `
v1 Pod pods namespaced
v1 ReplicationController replicationcontrollers namespaced
v1 Service services namespaced
v1 Endpoints endpoints namespaced
v1 ConfigMap configmaps namespaced
v1 Secret secrets namespaced
v1 ServiceAccount serviceaccounts namespaced
v1 PersistentVolumeClaim persistentvolumeclaims namespaced
v1 PersistentVolume persistentvolumes cluster
v1 Namespace namespaces cluster
v1 Node nodes cluster
v1 Event events namespaced
v1 LimitRange limitranges namespaced
v1 ResourceQuota resourcequotas namespaced
v1 PodTemplate podtemplates namespaced
apps/v1 Deployment deployments namespaced
apps/v1 ReplicaSet replicasets namespaced
apps/v1 StatefulSet statefulsets namespaced
apps/v1 DaemonSet daemonsets namespaced
apps/v1 ControllerRevision controllerrevisions namespaced
batch/v1 Job jobs namespaced
batch/v1 CronJob cronjobs namespaced
autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers namespaced
policy/v1 PodDisruptionBudget poddisruptionbudgets namespaced
networking.k8s.io/v1 Ingress ingresses namespaced
networking.k8s.io/v1 IngressClass ingressclasses cluster
networking.k8s.io/v1 NetworkPolicy networkpolicies namespaced
discovery.k8s.io/v1 EndpointSlice endpointslices namespaced
rbac.authorization.k8s.io/v1 Role roles namespaced
rbac.authorization.k8s.io/v1 RoleBinding rolebindings namespaced
rbac.authorization.k8s.io/v1 ClusterRole clusterroles cluster
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings cluster
storage.k8s.io/v1 StorageClass storageclasses cluster
storage.k8s.io/v1 VolumeAttachment volumeattachments cluster
storage.k8s.io/v1 CSIDriver csidrivers cluster
scheduling.k8s.io/v1 PriorityClass priorityclasses cluster
coordination.k8s.io/v1 Lease leases namespaced
node.k8s.io/v1 RuntimeClass runtimeclasses cluster
certificates.k8s.io/v1 CertificateSigningRequest certificatesigningrequests cluster
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations cluster
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations cluster
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy validatingadmissionpolicies cluster
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings cluster
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions cluster
apiregistration.k8s.io/v1 APIService apiservices cluster
gateway.networking.k8s.io/v1 Gateway gateways namespaced
gateway.networking.k8s.io/v1 GatewayClass gatewayclasses cluster
gateway.networking.k8s.io/v1 HTTPRoute httproutes namespaced
cert-manager.io/v1 Certificate certificates namespaced
cert-manager.io/v1 CertificateRequest certificaterequests namespaced
cert-manager.io/v1 Issuer issuers namespaced
cert-manager.io/v1 ClusterIssuer clusterissuers cluster
policy.lintel.dev/v1alpha1 PolicySource policysources cluster
`

// With is the table with more resources, after those it has.
func (t *Resources) With(more ...Resource) *Resources {
	added := NewResources(more)
	out := &Resources{byKind: maps.Clone(added.byKind), byName: maps.Clone(added.byName), versions: maps.Clone(added.versions)}
	maps.Copy(out.byKind, t.byKind)
	maps.Copy(out.byName, t.byName)
	maps.Copy(out.versions, t.versions)
	return out
}
