package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ZoppSecretSync keeps a Secret in sync with environments of zopp. Lintel creates the Secret if it
// is missing.
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

	// spec is the desired state.
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

	// sources are several environments, in place of source. If several have a key, the last one
	// counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Sources []Source `json:"sources,omitempty"`

	// keys selects keys, as the annotation zopp.dev/keys: KEY, a pattern such as API_*, or
	// name=KEY, which names the key in the Secret. Default: all keys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=512
	Keys []string `json:"keys,omitempty"`

	// target is the Secret to fill.
	// +required
	Target Target `json:"target"`

	// syncIntervalSeconds is the interval at which Lintel lists all values, in addition to the
	// stream of changes.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=10
	SyncIntervalSeconds int32 `json:"syncIntervalSeconds,omitempty"`

	// suspend leaves the Secret unchanged.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Environments returns the sources, from source and sources.
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
	// secretName is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`

	// namespace is the namespace of the Secret. Default: that of the ZoppSecretSync. Another
	// namespace has to accept the Secret, by its annotation zopp.dev/accept-from-namespaces.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// secretType is the type of a created Secret.
	// +optional
	// +kubebuilder:default=Opaque
	SecretType corev1.SecretType `json:"secretType,omitempty"`

	// labels are those of a created Secret.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are those of a created Secret.
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
	// ConditionReady is True when the Secret has the values of zopp.
	ConditionReady = "Ready"
	// ConditionAdmitted is False when the rules deny the stored object.
	ConditionAdmitted = "Admitted"
	// ConditionStalled is True when a retry does not help.
	ConditionStalled = "Stalled"
)

// The reasons of ConditionReady.
const (
	// ReasonSyncSuccess: the Secret has the values of zopp.
	ReasonSyncSuccess = "SyncSuccess"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonConnectionFailed: the zopp server cannot be reached.
	ReasonConnectionFailed = "ConnectionFailed"
	// ReasonCredentialsInvalid: the zopp server does not accept the credentials.
	ReasonCredentialsInvalid = "CredentialsInvalid"
	// ReasonDecryptionFailed: some values cannot be decrypted.
	ReasonDecryptionFailed = "DecryptionFailed"
	// ReasonSyncFailed: the sync failed for another reason, which the message has.
	ReasonSyncFailed = "SyncFailed"
	// ReasonDenied: the rules deny the object.
	ReasonDenied = "Denied"
)

// ZoppSecretSyncStatus is how far a ZoppSecretSync has come.
type ZoppSecretSyncStatus struct {
	// lastSyncTime is the time at which the Secret was last written.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`

	// lastSyncVersion is the version of the environment in the Secret; with several sources, that
	// of the last one.
	// +optional
	LastSyncVersion int64 `json:"lastSyncVersion,omitempty"`

	// secretCount is the number of keys of the Secret that come from zopp.
	// +optional
	SecretCount int32 `json:"secretCount,omitempty"`

	// target is the Secret that was written. If the spec names another one, Lintel cleans this one
	// up.
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
	// namespace is the namespace of the Secret.
	// +required
	Namespace string `json:"namespace"`

	// secretName is the name of the Secret.
	// +required
	SecretName string `json:"secretName"`
}
