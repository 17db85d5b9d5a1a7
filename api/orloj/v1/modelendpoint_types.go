package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ModelEndpoint is where models are called.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=omep
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.default_model`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelEndpoint struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec ModelEndpointSpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *ModelEndpoint) SyncStatus() *Status { return &o.Status }

// ModelEndpointList is a list of ModelEndpoints.
//
// +kubebuilder:object:root=true
type ModelEndpointList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ModelEndpoint `json:"items"`
}

// ModelEndpointSpec is where models are called.
type ModelEndpointSpec struct {
	// provider is such as openai, anthropic or ollama. Default: openai.
	// +optional
	Provider string `json:"provider,omitempty"`

	// base_url is where it answers. openai, anthropic and ollama have a default.
	// +optional
	BaseURL string `json:"base_url,omitempty"`

	// default_model is the model. It is needed.
	// +optional
	DefaultModel string `json:"default_model,omitempty"`

	// options are the provider's own.
	// +optional
	Options map[string]string `json:"options,omitempty"`

	// auth is the Secret with its key.
	// +optional
	Auth SecretReference `json:"auth,omitzero"`

	// allowPrivate permits private addresses. Default: true for ollama, else false.
	// +optional
	AllowPrivate *bool `json:"allowPrivate,omitempty"`
}

// SecretReference names a Secret, which orlojd reads at run time.
type SecretReference struct {
	// secretRef is its name.
	// +optional
	SecretRef string `json:"secretRef,omitempty"`
}
