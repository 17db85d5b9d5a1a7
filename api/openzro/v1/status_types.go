package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Finalizer keeps an object until its items at the server are deleted.
const Finalizer = "openzro.io/cleanup"

// The annotations of Pods that get an openZro client as a sidecar.
const (
	// SetupKeyAnnotation names the OZSetupKey that the client enrols with.
	SetupKeyAnnotation = "openzro.io/setup-key"
	// InitSidecarAnnotation is "true" where the client is to start before the containers
	// of the Pod and to end after them.
	InitSidecarAnnotation = "openzro.io/init-sidecar"
	// ExtraDNSLabelsAnnotation lists further DNS names of the peer, with commas between.
	ExtraDNSLabelsAnnotation = "openzro.io/extra-dns-labels"
	// InjectAnnotation is "false" on Pods that no OZSidecarProfile is to add a client to.
	InjectAnnotation = "openzro.io/inject"
	// SidecarProfileAnnotation names the OZSidecarProfile whose client a Pod has got.
	SidecarProfileAnnotation = "openzro.io/sidecar-profile"
)

// The Secret that is the key of a tenant to the management server, and its keys.
const (
	// APIKeySecret is the name of the Secret.
	APIKeySecret = "openzro-mgmt-api-key"
	// APIKey is the key with the personal access token.
	APIKey = "OZ_API_KEY"
	// APIManagementURL is the key with the URL of the server, if it is not the default one.
	APIManagementURL = "managementURL"
	// APICertificates is the key with the certificates, in PEM, that the server's is
	// checked against, if they are not those of the system.
	APICertificates = "ca.crt"
)

// Object is one of the kinds of this package.
//
// +kubebuilder:object:generate=false
type Object interface {
	metav1.Object
	runtime.Object
	// CommonStatus is what the statuses of all kinds have, to read and to write.
	CommonStatus() *Status
}

// The types of the conditions.
const (
	// ConditionReady is True when the server has the object as it is specified. Otherwise, its
	// reason names the cause.
	ConditionReady = "Ready"
	// ConditionStalled is True when a retry does not help.
	ConditionStalled = "Stalled"
	// ConditionServerUnavailable is True while the management server has not been read for two
	// intervals, and absent otherwise. Its message contains the time of the last read.
	ConditionServerUnavailable = "ServerUnavailable"
	// ConditionAdmitted is False when the rules deny the stored object.
	ConditionAdmitted = "Admitted"
)

// The reasons of ConditionReady. The column STATUS shows them.
const (
	// ReasonReconciled: the server has the object as it is specified.
	ReasonReconciled = "Reconciled"
	// ReasonServerUnavailable: the server had the object, and has not been read for two intervals.
	// Ready is Unknown.
	ReasonServerUnavailable = "ServerUnavailable"
	// ReasonAccountChanged: the key is for another account than before.
	ReasonAccountChanged = "AccountChanged"
	// ReasonNotAdmitted: the rules deny the stored object.
	ReasonNotAdmitted = "NotAdmitted"
	// ReasonNoKey: the namespace has no key to the server.
	ReasonNoKey = "NoKey"
	// ReasonUnauthorized: the server does not accept the key.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden: the user of the key lacks the permission.
	ReasonForbidden = "Forbidden"
	// ReasonAPIError: the server returns another error, or does not answer.
	ReasonAPIError = "APIError"
	// ReasonGroupNotFound: the server does not have a group that the object names.
	ReasonGroupNotFound = "GroupNotFound"
	// ReasonDuplicateName: another owner has the name at the server.
	ReasonDuplicateName = "DuplicateName"
	// ReasonNotGranted: the object uses an item of a shared account, a DNS zone, or the network of
	// another namespace without a grant.
	ReasonNotGranted = "NotGranted"
	// ReasonInvalidConfig: the server refuses the object, or the object would have no effect.
	ReasonInvalidConfig = "InvalidConfig"
	// ReasonSecretNotExists: the Secret does not exist.
	ReasonSecretNotExists = "SecretNotExists"
	// ReasonSecretKeyNotExists: the Secret does not have the key.
	ReasonSecretKeyNotExists = "SecretKeyNotExists"
	// ReasonInvalidSetupKey: the value is not a valid setup key, or the key no longer enrols
	// peers.
	ReasonInvalidSetupKey = "InvalidSetupKey"
	// ReasonDependency: the object waits for another object that is not ready.
	ReasonDependency = "Dependency"
	// ReasonStillLinked: the object is deleted, and its item is in use at the server.
	ReasonStillLinked = "StillLinked"
	// ReasonNotSupportedByServer: the server does not support the kind.
	ReasonNotSupportedByServer = "NotSupportedByServer"
)

// Status has the fields that the statuses of all kinds share.
type Status struct {
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// adopted is true if the server had the item before this object: Lintel uses it, and it stays
	// when this object is deleted.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// adoptions are the items of the server that this object has adopted by the annotation
	// openzro.io/adopt.
	// +optional
	// +listType=map
	// +listMapKey=id
	Adoptions []Adoption `json:"adoptions,omitempty"`

	// account is the ID of the account at the server in which the object is reconciled.
	// +optional
	Account string `json:"account,omitempty"`

	// leftBehind are items that the object created in other accounts before a change of
	// account was acknowledged. They stay there.
	// +optional
	// +listType=atomic
	LeftBehind []LeftBehind `json:"leftBehind,omitempty"`

	// key is Secret or Default: the key to the server with which the object is reconciled. An
	// object that had the key of its namespace is never reconciled with the default key, which is
	// for another account.
	// +optional
	Key KeySource `json:"key,omitempty"`

	// conditions are Ready and Admitted; Stalled if a retry does not help, and ServerUnavailable
	// while the server cannot be read.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// LocalReference names an object of this group in the same namespace.
type LocalReference struct {
	// name is the metadata.name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}
