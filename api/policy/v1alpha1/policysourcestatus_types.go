package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PolicySourceStatus is what the manager last made of a PolicySource.
type PolicySourceStatus struct {
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// revision is the live revision: branch@sha1:commit or tag@sha1:commit
	// for git, sha1:commit for a commit that ref names, tag@sha256:digest or
	// sha256:digest for oci, the digest for inline. A revision
	// that did not pass the gate is never here: the last good one stays.
	// +optional
	Revision string `json:"revision,omitempty"`

	// digest is sha256:… over the sorted paths and contents of the live
	// revision's files. Equal digests are equal policy.
	// +optional
	Digest string `json:"digest,omitempty"`

	// policies is how many policies, that is packages with an entry point,
	// are live.
	// +optional
	Policies int32 `json:"policies"`

	// rules is how many entry point rules the live policies have together.
	// +optional
	Rules int32 `json:"rules"`

	// errors say why the latest revision is not live: the first 20. If spec.partial is true and the
	// revision is live, they say which of its files are not in force.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Errors []PolicyError `json:"errors,omitempty"`

	// leftOut is how many files of the latest revision are not in force as they are in the origin,
	// if spec.partial is true.
	// +optional
	LeftOut int32 `json:"leftOut,omitempty"`

	// lastHandledReconcileAt is the value of the annotation
	// lintel.dev/reconcile-at at the latest look at the origin.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// replicas say what each live replica of the manager serves.
	// +optional
	// +listType=map
	// +listMapKey=name
	Replicas []ReplicaStatus `json:"replicas,omitempty"`

	// audit is the result of the evaluation of the objects in the cluster. It
	// is absent while the manager runs without audit.
	// +optional
	Audit *AuditStatus `json:"audit,omitempty"`

	// rehearsal is the result of the last rehearsal. It is absent before the first.
	// +optional
	Rehearsal *RehearsalStatus `json:"rehearsal,omitempty"`

	// conditions are Ready, which sums up the others, Compiled,
	// SourceVerified, WithinScope and WithinLimits, Complete, which is about
	// spec.partial, and Audited, which is about audit alone.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AuditStatus counts the policies of a source by the result of the evaluation of the objects in
// the cluster. While the condition Audited is not True, some objects were not evaluated.
type AuditStatus struct {
	// compliant is the number of policies for which all objects were
	// evaluated, and that none of them violates.
	// +optional
	Compliant int32 `json:"compliant"`

	// violating is the number of policies that at least one object violates,
	// or that could not be evaluated for an object.
	// +optional
	Violating int32 `json:"violating"`

	// notAuditable is the number of policies without violations that have a
	// rule which depends on the request, such as its user, so that it cannot
	// be evaluated for stored objects.
	// +optional
	NotAuditable int32 `json:"notAuditable"`

	// references are what makes rules not auditable: policy, file:line and
	// the path. The first 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	References []string `json:"references,omitempty"`

	// violations is the number of violations of all policies.
	// +optional
	Violations int64 `json:"violations"`

	// lastFullPass is when all objects of the kinds that the policies match
	// were last evaluated completely.
	// +optional
	LastFullPass *metav1.Time `json:"lastFullPass,omitempty"`
}

// MaxAuditReferences is the maximum number of references in a status.
const MaxAuditReferences = 20

// ReconcileAtAnnotation triggers an immediate check of a PolicySource's origin whenever its
// value changes; the value is usually the time.
const ReconcileAtAnnotation = "lintel.dev/reconcile-at"

// MaxPolicyErrors is how many errors a status holds at most.
const MaxPolicyErrors = 20

// The types of a PolicySource's conditions.
const (
	// ConditionReady is True when the latest revision of the source is live.
	ConditionReady = "Ready"
	// ConditionCompiled is True when the latest revision compiles and its own
	// tests pass.
	ConditionCompiled = "Compiled"
	// ConditionSourceVerified is True when the origin's signature was
	// verified. It is absent where the spec asks for no verification.
	ConditionSourceVerified = "SourceVerified"
	// ConditionWithinLimits is False while a policy of the source has reached a
	// limit of evaluation in the last ten minutes on some replica.
	ConditionWithinLimits = "WithinLimits"
	// ConditionWithinScope is True when the source grants nothing that a
	// wider scope does not.
	ConditionWithinScope = "WithinScope"
	// ConditionComplete is True when all files of the live revision of a partial source are in
	// force as they are in the origin. It is absent if spec.partial is not set.
	ConditionComplete = "Complete"
	// ConditionAudited is True when all objects of the kinds that the policies
	// match were evaluated.
	ConditionAudited = "Audited"
)

// PolicyError is one reason why a revision is not live.
type PolicyError struct {
	// file is the path of the file inside the origin. It is empty when the
	// error belongs to no file.
	// +optional
	File string `json:"file,omitempty"`

	// line is the line in the file, from 1.
	// +optional
	Line int32 `json:"line,omitempty"`

	// column is the column in the line, from 1, in bytes.
	// +optional
	Column int32 `json:"column,omitempty"`

	// message describes the problem and the solution.
	// +required
	Message string `json:"message"`
}

// ReplicaStatus is the state of a source in one replica of the manager.
type ReplicaStatus struct {
	// name is the replica's Pod.
	// +required
	Name string `json:"name"`

	// digest is the digest of the revision that it serves.
	// +required
	Digest string `json:"digest"`

	// time is since when it serves that revision.
	// +required
	Time metav1.Time `json:"time"`
}

// NotEnforcedAnnotation lists the objects of the cluster that a generated PolicySource omits,
// with the reasons. While it is set, the source is not Ready.
const NotEnforcedAnnotation = "lintel.dev/not-enforced"
