package admission

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// ServedResource is one served resource.
type ServedResource struct {
	Group, Version, Kind string
	Name                 string // plural, such as "pods"
	Namespaced           bool
}

// Resources is the table from kinds to resources. It is immutable. The zero value
// knows nothing.
type Resources struct {
	byKind   map[GroupVersionKind]ServedResource // without version
	byName   map[GroupVersionResource]ServedResource
	versions map[GroupVersionKind][]string // the preferred one first
}

// NewResources returns a table; the first entry for a kind or a name wins, so list
// the preferred version first.
func NewResources(list []ServedResource) *Resources {
	t := &Resources{
		byKind: map[GroupVersionKind]ServedResource{}, byName: map[GroupVersionResource]ServedResource{},
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
func (t *Resources) ByKind(group, kind string) (ServedResource, bool) {
	r, ok := t.byKind[GroupVersionKind{Group: group, Kind: kind}]
	return r, ok
}

// All lists the resources, one for each kind, in its preferred version.
func (t *Resources) All() []ServedResource {
	return slices.SortedFunc(maps.Values(t.byKind), func(a, b ServedResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
}

// Versions are those that a kind is served in, the preferred one first.
func (t *Resources) Versions(group, kind string) []string {
	return slices.Clone(t.versions[GroupVersionKind{Group: group, Kind: kind}])
}

// ByName finds a resource by its plural name.
func (t *Resources) ByName(group, name string) (ServedResource, bool) {
	r, ok := t.byName[GroupVersionResource{Group: group, Resource: name}]
	return r, ok
}

// KindOf returns the kind of the reviewed resource: for a subresource such as scale or exec, the
// kind of its parent.
func (t *Resources) KindOf(r *Review) GroupVersionKind {
	if r.SubResource == "" {
		return r.Kind
	}
	if resource, ok := t.ByName(r.Resource.Group, r.Resource.Resource); ok {
		return GroupVersionKind{Group: resource.Group, Version: r.Resource.Version, Kind: resource.Kind}
	}
	return r.Kind
}

// BuiltinResources is the table of the kinds that clusters serve, for callers without
// a cluster.
func BuiltinResources() *Resources { return BuiltinResourcesWith() }

// BuiltinResourcesWith returns BuiltinResources with additional definitions, which take
// precedence over the built-in ones of their kinds.
func BuiltinResourcesWith(defined ...ServedResource) *Resources {
	return NewResources(slices.Concat(defined, KubernetesResources(), readResources(addedResources)))
}

// KubernetesResources are the kinds of Kubernetes 1.36 itself, in every version that it
// serves by default, the preferred one first.
func KubernetesResources() []ServedResource { return readResources(kubernetesResourceTable) }

func readResources(table string) []ServedResource {
	var list []ServedResource
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		groupVersions, kind, name, scope := f[0], f[1], f[2], f[3]
		group, versions, found := strings.Cut(groupVersions, "/")
		if !found {
			group, versions = "", groupVersions
		}
		for version := range strings.SplitSeq(versions, ",") {
			list = append(list, ServedResource{group, version, kind, name, scope == "namespaced"})
		}
	}
	return list
}

// kubernetesResourceTable are the kinds of Kubernetes 1.36 in the versions served by default, the
// preferred one first, as in its discovery documents.
const kubernetesResourceTable = `
v1 Pod pods namespaced
v1 Binding bindings namespaced
v1 ComponentStatus componentstatuses cluster
v1 ConfigMap configmaps namespaced
v1 Endpoints endpoints namespaced
v1 Event events namespaced
v1 LimitRange limitranges namespaced
v1 Namespace namespaces cluster
v1 Node nodes cluster
v1 PersistentVolumeClaim persistentvolumeclaims namespaced
v1 PersistentVolume persistentvolumes cluster
v1 PodTemplate podtemplates namespaced
v1 ReplicationController replicationcontrollers namespaced
v1 ResourceQuota resourcequotas namespaced
v1 Secret secrets namespaced
v1 ServiceAccount serviceaccounts namespaced
v1 Service services namespaced
apiregistration.k8s.io/v1 APIService apiservices cluster
apps/v1 ControllerRevision controllerrevisions namespaced
apps/v1 DaemonSet daemonsets namespaced
apps/v1 Deployment deployments namespaced
apps/v1 ReplicaSet replicasets namespaced
apps/v1 StatefulSet statefulsets namespaced
events.k8s.io/v1 Event events namespaced
authentication.k8s.io/v1 SelfSubjectReview selfsubjectreviews cluster
authentication.k8s.io/v1 TokenReview tokenreviews cluster
authorization.k8s.io/v1 LocalSubjectAccessReview localsubjectaccessreviews namespaced
authorization.k8s.io/v1 SelfSubjectAccessReview selfsubjectaccessreviews cluster
authorization.k8s.io/v1 SelfSubjectRulesReview selfsubjectrulesreviews cluster
authorization.k8s.io/v1 SubjectAccessReview subjectaccessreviews cluster
autoscaling/v2,v1 HorizontalPodAutoscaler horizontalpodautoscalers namespaced
batch/v1 CronJob cronjobs namespaced
batch/v1 Job jobs namespaced
certificates.k8s.io/v1 CertificateSigningRequest certificatesigningrequests cluster
networking.k8s.io/v1 IngressClass ingressclasses cluster
networking.k8s.io/v1 Ingress ingresses namespaced
networking.k8s.io/v1 IPAddress ipaddresses cluster
networking.k8s.io/v1 NetworkPolicy networkpolicies namespaced
networking.k8s.io/v1 ServiceCIDR servicecidrs cluster
policy/v1 PodDisruptionBudget poddisruptionbudgets namespaced
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings cluster
rbac.authorization.k8s.io/v1 ClusterRole clusterroles cluster
rbac.authorization.k8s.io/v1 RoleBinding rolebindings namespaced
rbac.authorization.k8s.io/v1 Role roles namespaced
storage.k8s.io/v1 CSIDriver csidrivers cluster
storage.k8s.io/v1 CSINode csinodes cluster
storage.k8s.io/v1 CSIStorageCapacity csistoragecapacities namespaced
storage.k8s.io/v1 StorageClass storageclasses cluster
storage.k8s.io/v1 VolumeAttachment volumeattachments cluster
storage.k8s.io/v1 VolumeAttributesClass volumeattributesclasses cluster
admissionregistration.k8s.io/v1 MutatingAdmissionPolicy mutatingadmissionpolicies cluster
admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings cluster
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations cluster
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy validatingadmissionpolicies cluster
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings cluster
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations cluster
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions cluster
scheduling.k8s.io/v1 PriorityClass priorityclasses cluster
coordination.k8s.io/v1 Lease leases namespaced
node.k8s.io/v1 RuntimeClass runtimeclasses cluster
discovery.k8s.io/v1 EndpointSlice endpointslices namespaced
resource.k8s.io/v1 DeviceClass deviceclasses cluster
resource.k8s.io/v1 ResourceClaim resourceclaims namespaced
resource.k8s.io/v1 ResourceClaimTemplate resourceclaimtemplates namespaced
resource.k8s.io/v1 ResourceSlice resourceslices cluster
flowcontrol.apiserver.k8s.io/v1 FlowSchema flowschemas cluster
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration prioritylevelconfigurations cluster
`

// addedResources are kinds that many clusters have by a CustomResourceDefinition, and
// Lintel's own.
const addedResources = `
gateway.networking.k8s.io/v1,v1beta1 Gateway gateways namespaced
gateway.networking.k8s.io/v1,v1beta1 GatewayClass gatewayclasses cluster
gateway.networking.k8s.io/v1,v1beta1 HTTPRoute httproutes namespaced
cert-manager.io/v1 Certificate certificates namespaced
cert-manager.io/v1 CertificateRequest certificaterequests namespaced
cert-manager.io/v1 Issuer issuers namespaced
cert-manager.io/v1 ClusterIssuer clusterissuers cluster
openclaw.enterprise.io/v1 OpenClawInstance openclawinstances namespaced
openclaw.enterprise.io/v1 PolicyBundle policybundles namespaced
openvox.voxpupuli.org/v1alpha1 CertificateAuthority certificateauthorities namespaced
openvox.voxpupuli.org/v1alpha1 Certificate certificates namespaced
openvox.voxpupuli.org/v1alpha1 Config configs namespaced
openvox.voxpupuli.org/v1alpha1 Database databases namespaced
openvox.voxpupuli.org/v1alpha1 Pool pools namespaced
openvox.voxpupuli.org/v1alpha1 Server servers namespaced
openvox.voxpupuli.org/v1alpha1 NodeClassifier nodeclassifiers namespaced
openvox.voxpupuli.org/v1alpha1 ReportProcessor reportprocessors namespaced
openvox.voxpupuli.org/v1alpha1 SigningPolicy signingpolicies namespaced
openzro.io/v1 OZGroup ozgroups namespaced
openzro.io/v1 OZHTTPRoute ozhttproutes namespaced
openzro.io/v1 OZNetworkResource oznetworkresources namespaced
openzro.io/v1 OZPolicy ozpolicies namespaced
openzro.io/v1 OZResource ozresources namespaced
openzro.io/v1 OZRoutingPeer ozroutingpeers namespaced
openzro.io/v1 OZSetupKey ozsetupkeys namespaced
openzro.io/v1 OZSidecarProfile ozsidecarprofiles namespaced
orloj.dev/v1 AgentPolicy agentpolicies namespaced
orloj.dev/v1 Agent agents namespaced
orloj.dev/v1 AgentSystem agentsystems namespaced
orloj.dev/v1 McpServer mcpservers namespaced
orloj.dev/v1 Memory memories namespaced
orloj.dev/v1 ModelEndpoint modelendpoints namespaced
orloj.dev/v1 Secret secrets namespaced
orloj.dev/v1 Tool tools namespaced
policy.lintel.dev/v1alpha1 DataSource datasources cluster
policy.lintel.dev/v1alpha1 PolicyException policyexceptions cluster
policy.lintel.dev/v1alpha1 PolicySource policysources cluster
zopp.dev/v1alpha1 ZoppSecretSync zoppsecretsyncs namespaced
`
