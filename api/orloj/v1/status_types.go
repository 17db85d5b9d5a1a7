package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The annotations and the finalizer of Orloj's product document.
const (
	// TargetNamespaceAnnotation names the Orloj namespace of an object, where it is not
	// that of its Kubernetes namespace.
	TargetNamespaceAnnotation = "orloj.dev/target-namespace"
	// AllowedTargetNamespacesAnnotation is an annotation of Namespaces. It lists the Orloj
	// namespaces that objects in the Namespace may target, in addition to the one with the same
	// name.
	AllowedTargetNamespacesAnnotation = "orloj.dev/allowed-target-namespaces"
	// PlaintextSecretsAnnotation is an annotation of Namespaces; any value but "allowed" forbids
	// Secrets of this group that contain values.
	PlaintextSecretsAnnotation = "orloj.dev/plaintext-secrets"
	// DeletionPolicyAnnotation says what becomes of the stored row when its object is
	// deleted: Delete, or Retain.
	DeletionPolicyAnnotation = "orloj.dev/deletion-policy"
	// Retain is the DeletionPolicyAnnotation that leaves the row, without its owner.
	Retain = "Retain"
	// Finalizer keeps an object until its row is gone.
	Finalizer = "orloj.dev/sync"
)

// Object is one of the kinds of this package.
//
// +kubebuilder:object:generate=false
type Object interface {
	metav1.Object
	runtime.Object
	// SyncStatus is the status of the object, to read and to write.
	SyncStatus() *Status
}

// Phase says whether an object is in the store.
//
// +kubebuilder:validation:Enum=Synced;SyncError
type Phase string

const (
	// PhaseSynced is when the store has the object as it is.
	PhaseSynced Phase = "Synced"
	// PhaseSyncError is when it has not; syncError and the conditions say why.
	PhaseSyncError Phase = "SyncError"
)

// The types of the conditions.
const (
	// ConditionReady is True when the store has the object.
	ConditionReady = "Ready"
	// ConditionSynced is Orloj's name for Ready; its reason describes the problem, or reports
	// that orlojd does not keep some fields.
	ConditionSynced = "Synced"
	// ConditionStalled is True when nothing changes by trying again.
	ConditionStalled = "Stalled"
	// ConditionAdmitted is False when the rules deny the object as it is stored.
	ConditionAdmitted = "Admitted"
	// ConditionStoreAvailable is False while the store cannot be written, and not there
	// else.
	ConditionStoreAvailable = "StoreAvailable"
	// ConditionStorePhase reports the phase that orlojd set on the stored row.
	ConditionStorePhase = "StorePhase"
	// ConditionAdopted is True where the row was there before the object.
	ConditionAdopted = "Adopted"
)

// Status is how an object stands to its row in the store.
type Status struct {
	// phase is Synced or SyncError.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// observedGeneration is the metadata.generation of this object that the status is
	// about; never the generation of the stored row.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// lastSyncedAt is when the store was last written for this object.
	// +optional
	LastSyncedAt *metav1.Time `json:"lastSyncedAt,omitempty"`

	// syncError is why the phase is SyncError.
	// +optional
	SyncError string `json:"syncError,omitempty"`

	// storeKey is the key of the row that belongs to this object.
	// +optional
	StoreKey string `json:"storeKey,omitempty"`

	// conditions are Ready, Synced, Admitted and StorePhase; Stalled and StoreAvailable
	// where something is in the way, and Adopted where the row was there before.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
