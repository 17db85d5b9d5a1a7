package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeClassifier is an HTTP endpoint that says of which classes nodes are, for the servers
// of Configs that name it.
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

	// spec is the endpoint.
	// +required
	Spec NodeClassifierSpec `json:"spec"`

	// status says whether it can be asked.
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

// NodeClassifierSpec is the endpoint.
type NodeClassifierSpec struct {
	// url is the server, and what the path of each request begins with.
	// +required
	// +kubebuilder:validation:MinLength=1
	URL string `json:"url"`

	// request is what is asked.
	// +optional
	// +kubebuilder:default={}
	Request NodeClassifierRequest `json:"request,omitzero"`

	// response is what is answered.
	// +optional
	// +kubebuilder:default={}
	Response NodeClassifierResponse `json:"response,omitzero"`

	// timeoutSeconds is how long an answer may take.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// auth is how the server shows who it is.
	// +optional
	Auth *HTTPAuth `json:"auth,omitempty"`

	// tls is by what the endpoint is known.
	// +optional
	TLS *EndpointTLS `json:"tls,omitempty"`

	// cache keeps answers for when there are none.
	// +optional
	Cache *NodeClassifierCache `json:"cache,omitempty"`
}

// NodeClassifierRequest is what is asked.
//
// +kubebuilder:validation:XValidation:rule="!has(self.body) || size(self.body) == 0 || (has(self.method) && self.method == 'POST')",message="body is for method POST only"
type NodeClassifierRequest struct {
	// method is GET or POST.
	// +optional
	// +kubebuilder:default=GET
	// +kubebuilder:validation:Enum=GET;POST
	Method string `json:"method,omitempty"`

	// path follows the URL. {certname} in it is the certname of the node.
	// +optional
	// +kubebuilder:default="/node/{certname}"
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path,omitempty"`

	// body is what is sent: certname is the certname, facts are the certname and the facts
	// of the node, puppet-enterprise is these as Puppet Enterprise's classifier reads them,
	// and without it nothing is.
	// +optional
	Body NodeClassifierBody `json:"body,omitempty"`
}

// NodeClassifierBody is what is sent.
//
// +kubebuilder:validation:Enum=facts;certname;puppet-enterprise;""
type NodeClassifierBody string

const (
	// BodyFacts has certname and facts.
	BodyFacts NodeClassifierBody = "facts"
	// BodyCertname has certname.
	BodyCertname NodeClassifierBody = "certname"
	// BodyPuppetEnterprise has fact and trusted.
	BodyPuppetEnterprise NodeClassifierBody = "puppet-enterprise"
)

// HasFacts says whether the facts of a node are in it.
func (b NodeClassifierBody) HasFacts() bool { return b == BodyFacts || b == BodyPuppetEnterprise }

// NodeClassifierResponse is what is answered.
type NodeClassifierResponse struct {
	// format is yaml or json.
	// +optional
	// +kubebuilder:default=yaml
	// +kubebuilder:validation:Enum=yaml;json
	Format string `json:"format,omitempty"`
}

// NodeClassifierCache keeps answers for when there are none.
type NodeClassifierCache struct {
	// enabled keeps them.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// directory is where, in servers.
	// +optional
	// +kubebuilder:default="/var/cache/openvox-enc"
	// +kubebuilder:validation:Pattern=`^/.`
	Directory string `json:"directory,omitempty"`
}

// NodeClassifierPhase is whether the endpoint can be asked.
//
// +kubebuilder:validation:Enum=Active;Error
type NodeClassifierPhase string

const (
	// NodeClassifierActive is one that servers ask as it says.
	NodeClassifierActive NodeClassifierPhase = "Active"
	// NodeClassifierError is one that they do not.
	NodeClassifierError NodeClassifierPhase = "Error"
)

// ReasonConfigRendered is the reason of an endpoint that servers call as it says.
const ReasonConfigRendered = "ConfigRendered"

// NodeClassifierStatus says whether the endpoint can be asked.
type NodeClassifierStatus struct {
	// phase is Active or Error.
	// +optional
	Phase NodeClassifierPhase `json:"phase,omitempty"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
