package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SigningPolicy says which certificate requests a CertificateAuthority signs. A request
// is signed where one policy matches it, and a policy where all of its conditions hold.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=sp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="CA",type=string,JSONPath=`.spec.certificateAuthorityRef`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type SigningPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the policy.
	// +required
	Spec SigningPolicySpec `json:"spec"`

	// status says whether it is in force.
	// +optional
	Status SigningPolicyStatus `json:"status,omitzero"`
}

// SigningPolicyList is a list of SigningPolicies.
//
// +kubebuilder:object:root=true
type SigningPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SigningPolicy `json:"items"`
}

// SigningPolicySpec is the policy.
type SigningPolicySpec struct {
	// certificateAuthorityRef is the CertificateAuthority.
	// +required
	// +kubebuilder:validation:MinLength=1
	CertificateAuthorityRef string `json:"certificateAuthorityRef"`

	// any matches every certname and every DNS name, and leaves the other conditions
	// out of account.
	// +optional
	Any bool `json:"any,omitempty"`

	// pattern are globs, of which the certname matches one.
	// +optional
	Pattern *AllowList `json:"pattern,omitempty"`

	// dnsAltNames are globs, of which each DNS name in subjectAltName matches one. A
	// request with such names needs it.
	// +optional
	DNSAltNames *AllowList `json:"dnsAltNames,omitempty"`

	// csrAttributes are extensions or attributes that the request carries.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	CSRAttributes []CSRAttribute `json:"csrAttributes,omitempty"`
}

// AllowList is a list of globs: * is any characters, ? is one, [a-z] one of a range.
type AllowList struct {
	// allow are the globs.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Allow []string `json:"allow"`
}

// CSRAttribute is an extension or attribute with one value.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="give exactly one of value and valueFrom"
type CSRAttribute struct {
	// name is a name such as pp_role or challengePassword, or an OID.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// value is the value.
	// +optional
	Value *string `json:"value,omitempty"`

	// valueFrom is where the value is.
	// +optional
	ValueFrom *SecretKeySelector `json:"valueFrom,omitempty"`
}

// SigningPolicyStatus says whether the policy is in force.
type SigningPolicyStatus struct {
	// phase is Active or Error.
	// +optional
	Phase SigningPolicyPhase `json:"phase,omitempty"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SigningPolicyPhase is whether the policy is in force.
//
// +kubebuilder:validation:Enum=Active;Error
type SigningPolicyPhase string

const (
	// SigningPolicyActive is a policy that is in force.
	SigningPolicyActive SigningPolicyPhase = "Active"
	// SigningPolicyError is one that signs nothing.
	SigningPolicyError SigningPolicyPhase = "Error"
)

const (
	// ConditionReady is whether the object does what it says.
	ConditionReady = "Ready"
	// ReasonPolicyRendered is the reason of a policy that is in force.
	ReasonPolicyRendered = "PolicyRendered"
	// ReasonError is the reason of what is not.
	ReasonError = "Error"
)
