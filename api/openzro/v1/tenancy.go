package v1

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

	// ConditionCreating is True while something is made at the server, of which the answer
	// may get lost: what is found there then is the object's own.
	ConditionCreating = "Creating"
)
