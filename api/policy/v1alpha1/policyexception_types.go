package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyException exempts objects from one rule of one policy until a time. It belongs to the
// scope that owns the rule: only users who may make exceptions for that scope or a broader one
// can create or change it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=pex
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.source`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expiresAt`
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope.level`,priority=1
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PolicyException struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the rule, the objects that are exempt from it, and until when.
	// +required
	Spec PolicyExceptionSpec `json:"spec"`

	// status reports whether the exception is in force. It is written by the manager alone.
	// +optional
	Status PolicyExceptionStatus `json:"status,omitzero"`
}

// PolicyExceptionList is a list of PolicyExceptions.
//
// +kubebuilder:object:root=true
type PolicyExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PolicyException `json:"items"`
}

// PolicyExceptionSpec is a rule, the objects that are exempt from it, and until when.
type PolicyExceptionSpec struct {
	// scope is the scope that owns the rule: that of the PolicySource. The exception has no
	// effect once the PolicySource belongs to another scope.
	// +optional
	// +kubebuilder:default={level: enterprise}
	Scope ExceptionScope `json:"scope,omitzero"`

	// source is the name of the PolicySource that contains the policy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Source string `json:"source"`

	// policy is the package of the policy, such as team.labels, without "data.". For a constraint
	// of Gatekeeper, it is the kind and the name, such as K8sRequiredLabels/owner.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Policy string `json:"policy"`

	// rule limits the exception to one entry point of the policy: deny, warn or violation.
	// Without it, the exception is from all of them. Mutations (patch and defaults) have no
	// exceptions.
	// +optional
	Rule ExceptionRule `json:"rule,omitempty"`

	// match selects the objects that are exempt.
	// +required
	Match ExceptionMatch `json:"match"`

	// containers are the names of containers, or patterns such as istio-*, where * is any number
	// of characters. With them, only denials whose field is in such a container are exempt.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[-a-z0-9*]+$`
	Containers []string `json:"containers,omitempty"`

	// images are the images of containers, or patterns such as registry.example.com/debug/*,
	// where * is any number of characters, including slashes. With them, only denials whose field
	// is in a container with such an image are exempt.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Images []string `json:"images,omitempty"`

	// reason explains to the users who meet the exception why it exists; at least 10 characters.
	// +required
	// +kubebuilder:validation:MinLength=10
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`

	// expiresAt is when the exception ends, such as 2026-12-04T17:00:00Z. The policy limits how
	// far ahead: see custom.exceptions.maxDuration of its METADATA.
	// +required
	ExpiresAt metav1.Time `json:"expiresAt"`
}

// ExceptionScope names the scope that owns a rule.
//
// +kubebuilder:validation:XValidation:rule="self.level == 'enterprise' || (has(self.name) && size(self.name) > 0)",message="a scope below the enterprise needs a name"
type ExceptionScope struct {
	// level is how wide the scope is.
	// +optional
	// +kubebuilder:default=enterprise
	Level ScopeLevel `json:"level,omitempty"`

	// name is the name of the scope. Ignored for the enterprise, of which there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`
}

// ExceptionRule is an entry point of a policy.
//
// +kubebuilder:validation:Enum=deny;warn;violation
type ExceptionRule string

// The entry points that have exceptions.
const (
	ExceptionRuleDeny      ExceptionRule = "deny"
	ExceptionRuleWarn      ExceptionRule = "warn"
	ExceptionRuleViolation ExceptionRule = "violation"
)

// ExceptionMatch selects objects. An object must meet every field that is set. For a Pod that a
// workload would create, it is the workload that must meet them.
//
// +kubebuilder:validation:XValidation:rule="[has(self.namespaces) && size(self.namespaces) > 0, has(self.names) && size(self.names) > 0, has(self.kinds) && size(self.kinds) > 0].exists(set, set)",message="at least one of namespaces, kinds and names must be set"
type ExceptionMatch struct {
	// namespaces are the names of namespaces, or patterns such as team-*, where * is any number
	// of characters. They must be namespaces of the scope that owns the rule.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[-a-z0-9*]+$`
	Namespaces []string `json:"namespaces,omitempty"`

	// kinds are the kinds of the objects.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Kinds []ExceptionKind `json:"kinds,omitempty"`

	// names are the names of the objects, or patterns such as debug-*, where * is any number of
	// characters. A name that the API server generates from generateName ends in five random
	// characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`

	// selector selects objects by their labels. The users who are exempt can usually edit those,
	// so the policy must allow it: custom.exceptions.selectors of its METADATA.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ExceptionKind is a kind of Kubernetes objects, in any version.
type ExceptionKind struct {
	// group is the kind's API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`

	// kind is such as Deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// PolicyExceptionStatus reports whether a PolicyException is in force.
type PolicyExceptionStatus struct {
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, which is True while the exception is in force, and ExpiresSoon, which
	// is True in its last week.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionExpiresSoon is True in the last week of a PolicyException.
const ConditionExpiresSoon = "ExpiresSoon"
