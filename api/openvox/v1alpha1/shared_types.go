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

// HTTPAuth is how whoever calls an endpoint shows who it is.
//
// +kubebuilder:validation:XValidation:rule="[has(self.mtls) && self.mtls, has(self.token), has(self.bearer), has(self.basic)].filter(given, given).size() <= 1",message="give at most one of mtls, token, bearer and basic"
type HTTPAuth struct {
	// mtls shows the server's own Puppet certificate.
	// +optional
	MTLS bool `json:"mtls,omitempty"`

	// token is the value of a header of its own.
	// +optional
	Token *TokenAuth `json:"token,omitempty"`

	// bearer is a token in the header Authorization.
	// +optional
	Bearer *SecretKeySelector `json:"bearer,omitempty"`

	// basic is a user and a password.
	// +optional
	Basic *BasicAuth `json:"basic,omitempty"`
}

// TokenAuth is a token in a header of its own.
type TokenAuth struct {
	// header is the name of the header, such as X-Authentication.
	// +required
	// +kubebuilder:validation:MinLength=1
	Header string `json:"header"`

	// secretKeyRef is a key of a Secret that holds the token.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// BasicAuth is a user and a password.
type BasicAuth struct {
	// secretRef is the Secret that holds them.
	// +required
	SecretRef BasicAuthSecretRef `json:"secretRef"`
}

// BasicAuthSecretRef is a Secret that holds a user and a password.
type BasicAuthSecretRef struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// usernameKey is the key of the user in its data.
	// +optional
	// +kubebuilder:default=username
	UsernameKey string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the password in its data.
	// +optional
	// +kubebuilder:default=password
	PasswordKey string `json:"passwordKey,omitempty"`
}

// EndpointTLS is by what the server of an endpoint is known.
type EndpointTLS struct {
	// caSecretRef is a key of a Secret with certificates of CAs, in PEM: none but these are
	// trusted. Without it, the Puppet CA and those of the system are.
	// +optional
	CASecretRef *SecretKeyRef `json:"caSecretRef,omitempty"`
}
