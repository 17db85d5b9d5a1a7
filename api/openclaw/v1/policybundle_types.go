package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PolicyBundle is a set of Rego policies for the OPA of gateways. Each has a scope and
// a domain; one of a narrower scope can restrict what the broader ones allow, never
// widen it.
//
// The name is at most 63 characters long, because what belongs to a bundle carries it
// as a label value.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.applied`
// +kubebuilder:printcolumn:name="Total",type=integer,JSONPath=`.status.total`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
type PolicyBundle struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the policies, and whom they bind.
	// +required
	Spec PolicyBundleSpec `json:"spec"`

	// status is what gateways make of them.
	// +optional
	Status PolicyBundleStatus `json:"status,omitzero"`
}

// PolicyBundleList is a list of PolicyBundles.
//
// +kubebuilder:object:root=true
type PolicyBundleList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PolicyBundle `json:"items"`
}

// PolicyBundleSpec is the policies, and whom they bind.
type PolicyBundleSpec struct {
	// policies are the policies of the bundle. The effort of compiling all of them is limited:
	// about 100 KiB of rules.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=300
	Policies []Policy `json:"policies"`

	// instanceSelector selects the OpenClawInstances of the namespace that the
	// policies bind, by their labels. Without one they bind all. Policies of the
	// enterprise scope ignore it: no instance relabels itself out of them.
	// +optional
	InstanceSelector *metav1.LabelSelector `json:"instanceSelector,omitempty"`
}

// Scope is how many a policy binds.
//
// +kubebuilder:validation:Enum=enterprise;org;team;user
type Scope string

// The scopes, broadest first.
const (
	ScopeEnterprise Scope = "enterprise"
	ScopeOrg        Scope = "org"
	ScopeTeam       Scope = "team"
	ScopeUser       Scope = "user"
)

// Policy is one Rego policy.
type Policy struct {
	// scope is how many the policy binds: enterprise, org, team or user.
	// +required
	Scope Scope `json:"scope"`

	// domain is what the policy decides about.
	// +required
	// +kubebuilder:validation:Enum=models;actions;integrations;agent-to-agent;features;data;audit
	Domain string `json:"domain"`

	// name identifies the policy in the bundle.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// content is the policy in Rego.
	// +required
	// +kubebuilder:validation:MinLength=1
	Content string `json:"content"`
}

// The types of a PolicyBundle's conditions.
const (
	// ConditionPolicyReady is True when every policy of the bundle compiles.
	ConditionPolicyReady = "PolicyReady"
	// ConditionPolicySynced is True when every gateway that the bundle binds runs
	// its policies.
	ConditionPolicySynced = "PolicySynced"
)

// PolicyBundleStatus is what gateways make of a bundle.
type PolicyBundleStatus struct {
	// applied is how many policies of the bundle every gateway that it binds runs.
	// +optional
	Applied int32 `json:"applied"`

	// total is how many policies are in the bundle.
	// +optional
	Total int32 `json:"total"`

	// lastReloadTime is when the last gateway had loaded the bundle as it is.
	// +optional
	LastReloadTime *metav1.Time `json:"lastReloadTime,omitempty"`

	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are PolicyReady and PolicySynced; Admitted where policies review the object.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
