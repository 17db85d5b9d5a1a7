package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KeySource is whose key to the management server an object is carried out with.
//
// +kubebuilder:validation:Enum=Secret;Default
type KeySource string

const (
	// KeySecret is that of the Secret openzro-mgmt-api-key of the object's namespace.
	KeySecret KeySource = "Secret"
	// KeyDefault is the one that the manager was started with.
	KeyDefault KeySource = "Default"
)

const (
	// DeletionPolicyAnnotation says what becomes of what the server has when the object is
	// deleted: Delete, or Retain.
	DeletionPolicyAnnotation = "openzro.io/deletion-policy"
	// Retain is the DeletionPolicyAnnotation that leaves all as it is at the server, which
	// is not even asked.
	Retain = "Retain"

	// ConditionCreating is True while an item is being created at the server, because the answer
	// may be lost: an item that is found then belongs to the object.
	ConditionCreating = "Creating"

	// AdoptAnnotation is "true" on an object that may adopt what the server already has under its
	// name. Removing it releases the adopted item.
	AdoptAnnotation = "openzro.io/adopt"

	// AcceptServicesAnnotation is "true" on an OZPolicy to which the annotations of Services may
	// add ports and destinations.
	AcceptServicesAnnotation = "openzro.io/accept-services"

	// AccountAnnotation acknowledges a change of account: its value is the ID of the account
	// that objects are to be created in from now on. It is read from the object and from the
	// Secret APIKeySecret of its namespace.
	AccountAnnotation = "openzro.io/account"
)

// The annotations of Services that are exposed as OZResources.
const (
	// ExposeAnnotation exposes a Service, unless it is "false".
	ExposeAnnotation = "openzro.io/expose"
	// GroupsAnnotation lists the names of the groups of the resource, with commas between.
	GroupsAnnotation = "openzro.io/groups"
	// ResourceNameAnnotation is the name of the resource at the server.
	ResourceNameAnnotation = "openzro.io/resource-name"
	// PolicyAnnotation lists OZPolicies of the namespace that lead to the resource.
	PolicyAnnotation = "openzro.io/policy"
	// PolicyPortsAnnotation lists those ports of the Service that the policies open.
	PolicyPortsAnnotation = "openzro.io/policy-ports"
	// PolicyProtocolAnnotation is tcp or udp, if the policies open ports of one protocol only.
	PolicyProtocolAnnotation = "openzro.io/policy-protocol"
)

// MayAdopt reports whether an object carries the annotation that permits an adoption.
func MayAdopt(of metav1.Object) bool { return of.GetAnnotations()[AdoptAnnotation] == "true" }

// LeftBehind is an item that an object created in an account which its key no longer leads to.
type LeftBehind struct {
	// account is the ID of the account.
	// +required
	Account string `json:"account"`

	// kind is the kind of the item at the server: DNS record, group, network, policy, resource,
	// router or setup key.
	// +required
	Kind string `json:"kind"`

	// id is the ID of the item at the server.
	// +required
	ID string `json:"id"`
}

// Adoption is an item of the management server that an object uses and did not create.
type Adoption struct {
	// id is the ID of the item at the server.
	// +required
	ID string `json:"id"`

	// kind is the kind of the item at the server: group, network, policy, resource or
	// router.
	// +required
	Kind string `json:"kind"`

	// name is the name of the item at the server. Routers have none.
	// +optional
	Name string `json:"name,omitempty"`

	// former is the item before its adoption, as JSON of the management API. Lintel writes it back
	// when the item is released. It is empty for kinds that are never changed, and for adoptions
	// by versions of Lintel that did not store it.
	// +optional
	Former string `json:"former,omitempty"`
}
