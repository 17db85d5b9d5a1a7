package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Secret is values that tools and servers need at run time.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=osec
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Secret struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec SecretSpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *Secret) SyncStatus() *Status { return &o.Status }

// SecretList is a list of Secrets.
//
// +kubebuilder:object:root=true
type SecretList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Secret `json:"items"`
}

// SecretSpec are the values.
type SecretSpec struct {
	// data are values in base64.
	// +optional
	Data map[string]string `json:"data,omitempty"`

	// stringData are values as they are, which win over data.
	// +optional
	StringData map[string]string `json:"stringData,omitempty"`
}
