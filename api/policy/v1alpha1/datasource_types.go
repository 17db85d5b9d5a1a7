package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DataSource is data from outside of the cluster that policies read at
// data.external["name"], if their METADATA name it (custom.external). The
// manager fetches it on a schedule, and never during a review. It is
// cluster-scoped and for administrators only.
//
// The name is at most 63 characters long, because objects that belong to a
// source carry it as a label value.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=datasrc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Stale",type=string,JSONPath=`.status.conditions[?(@.type=="Stale")].status`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.revision`,priority=1
// +kubebuilder:printcolumn:name="Entries",type=integer,JSONPath=`.status.entries`
// +kubebuilder:printcolumn:name="Bytes",type=integer,JSONPath=`.status.bytes`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
type DataSource struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the origin of the data and its limits.
	// +required
	Spec DataSourceSpec `json:"spec"`

	// status is what the manager makes of the spec. It is written by the
	// manager alone.
	// +optional
	Status DataSourceStatus `json:"status,omitzero"`
}

// DataSourceList is a list of DataSources.
//
// +kubebuilder:object:root=true
type DataSourceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DataSource `json:"items"`
}

// DataSourceSpec is one origin, exactly one of https, git and oci, and the
// limits of its data.
//
// +kubebuilder:validation:XValidation:rule="[has(self.https), has(self.git), has(self.oci)].filter(set, set).size() == 1",message="exactly one of https, git and oci must be set"
// +kubebuilder:validation:XValidation:rule="has(self.https) != has(self.file)",message="file is required with git and oci, and must not be set with https"
//
// +kubebuilder:validation:XValidation:rule="!has(self.git) || !has(self.git.receiver)",message="git.receiver is not available for a DataSource"
// +kubebuilder:validation:XValidation:rule="!has(self.git) || has(self.git.verify) || !self.git.url.startsWith('http://')",message="git.url begins with http://: require a signature with git.verify, or use https://"
// +kubebuilder:validation:XValidation:rule="!has(self.oci) || has(self.oci.verify) || !has(self.oci.insecure) || !self.oci.insecure",message="oci.insecure needs a signature: set oci.verify"
// +kubebuilder:validation:XValidation:rule="!has(self.interval) || !has(self.staleAfter) || duration(self.staleAfter) > duration(self.interval)",message="staleAfter must be longer than interval"
type DataSourceSpec struct {
	// https fetches the data from a URL.
	// +optional
	HTTPS *HTTPSOrigin `json:"https,omitempty"`

	// git fetches the data from a Git repository.
	// +optional
	Git *GitOrigin `json:"git,omitempty"`

	// oci fetches the data from an artifact in an OCI registry.
	// +optional
	OCI *OCIOrigin `json:"oci,omitempty"`

	// file is the file with the data, below the path of git or oci, such as
	// registries.json. Its content is JSON, or YAML with one document.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(part, part.startsWith('.') || part == '')",message="file must be relative, and no part of it may be empty or begin with a dot"
	File string `json:"file,omitempty"`

	// maxBytes is the maximum size of the data in bytes, as the origin sends
	// it: 1 MiB by default, at most 4 MiB. Each replica of the manager needs
	// about ten bytes of memory for each byte of data.
	// +optional
	// +kubebuilder:default=1048576
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4194304
	MaxBytes int64 `json:"maxBytes,omitempty"`

	// minEntries is the minimum number of members of the object or list at the
	// top of the data. Data with fewer members is refused, and the last good
	// data stays in force. 0 allows empty data.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	MinEntries *int32 `json:"minEntries,omitempty"`

	// schema is the JSON Schema of the data, with the keywords that
	// CustomResourceDefinitions have (openAPIV3Schema), without $ref. Data
	// that does not match is refused, and the last good data stays in force.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:XPreserveUnknownFields
	Schema *apiextensionsv1.JSON `json:"schema,omitempty"`

	// interval is the time between two checks of the origin, such as 30s, 5m or 1h30m; at least
	// 5s.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s')",message="interval must be at least 5s"
	Interval metav1.Duration `json:"interval,omitzero"`

	// staleAfter is the time after the last successful check at which the data
	// counts as stale, which the condition Stale and metrics report. Policies
	// continue to read stale data. It must be longer than interval.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s')",message="staleAfter must be at least 10s"
	StaleAfter metav1.Duration `json:"staleAfter,omitzero"`

	// suspend stops the checks of the origin. The last good data stays in
	// force, and becomes stale.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// HTTPSOrigin is data at a URL.
//
// +kubebuilder:validation:XValidation:rule="has(self.caBundle) || has(self.verify)",message="caBundle or verify is required: pin the certificate authority of the server, or require a signature"
type HTTPSOrigin struct {
	// url is the address of the data. Redirects are refused. It never holds a
	// password.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[^@/]+(/.*)?$')",message="url must begin with https:// and a host, without credentials"
	URL string `json:"url"`

	// caBundle contains the certificates in PEM of the authorities that may
	// have issued the certificate of the server. With it, the authorities of
	// the system are not trusted.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	CABundle []byte `json:"caBundle,omitempty"`

	// secretRef names the Secret with the credentials: username and password,
	// or bearerToken.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// verify asks for a valid signature before data is considered.
	// +optional
	Verify *HTTPSVerification `json:"verify,omitempty"`
}

// HTTPSVerification asks for a detached signature by a known key, as cosign
// sign-blob --key creates it.
type HTTPSVerification struct {
	// signatureURL is the address of the signature in base64. Without one, it is
	// the URL of the data with .sig at the end of its path.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[^@/]+(/.*)?$')",message="signatureURL must begin with https:// and a host, without credentials"
	SignatureURL string `json:"signatureURL,omitempty"`

	// secretRef names the Secret with the public keys that are trusted, in
	// PEM, each in an entry whose name ends in .pub.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// DataSourceStatus is what the manager last made of a DataSource.
type DataSourceStatus struct {
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// revision is the revision of the data in force: as in the status of a
	// PolicySource for git and oci, sha256:… over the content for https. Data
	// that was refused is never here.
	// +optional
	Revision string `json:"revision,omitempty"`

	// digest is sha256:… over the stored data. Equal digests are equal data.
	// +optional
	Digest string `json:"digest,omitempty"`

	// bytes is the size of the data in force, in JSON without spaces.
	// +optional
	Bytes int64 `json:"bytes"`

	// entries is the number of members of the object or list at the top of the
	// data in force.
	// +optional
	Entries int32 `json:"entries"`

	// lastSuccess is when the origin was last checked without an error. To
	// avoid a write for each check, it may be behind by a quarter of
	// staleAfter.
	// +optional
	LastSuccess *metav1.Time `json:"lastSuccess,omitempty"`

	// lastHandledReconcileAt is the value of the annotation
	// lintel.dev/reconcile-at at the latest check of the origin.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// replicas say which data each live replica of the manager serves.
	// +optional
	// +listType=map
	// +listMapKey=name
	Replicas []ReplicaStatus `json:"replicas,omitempty"`

	// conditions are Ready, Stale, and SourceVerified where the spec asks for
	// a verification.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionStale is True when the origin of a DataSource was not checked
// without an error within spec.staleAfter.
const ConditionStale = "Stale"
