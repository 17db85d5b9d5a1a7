package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ZoppSecretSync keeps one Secret in step with environments of zopp. The Secret is made if
// it is not there.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=zss
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Workspace",type=string,JSONPath=`.spec.source.workspace`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.source.project`
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.source.environment`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.secretName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Keys",type=integer,JSONPath=`.status.secretCount`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ZoppSecretSync struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +required
	Spec ZoppSecretSyncSpec `json:"spec"`

	// status is how far it has come.
	// +optional
	Status ZoppSecretSyncStatus `json:"status,omitzero"`
}

// ZoppSecretSyncList is a list of ZoppSecretSyncs.
//
// +kubebuilder:object:root=true
type ZoppSecretSyncList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ZoppSecretSync `json:"items"`
}

// ZoppSecretSyncSpec is which values go where.
//
// +kubebuilder:validation:XValidation:rule="has(self.source) != has(self.sources)",message="give exactly one of source and sources"
type ZoppSecretSyncSpec struct {
	// source is the environment of zopp that the values come from.
	// +optional
	Source *Source `json:"source,omitempty"`

	// sources are several, instead of source: of equal keys that of the later one counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Sources []Source `json:"sources,omitempty"`

	// keys are which keys are wanted, as in the annotation zopp.dev/keys: KEY, a pattern
	// such as API_*, or name=KEY, which gives KEY another name in the Secret. Without them
	// all are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=512
	Keys []string `json:"keys,omitempty"`

	// target is the Secret.
	// +required
	Target Target `json:"target"`

	// syncIntervalSeconds is after how long zopp is asked for all values, beside what it
	// tells by itself.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=10
	SyncIntervalSeconds int32 `json:"syncIntervalSeconds,omitempty"`

	// suspend leaves the Secret as it is.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Environments are the sources, whichever way they are given.
func (s *ZoppSecretSyncSpec) Environments() []Source {
	if s.Source != nil {
		return []Source{*s.Source}
	}
	return s.Sources
}

// Source is an environment of zopp.
type Source struct {
	// workspace is the name of the workspace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Workspace string `json:"workspace"`

	// project is the name of a project in the workspace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Project string `json:"project"`

	// environment is the name of an environment in the project.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Environment string `json:"environment"`
}

// Target is the Secret that gets the values.
type Target struct {
	// secretName is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`

	// namespace is where it is: that of the ZoppSecretSync where it is empty. Another one
	// has to accept it, by its annotation zopp.dev/accept-from-namespaces.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// secretType is the type of a Secret that is made.
	// +optional
	// +kubebuilder:default=Opaque
	SecretType corev1.SecretType `json:"secretType,omitempty"`

	// labels are those of a Secret that is made.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are those of a Secret that is made.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// SecretNamespace is the namespace of the Secret.
func (o *ZoppSecretSync) SecretNamespace() string {
	if o.Spec.Target.Namespace != "" {
		return o.Spec.Target.Namespace
	}
	return o.Namespace
}

// Finalizer keeps a ZoppSecretSync until its Secret is gone, or rid of its keys.
const Finalizer = GroupName + "/cleanup"

// The types of the conditions of a ZoppSecretSync.
const (
	// ConditionReady is True when the Secret has what zopp has.
	ConditionReady = "Ready"
	// ConditionAdmitted is False when the rules of admission deny the object as it is
	// stored.
	ConditionAdmitted = "Admitted"
	// ConditionStalled is True when nothing changes by trying again.
	ConditionStalled = "Stalled"
)

// The reasons of ConditionReady.
const (
	// ReasonSyncSuccess is when the Secret has what zopp has.
	ReasonSyncSuccess = "SyncSuccess"
	// ReasonSuspended is when spec.suspend is set.
	ReasonSuspended = "Suspended"
	// ReasonConnectionFailed is when zopp cannot be reached.
	ReasonConnectionFailed = "ConnectionFailed"
	// ReasonCredentialsInvalid is when zopp does not know who asks.
	ReasonCredentialsInvalid = "CredentialsInvalid"
	// ReasonDecryptionFailed is when some values cannot be decrypted.
	ReasonDecryptionFailed = "DecryptionFailed"
	// ReasonSyncFailed is everything else.
	ReasonSyncFailed = "SyncFailed"
	// ReasonDenied is when the rules of admission are against it.
	ReasonDenied = "Denied"
)

// ZoppSecretSyncStatus is how far a ZoppSecretSync has come.
type ZoppSecretSyncStatus struct {
	// lastSyncTime is when the Secret was last written.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`

	// lastSyncVersion is the version of the environment that the Secret has; of several
	// sources, that of the last one.
	// +optional
	LastSyncVersion int64 `json:"lastSyncVersion,omitempty"`

	// secretCount is how many keys of the Secret come from zopp.
	// +optional
	SecretCount int32 `json:"secretCount,omitempty"`

	// target is the Secret that was written. Where it is no longer the one of the spec, it
	// is cleaned up.
	// +optional
	Target *WrittenTarget `json:"target,omitempty"`

	// observedGeneration is the metadata.generation of this object that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready and Admitted, and Stalled where nothing changes by trying again.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WrittenTarget is a Secret that was written.
type WrittenTarget struct {
	// namespace is where it is.
	// +required
	Namespace string `json:"namespace"`

	// secretName is its name.
	// +required
	SecretName string `json:"secretName"`
}
