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
	// name is the name of the resource at the server. It must be unique in the account.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// networkID is the ID of the network at the server, for example status.networkID of an
	// OZRoutingPeer. It is immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.networkID is immutable: for another network, create another OZResource"
	NetworkID string `json:"networkID"`

	// address is a host such as 10.0.0.1, a subnet such as 10.0.0.0/24, or a domain such
	// as db.example.com or *.example.com.
	// +required
	// +kubebuilder:validation:MinLength=1
	Address string `json:"address"`

	// groups are the names, at the server, of the groups of the resource. Lintel creates an
	// OZGroup for each group that the server does not have.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:items:MinLength=1
	Groups []string `json:"groups"`

	// policyName lists the OZPolicies of this namespace that lead to the resource by
	// metadata.name, separated by commas.
	// +optional
	PolicyName string `json:"policyName,omitempty"`

	// policySourceGroups is accepted for manifests of openZro's operator and has no effect: Lintel
	// creates no policies. Create an OZPolicy.
	// +optional
	// +listType=atomic
	PolicySourceGroups []string `json:"policySourceGroups,omitempty"`

	// policyFriendlyName is accepted for manifests of openZro's operator and has no effect: Lintel
	// creates no policies. Create an OZPolicy.
	// +optional
	PolicyFriendlyName map[string]string `json:"policyFriendlyName,omitempty"`

	// tcpPorts are the TCP ports that the OZPolicies of policyName open.
	// +optional
	// +listType=atomic
	TCPPorts []int32 `json:"tcpPorts,omitempty"`

	// udpPorts are the UDP ports that the OZPolicies of policyName open.
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

	// policyName is the reconciled spec.policyName.
	// +optional
	PolicyName string `json:"policyName,omitempty"`

	// tcpPorts are the reconciled spec.tcpPorts.
	// +optional
	// +listType=atomic
	TCPPorts []int32 `json:"tcpPorts,omitempty"`

	// udpPorts are the reconciled spec.udpPorts.
	// +optional
	// +listType=atomic
	UDPPorts []int32 `json:"udpPorts,omitempty"`

	// groups are the IDs of spec.groups at the server.
	// +optional
	// +listType=atomic
	Groups []string `json:"groups,omitempty"`

	// policySourceGroups are the reconciled spec.policySourceGroups.
	// +optional
	// +listType=atomic
	PolicySourceGroups []string `json:"policySourceGroups,omitempty"`

	// policyFriendlyName is the reconciled spec.policyFriendlyName.
	// +optional
	PolicyFriendlyName map[string]string `json:"policyFriendlyName,omitempty"`

	// policyNameMapping are the OZPolicies by their names in spec.policyName.
	// +optional
	PolicyNameMapping map[string]string `json:"policyNameMapping,omitempty"`
}
