package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Duration is a number of seconds, or a number with the unit s, m, h, d or y, of which
// a year has 365 days: 90d, 3600. It has one unit.
//
// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[smhdy]?)?$`
type Duration string

// ImageSpec is a container image.
type ImageSpec struct {
	// repository is the image without its tag.
	// +optional
	// +kubebuilder:default="ghcr.io/slauger/openvox-server"
	Repository string `json:"repository,omitempty"`

	// tag is its tag.
	// +optional
	// +kubebuilder:default=latest
	Tag string `json:"tag,omitempty"`

	// pullPolicy is when it is pulled.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// pullSecrets are the Secrets by which it is pulled.
	// +optional
	// +listType=atomic
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// StorageSpec is a volume.
type StorageSpec struct {
	// size is how large it is.
	// +optional
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="a volume's size is a quantity above 0, such as 1Gi"
	Size resource.Quantity `json:"size,omitempty"`

	// storageClass is its class: the cluster's own where it is empty.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`
}

// CodeSpec is where Puppet code comes from.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.claimName)",message="give exactly one of image and claimName"
type CodeSpec struct {
	// image is an OCI image that holds the environments.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image,omitempty"`

	// claimName is a PersistentVolumeClaim that holds them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	ClaimName string `json:"claimName,omitempty"`

	// imagePullPolicy is when the image is pulled.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecret is the Secret by which it is pulled.
	// +optional
	ImagePullSecret string `json:"imagePullSecret,omitempty"`
}

// SecretKeyRef is a key of a Secret.
type SecretKeyRef struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// key is the key in its data.
	// +required
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// SecretKeySelector is where a value is.
type SecretKeySelector struct {
	// secretKeyRef is a key of a Secret.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}
