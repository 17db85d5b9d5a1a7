package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Memory is where agents remember.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=omem
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Memory struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec MemorySpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *Memory) SyncStatus() *Status { return &o.Status }

// MemoryList is a list of Memories.
//
// +kubebuilder:object:root=true
type MemoryList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Memory `json:"items"`
}

// MemorySpec is where agents remember.
type MemorySpec struct {
	// type is the type of memory.
	// +optional
	Type string `json:"type,omitempty"`

	// provider keeps it.
	// +optional
	Provider string `json:"provider,omitempty"`

	// embedding_model names the ModelEndpoint that makes vectors.
	// +optional
	EmbeddingModel string `json:"embedding_model,omitempty"`

	// endpoint is where it is.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// endpoint_secret_ref names a Secret that has the endpoint.
	// +optional
	EndpointSecretRef string `json:"endpoint_secret_ref,omitempty"`

	// auth is the Secret with its credentials.
	// +optional
	Auth SecretReference `json:"auth,omitzero"`
}
