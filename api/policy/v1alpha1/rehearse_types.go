package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Rehearse configures the rehearsal of new revisions with the requests that the manager records
// (--record). The decisions of a new revision are compared with those of the revision in force,
// for the same requests. Before a first revision is live, they are compared with the decisions
// without the source.
type Rehearse struct {
	// since is the age of the oldest record that is evaluated, such as 7d, 12h or 1d12h. It must
	// be shorter than the time for which the manager keeps records (--record-max-age).
	// +optional
	// +kubebuilder:default="3d"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,3}d)?([0-9]{1,4}h)?([0-9]{1,5}m)?$`
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="since must be longer than 0"
	Since string `json:"since,omitempty"`

	// maxNewDenials is the number of recorded requests that a revision may deny in addition to
	// those that the revision in force denies. Records may be a sample of all requests.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MaxNewDenials int64 `json:"maxNewDenials,omitempty"`

	// maxNewWarnings is the number of admitted requests about which a revision may warn in
	// addition. The default is any number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxNewWarnings *int64 `json:"maxNewWarnings,omitempty"`

	// maxUndecided is the number of recorded requests that may be undecided, because a policy
	// reads a value that the record lacks, together with the number of records that are damaged.
	// An undecided request may be a new denial, so the default is 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MaxUndecided int64 `json:"maxUndecided,omitempty"`

	// onMissingRecords is the result if there are no records of the period, the newest one is
	// older than a day (or than since, if that is shorter), or the records cannot be read: Wait
	// keeps the revision from going live, Proceed lets it go live without a rehearsal.
	// +optional
	// +kubebuilder:default=Wait
	OnMissingRecords OnMissingRecords `json:"onMissingRecords,omitempty"`
}

// OnMissingRecords is the result of a rehearsal without records.
//
// +kubebuilder:validation:Enum=Wait;Proceed
type OnMissingRecords string

const (
	// OnMissingRecordsWait keeps the revision from going live until there are records, or an
	// administrator approves it. It is the default.
	OnMissingRecordsWait OnMissingRecords = "Wait"
	// OnMissingRecordsProceed lets the revision go live without a rehearsal.
	OnMissingRecordsProceed OnMissingRecords = "Proceed"
)

// RehearsalResult is the result of a rehearsal.
type RehearsalResult string

// The results of rehearsals.
const (
	// RehearsalRunning is the result of a rehearsal that has not ended.
	RehearsalRunning RehearsalResult = "Running"
	// RehearsalPassed permits the revision to go live.
	RehearsalPassed RehearsalResult = "Passed"
	// RehearsalFailed keeps the revision from going live.
	RehearsalFailed RehearsalResult = "Failed"
	// RehearsalWaiting keeps the revision from going live, because there are no records.
	RehearsalWaiting RehearsalResult = "Waiting"
	// RehearsalSkipped permits the revision to go live although there are no records.
	RehearsalSkipped RehearsalResult = "Skipped"
	// RehearsalApproved permits the revision to go live because an administrator approved it.
	RehearsalApproved RehearsalResult = "Approved"
)

// RehearsalStatus is the result of the last rehearsal of a revision.
type RehearsalStatus struct {
	// digest is the digest of the files of the revision.
	// +required
	Digest string `json:"digest"`

	// revision is the revision that was evaluated.
	// +optional
	Revision string `json:"revision,omitempty"`

	// result is Running, Passed, Failed, Waiting, Skipped or Approved.
	// +required
	Result RehearsalResult `json:"result"`

	// message explains the result.
	// +optional
	Message string `json:"message,omitempty"`

	// command shows all requests that the revision would decide differently.
	// +optional
	Command string `json:"command,omitempty"`

	// since is the beginning of the period of the records.
	// +optional
	Since metav1.Time `json:"since,omitzero"`

	// until is the end of that period.
	// +optional
	Until metav1.Time `json:"until,omitzero"`

	// requests is the number of requests that were evaluated.
	// +optional
	Requests int64 `json:"requests,omitempty"`

	// newDenials is the number of requests that the revision denies and the revision in force
	// admits.
	// +optional
	NewDenials int64 `json:"newDenials,omitempty"`

	// newWarnings is the number of admitted requests with a warning that the revision in force
	// does not give.
	// +optional
	NewWarnings int64 `json:"newWarnings,omitempty"`

	// undecided is the number of requests that depend on a value that the record lacks.
	// +optional
	Undecided int64 `json:"undecided,omitempty"`

	// unreadable is the number of records that are damaged.
	// +optional
	Unreadable int64 `json:"unreadable,omitempty"`

	// policies are those with the most new denials, at most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Policies []RehearsalCount `json:"policies,omitempty"`

	// namespaces are those with the most new denials, at most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Namespaces []RehearsalCount `json:"namespaces,omitempty"`

	// inputs identifies the policies and exceptions that were compared.
	// +optional
	Inputs string `json:"inputs,omitempty"`

	// checkpoint is the state from which another leader resumes the rehearsal.
	// +optional
	Checkpoint string `json:"checkpoint,omitempty"`
}

// RehearsalCount is the number of new denials of a policy, or of requests in a namespace.
type RehearsalCount struct {
	// name is the name of the policy or the namespace; empty for requests without a namespace.
	// +required
	Name string `json:"name"`
	// requests is the number of requests that are newly denied.
	// +required
	Requests int64 `json:"requests"`
}

// MaxRehearsalCounts is the number of policies and of namespaces in a RehearsalStatus.
const MaxRehearsalCounts = 10

// ApprovedRevisionAnnotation contains the digest of a revision that may go live without a
// rehearsal, or although its rehearsal failed. Only users who may write the PolicySource can set
// it.
const ApprovedRevisionAnnotation = "lintel.dev/approved-revision"
