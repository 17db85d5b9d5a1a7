package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SigningPolicy decides which certificate requests a CertificateAuthority signs. A request is
// signed if one policy matches it. A policy matches if all of its conditions match.
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

	// spec are the conditions of the policy.
	// +required
	Spec SigningPolicySpec `json:"spec"`

	// status is the observed state.
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

// SigningPolicySpec are the conditions of a policy.
type SigningPolicySpec struct {
	// certificateAuthorityRef is the name of the CertificateAuthority.
	// +required
	// +kubebuilder:validation:MinLength=1
	CertificateAuthorityRef string `json:"certificateAuthorityRef"`

	// any matches every certname and every DNS name. The other conditions then have no effect.
	// +optional
	Any bool `json:"any,omitempty"`

	// pattern are globs. The certname must match one of them.
	// +optional
	Pattern *AllowList `json:"pattern,omitempty"`

	// dnsAltNames are globs. Each DNS name in subjectAltName must match one of them. A request
	// with DNS names needs this condition.
	// +optional
	DNSAltNames *AllowList `json:"dnsAltNames,omitempty"`

	// csrAttributes are extensions or attributes that the request must contain.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	CSRAttributes []CSRAttribute `json:"csrAttributes,omitempty"`
}

// AllowList is a list of globs: * matches any characters, ? one character, and [a-z] one
// character of a range.
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

	// value is the required value.
	// +optional
	Value *string `json:"value,omitempty"`

	// valueFrom is the source of the required value.
	// +optional
	ValueFrom *SecretKeySelector `json:"valueFrom,omitempty"`
}

// SigningPolicyStatus is the observed state of a SigningPolicy.
type SigningPolicyStatus struct {
	// phase is Active or Error.
	// +optional
	Phase SigningPolicyPhase `json:"phase,omitempty"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SigningPolicyPhase reports whether the policy is in force.
//
// +kubebuilder:validation:Enum=Active;Error
type SigningPolicyPhase string

const (
	// SigningPolicyActive is in force.
	SigningPolicyActive SigningPolicyPhase = "Active"
	// SigningPolicyError signs nothing.
	SigningPolicyError SigningPolicyPhase = "Error"
)

const (
	// ConditionReady reports whether the object is in its desired state.
	ConditionReady = "Ready"
	// ReasonPolicyRendered is the reason of a policy that is in force.
	ReasonPolicyRendered = "PolicyRendered"
	// ReasonError is the reason of an object that is not in its desired state.
	ReasonError = "Error"
)
