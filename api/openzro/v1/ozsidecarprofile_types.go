package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OZSidecarProfile adds a client to the Pods of its namespace that a selector matches. The
// administrator has to grant the namespace the use of profiles.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.spec.setupKeyRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type OZSidecarProfile struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the client, and the Pods that get it.
	// +required
	Spec OZSidecarProfileSpec `json:"spec"`

	// status is whether Pods get the client.
	// +optional
	Status OZSidecarProfileStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZSidecarProfile) CommonStatus() *Status { return &o.Status.Status }

// OZSidecarProfileList is a list of OZSidecarProfiles.
//
// +kubebuilder:object:root=true
type OZSidecarProfileList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZSidecarProfile `json:"items"`
}

// InjectionMode is how the client is added to a Pod.
//
// +kubebuilder:validation:Enum=Sidecar;Container
type InjectionMode string

const (
	// InjectionModeSidecar adds an init container that starts before the containers of the Pod
	// and ends after them.
	InjectionModeSidecar InjectionMode = "Sidecar"
	// InjectionModeContainer adds a container.
	InjectionModeContainer InjectionMode = "Container"
)

// OZSidecarProfileSpec is the client, and the Pods that get it.
type OZSidecarProfileSpec struct {
	// setupKeyRef names the OZSetupKey of this namespace with which the client enrols.
	// +required
	SetupKeyRef LocalReference `json:"setupKeyRef"`

	// podSelector selects Pods of this namespace by their labels. If it is missing or empty, all
	// Pods are selected.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`

	// injectionMode is Sidecar or Container.
	// +optional
	// +kubebuilder:default=Sidecar
	InjectionMode InjectionMode `json:"injectionMode,omitempty"`

	// extraDNSLabels are further DNS names of the peers. The key needs allowExtraDNSLabels.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	ExtraDNSLabels []string `json:"extraDNSLabels,omitempty"`

	// containerOverride changes the container of the client. Fields other than env with plain
	// values need a grant of the administrator.
	// +optional
	ContainerOverride *ContainerOverride `json:"containerOverride,omitempty"`
}

// ContainerOverride changes the container of a client.
type ContainerOverride struct {
	// image is the image of the client.
	// +optional
	Image string `json:"image,omitempty"`

	// env are further environment variables.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`

	// securityContext is merged into the security context of the client.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}

// OZSidecarProfileStatus is whether Pods get the client.
type OZSidecarProfileStatus struct {
	Status `json:",inline"`
}
