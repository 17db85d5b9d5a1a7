package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OZResource is a host, a subnet or a domain that the routers of a network lead to.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.address`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type OZResource struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the resource that is wanted.
	// +required
	Spec OZResourceSpec `json:"spec"`

	// status is how the server has it.
	// +optional
	Status OZResourceStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZResource) CommonStatus() *Status { return &o.Status.Status }

// OZResourceList is a list of OZResources.
//
// +kubebuilder:object:root=true
type OZResourceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZResource `json:"items"`
}

// OZResourceSpec is the resource that is wanted.
type OZResourceSpec struct {
	// name is the name of the resource at the server, where no other has it.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// networkID is the ID of the network at the server, such as in status.networkID of an
	// OZRoutingPeer. It never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.networkID is immutable: for another network, make another OZResource"
	NetworkID string `json:"networkID"`

	// address is a host such as 10.0.0.1, a subnet such as 10.0.0.0/24, or a domain such
	// as db.example.com or *.example.com.
	// +required
	// +kubebuilder:validation:MinLength=1
	Address string `json:"address"`

	// groups are the names, at the server, of the groups that the resource is in. Those
	// that are not there are made, as OZGroups.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:items:MinLength=1
	Groups []string `json:"groups"`

	// policyName are the metadata.names of OZPolicies of this namespace that lead to the
	// resource, with commas between.
	// +optional
	PolicyName string `json:"policyName,omitempty"`

	// policySourceGroups are the groups of policies that would be made for the resource.
	// No policies are made: write an OZPolicy.
	// +optional
	// +listType=atomic
	PolicySourceGroups []string `json:"policySourceGroups,omitempty"`

	// policyFriendlyName are names of policies that would be made for the resource, by
	// that in policyName. No policies are made: write an OZPolicy.
	// +optional
	PolicyFriendlyName map[string]string `json:"policyFriendlyName,omitempty"`

	// tcpPorts are those that the OZPolicies of policyName open for TCP.
	// +optional
	// +listType=atomic
	TCPPorts []int32 `json:"tcpPorts,omitempty"`

	// udpPorts are those that the OZPolicies of policyName open for UDP.
	// +optional
	// +listType=atomic
	UDPPorts []int32 `json:"udpPorts,omitempty"`
}

// OZResourceStatus is how the server has a resource.
type OZResourceStatus struct {
	Status `json:",inline"`

	// networkResourceID is the ID of the resource at the server.
	// +optional
	NetworkResourceID string `json:"networkResourceID,omitempty"`

	// policyName is spec.policyName as it was carried out.
	// +optional
	PolicyName string `json:"policyName,omitempty"`

	// tcpPorts are spec.tcpPorts as they were carried out.
	// +optional
	// +listType=atomic
	TCPPorts []int32 `json:"tcpPorts,omitempty"`

	// udpPorts are spec.udpPorts as they were carried out.
	// +optional
	// +listType=atomic
	UDPPorts []int32 `json:"udpPorts,omitempty"`

	// groups are the IDs of spec.groups at the server.
	// +optional
	// +listType=atomic
	Groups []string `json:"groups,omitempty"`

	// policySourceGroups are spec.policySourceGroups as they were carried out.
	// +optional
	// +listType=atomic
	PolicySourceGroups []string `json:"policySourceGroups,omitempty"`

	// policyFriendlyName are spec.policyFriendlyName as they were carried out.
	// +optional
	PolicyFriendlyName map[string]string `json:"policyFriendlyName,omitempty"`

	// policyNameMapping are the OZPolicies by what spec.policyName calls them.
	// +optional
	PolicyNameMapping map[string]string `json:"policyNameMapping,omitempty"`
}
