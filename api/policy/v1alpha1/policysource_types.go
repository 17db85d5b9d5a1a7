package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicySource describes one origin of policies, the scope that they bind, and the result for
// requests that they cannot evaluate. It is cluster-scoped and for administrators only: a user
// who may write one controls every namespace of its scope.
//
// The name is at most 63 characters long, because objects that belong to a
// source carry it as a label value.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=ps
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope.level`,priority=1
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="Policies",type=integer,JSONPath=`.status.policies`
// +kubebuilder:printcolumn:name="Rules",type=integer,JSONPath=`.status.rules`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
type PolicySource struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the origin and how its policies are applied.
	// +required
	Spec PolicySourceSpec `json:"spec"`

	// status is what the manager makes of the spec. It is written by the
	// manager alone.
	// +optional
	Status PolicySourceStatus `json:"status,omitzero"`
}

// PolicySourceList is a list of PolicySources.
//
// +kubebuilder:object:root=true
type PolicySourceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PolicySource `json:"items"`
}

// PolicySourceSpec is one origin, exactly one of inline, git and oci, and how
// its policies are applied.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.git), has(self.oci)].filter(set, set).size() == 1",message="exactly one of inline, git and oci must be set"
type PolicySourceSpec struct {
	// inline holds the policies in the object itself.
	// +optional
	Inline *InlineOrigin `json:"inline,omitempty"`

	// git fetches the policies from a Git repository.
	// +optional
	Git *GitOrigin `json:"git,omitempty"`

	// oci fetches the policies from an artifact in an OCI registry.
	// +optional
	OCI *OCIOrigin `json:"oci,omitempty"`

	// failurePolicy is what happens to a request when a policy of this source
	// cannot be evaluated (an error at run time, a timeout, a limit): Fail
	// denies it, Ignore admits it with a warning.
	// +optional
	// +kubebuilder:default=Fail
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// scope is whom the policies bind. Without one they bind the whole
	// enterprise.
	// +optional
	// +kubebuilder:default={level: enterprise}
	Scope Scope `json:"scope,omitzero"`

	// parameters is the object that the policies read as input.parameters.
	// Its shape is the policies' own.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:XPreserveUnknownFields
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`

	// interval is the time between two checks of the origin, such as 30s, 1m or 1h30m; at least
	// 5s. An inline origin is read when the object changes, independent of the interval.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s')",message="interval must be at least 5s"
	Interval metav1.Duration `json:"interval,omitzero"`

	// suspend stops new revisions from being fetched and going live. The
	// revision that is live stays in force: to lift its policies, delete the
	// PolicySource.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// partial leaves out files that do not compile, and files that depend on them, instead of
	// refusing the revision. A file that is in force stays in force with its last good text, or
	// the revision is refused: an error never loosens a policy. The tests of the other files
	// must pass. The condition Complete and errors name the files that are left out.
	// +optional
	Partial bool `json:"partial,omitempty"`

	// rehearse evaluates each new revision for recorded requests before it goes live. A revision
	// that would deny more of them than permitted does not go live, and the last good revision
	// stays in force. Without rehearse, recorded requests are not evaluated.
	// +optional
	Rehearse *Rehearse `json:"rehearse,omitempty"`
}

// FailurePolicy is the result for a request that a policy could not evaluate.
//
// +kubebuilder:validation:Enum=Fail;Ignore
type FailurePolicy string

const (
	// FailurePolicyFail denies the request. It is the default.
	FailurePolicyFail FailurePolicy = "Fail"
	// FailurePolicyIgnore admits the request with a warning.
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// ScopeLevel is how wide a scope is. A narrower level restricts what the wider
// ones allow and never widens it.
//
// +kubebuilder:validation:Enum=enterprise;org;team;user
type ScopeLevel string

// The levels, widest first.
const (
	ScopeLevelEnterprise ScopeLevel = "enterprise"
	ScopeLevelOrg        ScopeLevel = "org"
	ScopeLevelTeam       ScopeLevel = "team"
	ScopeLevelUser       ScopeLevel = "user"
)

// Scope is whom a source's policies bind: a level, and below the enterprise
// the namespaces that belong to it.
//
// +kubebuilder:validation:XValidation:rule="self.level != 'enterprise' || !has(self.parent) || size(self.parent) == 0",message="the enterprise scope has no parent"
// +kubebuilder:validation:XValidation:rule="self.level == 'enterprise' || (has(self.name) && size(self.name) > 0)",message="a scope below the enterprise needs a name"
// +kubebuilder:validation:XValidation:rule="self.level == 'enterprise' || (has(self.namespaces) && size(self.namespaces) > 0)",message="a scope below the enterprise must list its namespaces"
type Scope struct {
	// level is how wide the scope is.
	// +optional
	// +kubebuilder:default=enterprise
	Level ScopeLevel `json:"level,omitempty"`

	// name distinguishes scopes of the same level. Sources with the same level and name share
	// one scope. Optional for the enterprise.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`

	// parent is the name of the next wider scope, which another source must
	// declare. Empty means the enterprise.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Parent string `json:"parent,omitempty"`

	// namespaces are the names of the namespaces that belong to the scope, or
	// patterns such as team-*, where * is any number of characters. They are
	// never labels, which those who are bound could edit. None means every
	// namespace, and only the enterprise may leave them out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[-a-z0-9*]+$`
	Namespaces []string `json:"namespaces,omitempty"`

	// grants are permissions of the scopes below, in addition to reading the
	// objects in their own namespaces. A scope passes on only permissions
	// that it has itself.
	// +optional
	Grants ScopeGrants `json:"grants,omitzero"`
}

// ScopeGrants are what a scope lets the scopes below it use.
type ScopeGrants struct {
	// requires are kinds that policies below may require (custom.requires of their
	// METADATA) although they are cluster-scoped, or Secrets. Of namespaced kinds they
	// see the objects in their own namespaces only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Requires []GrantedKind `json:"requires,omitempty"`

	// mutates are kinds that policies below may mutate (patch and defaults) although they
	// carry rights, such as RoleBindings, ServiceAccounts and Secrets. A policy mutates an
	// object with the rights of the user who writes it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Mutates []GrantedKind `json:"mutates,omitempty"`

	// external are DataSources that policies below may read (custom.external of their
	// METADATA).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	External []string `json:"external,omitempty"`

	// clock lets policies below read the time (custom.clock of their METADATA).
	// +optional
	Clock bool `json:"clock,omitempty"`

	// wildcards lets policies below match kinds that they do not name: "*" in match.kinds,
	// or no match.kinds.
	// +optional
	Wildcards bool `json:"wildcards,omitempty"`
}

// GrantedKind is a kind of Kubernetes objects, in any version.
type GrantedKind struct {
	// group is the kind's API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`

	// kind is such as Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}
