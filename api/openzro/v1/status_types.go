package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Finalizer keeps an object until what was made for it at the server is gone.
const Finalizer = "openzro.io/cleanup"

// The annotations of Pods that get a client of openZro beside their containers.
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
	// ConditionReady is True when the server has what the object says. Its reason is
	// ReasonReconciled then, and says what is in the way else.
	ConditionReady = "Ready"
	// ConditionStalled is True when nothing changes by trying again.
	ConditionStalled = "Stalled"
	// ConditionServerUnavailable is True while the management server has not been read for two
	// intervals, and absent otherwise. Its message says since when.
	ConditionServerUnavailable = "ServerUnavailable"
	// ConditionAdmitted is False when the rules deny the object as it is stored.
	ConditionAdmitted = "Admitted"
)

// The reasons of ConditionReady. They stand in the column STATUS.
const (
	// ReasonReconciled is when the server has what the object says.
	ReasonReconciled = "Reconciled"
	// ReasonServerUnavailable is when the server had what the object says, and has not been
	// read for two intervals. Ready is Unknown.
	ReasonServerUnavailable = "ServerUnavailable"
	// ReasonAccountChanged is when the key leads to another account than before.
	ReasonAccountChanged = "AccountChanged"
	// ReasonNotAdmitted is when the rules deny the object as it is stored.
	ReasonNotAdmitted = "NotAdmitted"
	// ReasonNoKey is when the namespace has no key to the server.
	ReasonNoKey = "NoKey"
	// ReasonUnauthorized is when the server does not take the key.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden is when the key is of a user who may not do it.
	ReasonForbidden = "Forbidden"
	// ReasonAPIError is when the server answers with another error, or not at all.
	ReasonAPIError = "APIError"
	// ReasonGroupNotFound is when a group that is named is not at the server.
	ReasonGroupNotFound = "GroupNotFound"
	// ReasonDuplicateName is when somebody else has the name at the server.
	ReasonDuplicateName = "DuplicateName"
	// ReasonNotGranted is when setup keys of a shared account name groups without a grant.
	ReasonNotGranted = "NotGranted"
	// ReasonInvalidConfig is when the server would not take what the object says.
	ReasonInvalidConfig = "InvalidConfig"
	// ReasonSecretNotExists is when the Secret that is named is not there.
	ReasonSecretNotExists = "SecretNotExists"
	// ReasonSecretKeyNotExists is when it has no such key.
	ReasonSecretKeyNotExists = "SecretKeyNotExists"
	// ReasonInvalidSetupKey is when what it holds is no setup key, or one that enrols
	// nobody any more.
	ReasonInvalidSetupKey = "InvalidSetupKey"
	// ReasonDependency is when another object is not ready, which is waited for.
	ReasonDependency = "Dependency"
	// ReasonStillLinked is when an object that is deleted is in use at the server.
	ReasonStillLinked = "StillLinked"
	// ReasonNotSupportedByServer is when the server has nothing of the kind.
	ReasonNotSupportedByServer = "NotSupportedByServer"
)

// Status is what the statuses of all kinds have.
type Status struct {
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// adopted is true if the server had it before this object: it is used and stays when
	// this object is deleted.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// adoptions are the items of the server that this object has adopted by the annotation
	// openzro.io/adopt.
	// +optional
	// +listType=map
	// +listMapKey=id
	Adoptions []Adoption `json:"adoptions,omitempty"`

	// account is the ID of the account at the server that the object was carried out in.
	// +optional
	Account string `json:"account,omitempty"`

	// leftBehind are items that the object created in other accounts before a change of
	// account was acknowledged. They stay there.
	// +optional
	// +listType=atomic
	LeftBehind []LeftBehind `json:"leftBehind,omitempty"`

	// key is Secret or Default: whose key to the server the object was carried out with.
	// One that had the key of its namespace is never carried out with the default one,
	// which is another account's.
	// +optional
	Key KeySource `json:"key,omitempty"`

	// conditions are Ready and Admitted; Stalled where trying again does not help, and
	// ServerUnavailable while the server cannot be read.
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
