package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Duration is a number of seconds, or a number with one of the units s, m, h, d and y, such as
// 90d. A year has 365 days.
//
// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[smhdy]?)?$`
type Duration string

// ImageSpec is a container image.
type ImageSpec struct {
	// repository is the image without its tag.
	// +optional
	// +kubebuilder:default="ghcr.io/slauger/openvox-server"
	Repository string `json:"repository,omitempty"`

	// tag is the tag of the image.
	// +optional
	// +kubebuilder:default=latest
	Tag string `json:"tag,omitempty"`

	// pullPolicy is the pull policy of the image.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// pullSecrets are the Secrets for pulling the image.
	// +optional
	// +listType=atomic
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// StorageSpec is a volume.
type StorageSpec struct {
	// size is the size of the volume.
	// +optional
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="a volume's size is a quantity above 0, such as 1Gi"
	Size resource.Quantity `json:"size,omitempty"`

	// storageClass is the StorageClass. The default is the cluster's default StorageClass.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`
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

// SecretKeySelector is the source of a value.
type SecretKeySelector struct {
	// secretKeyRef is a key of a Secret.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// HTTPAuth is how a server authenticates to an endpoint.
//
// +kubebuilder:validation:XValidation:rule="[has(self.mtls) && self.mtls, has(self.token), has(self.bearer), has(self.basic)].filter(given, given).size() <= 1",message="give at most one of mtls, token, bearer and basic"
type HTTPAuth struct {
	// mtls presents the server's own Puppet certificate.
	// +optional
	MTLS bool `json:"mtls,omitempty"`

	// token is a token in a header of your choice.
	// +optional
	Token *TokenAuth `json:"token,omitempty"`

	// bearer is a bearer token in the header Authorization.
	// +optional
	Bearer *SecretKeySelector `json:"bearer,omitempty"`

	// basic is a user name and a password.
	// +optional
	Basic *BasicAuth `json:"basic,omitempty"`
}

// TokenAuth is a token in a header.
type TokenAuth struct {
	// header is the name of the header, such as X-Authentication.
	// +required
	// +kubebuilder:validation:MinLength=1
	Header string `json:"header"`

	// secretKeyRef is the key of a Secret that contains the token.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// BasicAuth is a user name and a password.
type BasicAuth struct {
	// secretRef is the Secret with user name and password.
	// +required
	SecretRef BasicAuthSecretRef `json:"secretRef"`
}

// BasicAuthSecretRef is a Secret with a user name and a password.
type BasicAuthSecretRef struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// usernameKey is the key of the user name in the Secret.
	// +optional
	// +kubebuilder:default=username
	UsernameKey string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the password in the Secret.
	// +optional
	// +kubebuilder:default=password
	PasswordKey string `json:"passwordKey,omitempty"`
}

// EndpointTLS is how servers verify an endpoint.
type EndpointTLS struct {
	// caSecretRef is a key of a Secret with certificates of CAs, in PEM. Only these are
	// trusted. The default is the Puppet CA and the CAs of the system.
	// +optional
	CASecretRef *SecretKeyRef `json:"caSecretRef,omitempty"`
}
