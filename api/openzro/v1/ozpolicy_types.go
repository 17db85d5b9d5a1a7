package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OZPolicy lets the peers of some groups reach those of others, and the resources that name the
// policy.
//
// At the server, it is two policies, NAME TCP and NAME UDP.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type OZPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the access that is wanted.
	// +required
	Spec OZPolicySpec `json:"spec"`

	// status is how the server has it.
	// +optional
	Status OZPolicyStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZPolicy) CommonStatus() *Status { return &o.Status.Status }

// OZPolicyList is a list of OZPolicies.
//
// +kubebuilder:object:root=true
type OZPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZPolicy `json:"items"`
}

// Protocol is a transport protocol.
//
// +kubebuilder:validation:Enum=tcp;udp
type Protocol string

// The protocols.
const (
	ProtocolTCP Protocol = "tcp"
	ProtocolUDP Protocol = "udp"
)

// OZPolicySpec is who reaches whom.
type OZPolicySpec struct {
	// name is the prefix of the names of the policies at the server.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// description is the description of the policies at the server.
	// +optional
	Description string `json:"description,omitempty"`

	// sourceGroups are the names, at the server, of the groups whose peers may connect.
	// +optional
	// +listType=atomic
	SourceGroups []string `json:"sourceGroups,omitempty"`

	// destinationGroups are the names, at the server, of the groups that the sources reach, in
	// addition to those of the OZResources that name this policy.
	// +optional
	// +listType=atomic
	DestinationGroups []string `json:"destinationGroups,omitempty"`

	// protocols are tcp and udp. Default: both.
	// +optional
	// +listType=atomic
	Protocols []Protocol `json:"protocols,omitempty"`

	// ports are the ports that the sources reach, from 1 to 65535, with each of the protocols, in
	// addition to those of the OZResources that name this policy. Without any port, nothing is
	// reached.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=65535
	Ports []int32 `json:"ports,omitempty"`

	// bidirectional lets the destinations connect to the sources as well.
	// +optional
	// +kubebuilder:default=true
	Bidirectional *bool `json:"bidirectional,omitempty"`
}

// OZPolicyStatus is how the server has a policy.
type OZPolicyStatus struct {
	Status `json:",inline"`

	// tcpPolicyID is the ID of the policy for TCP at the server.
	// +optional
	TCPPolicyID string `json:"tcpPolicyID,omitempty"`

	// udpPolicyID is the ID of the policy for UDP at the server.
	// +optional
	UDPPolicyID string `json:"udpPolicyID,omitempty"`

	// lastUpdatedAt is when a policy was last written at the server.
	// +optional
	LastUpdatedAt *metav1.Time `json:"lastUpdatedAt,omitempty"`

	// managedServiceList are the OZResources that name this policy, as NAMESPACE/NAME.
	// +optional
	// +listType=atomic
	ManagedServiceList []string `json:"managedServiceList,omitempty"`
}
