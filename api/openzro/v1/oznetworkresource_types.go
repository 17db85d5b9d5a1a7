package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OZNetworkResource is a Service of the namespace as a resource in the network of an
// OZRoutingPeer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.serviceRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type OZNetworkResource struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the resource that is wanted.
	// +required
	Spec OZNetworkResourceSpec `json:"spec"`

	// status is how the server has it.
	// +optional
	Status OZNetworkResourceStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZNetworkResource) CommonStatus() *Status { return &o.Status.Status }

// OZNetworkResourceList is a list of OZNetworkResources.
//
// +kubebuilder:object:root=true
type OZNetworkResourceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZNetworkResource `json:"items"`
}

// OZNetworkResourceSpec is the resource that is wanted.
type OZNetworkResourceSpec struct {
	// routingPeerRef names the OZRoutingPeer whose network the resource is in: one of this
	// namespace, or of another namespace that permits it by spec.allowedNamespaces. It is
	// immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.routingPeerRef is immutable: for another network, create another OZNetworkResource"
	RoutingPeerRef RoutingPeerReference `json:"routingPeerRef"`

	// serviceRef names a Service of this namespace that has a cluster IP, which is the address of
	// the resource.
	// +required
	ServiceRef LocalReference `json:"serviceRef"`

	// groups are the names, at the server, of the groups of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:MinLength=1
	Groups []string `json:"groups,omitempty"`

	// groupIDs are the IDs, at the server, of further groups of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:MinLength=1
	GroupIDs []string `json:"groupIDs,omitempty"`
}

// RoutingPeerReference names an OZRoutingPeer.
type RoutingPeerReference struct {
	// name is the metadata.name of the OZRoutingPeer.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// namespace is the namespace of the OZRoutingPeer. Default: the namespace of this object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// OZNetworkResourceStatus is how the server has a resource.
type OZNetworkResourceStatus struct {
	Status `json:",inline"`

	// networkID is the ID of the network at the server.
	// +optional
	NetworkID string `json:"networkID,omitempty"`

	// resourceID is the ID of the resource at the server.
	// +optional
	ResourceID string `json:"resourceID,omitempty"`

	// dnsName is the name of the DNS record of the resource.
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// dnsZoneID is the ID of the zone of the DNS record at the server.
	// +optional
	DNSZoneID string `json:"dnsZoneID,omitempty"`

	// dnsRecordID is the ID of the DNS record at the server.
	// +optional
	DNSRecordID string `json:"dnsRecordID,omitempty"`
}
