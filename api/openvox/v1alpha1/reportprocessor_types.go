package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReportProcessor is an HTTP endpoint to which the servers of a Config send reports.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=rp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Processor",type=string,JSONPath=`.spec.processor`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ReportProcessor struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the endpoint.
	// +required
	Spec ReportProcessorSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status ReportProcessorStatus `json:"status,omitzero"`
}

// ReportProcessorList is a list of ReportProcessors.
//
// +kubebuilder:object:root=true
type ReportProcessorList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ReportProcessor `json:"items"`
}

// ReportProcessorSpec describes the endpoint.
type ReportProcessorSpec struct {
	// configRef is the name of the Config whose servers send reports.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConfigRef string `json:"configRef"`

	// processor is the format of reports: puppetdb is PuppetDB's command "store report",
	// version 8. The default is Puppet's format, in JSON.
	// +optional
	// +kubebuilder:validation:Enum=puppetdb;""
	Processor string `json:"processor,omitempty"`

	// url is the URL to which servers post reports. For PuppetDB, it is the URL of the server
	// without a path.
	// +required
	// +kubebuilder:validation:MinLength=1
	URL string `json:"url"`

	// timeoutSeconds is the time within which the endpoint must answer.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// auth is how servers authenticate.
	// +optional
	Auth *HTTPAuth `json:"auth,omitempty"`

	// tls is how servers verify the endpoint.
	// +optional
	TLS *EndpointTLS `json:"tls,omitempty"`

	// headers are sent with each report.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Headers []HTTPHeader `json:"headers,omitempty"`
}

// HTTPHeader is a header and its value.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="give exactly one of value and valueFrom"
type HTTPHeader struct {
	// name is the name of the header.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`

	// value is the value of the header.
	// +optional
	Value *string `json:"value,omitempty"`

	// valueFrom is the source of the value.
	// +optional
	ValueFrom *HTTPHeaderSource `json:"valueFrom,omitempty"`
}

// HTTPHeaderSource is the source of the value of a header.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) != has(self.configMapKeyRef)",message="give exactly one of secretKeyRef and configMapKeyRef"
type HTTPHeaderSource struct {
	// secretKeyRef is a key of a Secret.
	// +optional
	SecretKeyRef *SecretKeyRef `json:"secretKeyRef,omitempty"`

	// configMapKeyRef is a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`
}

// ConfigMapKeyRef is a key of a ConfigMap.
type ConfigMapKeyRef struct {
	// name is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// key is the key in its data.
	// +required
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// ReportProcessorPhase reports whether servers send reports to the endpoint.
//
// +kubebuilder:validation:Enum=Active;Error
type ReportProcessorPhase string

const (
	// ReportProcessorActive receives reports.
	ReportProcessorActive ReportProcessorPhase = "Active"
	// ReportProcessorError receives no reports.
	ReportProcessorError ReportProcessorPhase = "Error"
)

// ReportProcessorStatus is the observed state of a ReportProcessor.
type ReportProcessorStatus struct {
	// phase is Active or Error.
	// +optional
	Phase ReportProcessorPhase `json:"phase,omitempty"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
