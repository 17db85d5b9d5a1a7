package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OZGroup is a group of peers that policies and resources name.
//
// The server stores the members of the group: peers join by the setup key that they enrol with, or
// in the dashboard.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type OZGroup struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the group that is wanted.
	// +required
	Spec OZGroupSpec `json:"spec"`

	// status is how the server has it.
	// +optional
	Status OZGroupStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZGroup) CommonStatus() *Status { return &o.Status.Status }

// OZGroupList is a list of OZGroups.
//
// +kubebuilder:object:root=true
type OZGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZGroup `json:"items"`
}

// OZGroupSpec is the group that is wanted.
type OZGroupSpec struct {
	// name is the name of the group at the server. It is immutable: for another name, create
	// another OZGroup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.name is immutable: for another name, create another OZGroup"
	Name string `json:"name"`
}

// OZGroupStatus is how the server has a group.
type OZGroupStatus struct {
	Status `json:",inline"`

	// groupID is the ID of the group at the server.
	// +optional
	GroupID string `json:"groupID,omitempty"`
}
