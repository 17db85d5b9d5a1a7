package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeClassifier is an HTTP endpoint that classifies nodes for the servers of Configs that name
// it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=nc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Method",type=string,JSONPath=`.spec.request.method`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type NodeClassifier struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the endpoint.
	// +required
	Spec NodeClassifierSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status NodeClassifierStatus `json:"status,omitzero"`
}

// NodeClassifierList is a list of NodeClassifiers.
//
// +kubebuilder:object:root=true
type NodeClassifierList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeClassifier `json:"items"`
}

// NodeClassifierSpec describes the endpoint.
type NodeClassifierSpec struct {
	// url is the URL of the server, optionally with the beginning of the path of each request.
	// +required
	// +kubebuilder:validation:MinLength=1
	URL string `json:"url"`

	// request describes the request.
	// +optional
	// +kubebuilder:default={}
	Request NodeClassifierRequest `json:"request,omitzero"`

	// response describes the response.
	// +optional
	// +kubebuilder:default={}
	Response NodeClassifierResponse `json:"response,omitzero"`

	// timeoutSeconds is the time within which the endpoint must answer.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// auth is how servers authenticate.
	// +optional
	Auth *HTTPAuth `json:"auth,omitempty"`

	// tls is how servers verify the endpoint.
	// +optional
	TLS *EndpointTLS `json:"tls,omitempty"`

	// cache stores answers, which are used while the endpoint does not answer.
	// +optional
	Cache *NodeClassifierCache `json:"cache,omitempty"`
}

// NodeClassifierRequest describes the request.
//
// +kubebuilder:validation:XValidation:rule="!has(self.body) || size(self.body) == 0 || (has(self.method) && self.method == 'POST')",message="body is for method POST only"
type NodeClassifierRequest struct {
	// method is the HTTP method: GET or POST.
	// +optional
	// +kubebuilder:default=GET
	// +kubebuilder:validation:Enum=GET;POST
	Method string `json:"method,omitempty"`

	// path is appended to the URL. {certname} is replaced by the certname of the node.
	// +optional
	// +kubebuilder:default="/node/{certname}"
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path,omitempty"`

	// body is the body of the request: certname contains the certname, facts the certname and the
	// facts of the node, and puppet-enterprise both in the format of Puppet Enterprise's
	// classifier. By default, the request does not have a body.
	// +optional
	Body NodeClassifierBody `json:"body,omitempty"`
}

// NodeClassifierBody is the body of a request.
//
// +kubebuilder:validation:Enum=facts;certname;puppet-enterprise;""
type NodeClassifierBody string

const (
	// BodyFacts contains certname and facts.
	BodyFacts NodeClassifierBody = "facts"
	// BodyCertname contains certname.
	BodyCertname NodeClassifierBody = "certname"
	// BodyPuppetEnterprise contains fact and trusted.
	BodyPuppetEnterprise NodeClassifierBody = "puppet-enterprise"
)

// HasFacts reports whether the body contains the facts of a node.
func (b NodeClassifierBody) HasFacts() bool { return b == BodyFacts || b == BodyPuppetEnterprise }

// NodeClassifierResponse describes the response.
type NodeClassifierResponse struct {
	// format is the format of the response: yaml or json.
	// +optional
	// +kubebuilder:default=yaml
	// +kubebuilder:validation:Enum=yaml;json
	Format string `json:"format,omitempty"`
}

// NodeClassifierCache stores answers, which are used while the endpoint does not answer.
type NodeClassifierCache struct {
	// enabled stores answers.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// directory is the directory of the cache in servers.
	// +optional
	// +kubebuilder:default="/var/cache/openvox-enc"
	// +kubebuilder:validation:Pattern=`^/.`
	Directory string `json:"directory,omitempty"`
}

// NodeClassifierPhase reports whether the endpoint can be called.
//
// +kubebuilder:validation:Enum=Active;Error
type NodeClassifierPhase string

const (
	// NodeClassifierActive is rendered for servers.
	NodeClassifierActive NodeClassifierPhase = "Active"
	// NodeClassifierError cannot be rendered.
	NodeClassifierError NodeClassifierPhase = "Error"
)

// ReasonConfigRendered is the reason of an endpoint that is rendered for servers.
const ReasonConfigRendered = "ConfigRendered"

// NodeClassifierStatus is the observed state of a NodeClassifier.
type NodeClassifierStatus struct {
	// phase is Active or Error.
	// +optional
	Phase NodeClassifierPhase `json:"phase,omitempty"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
