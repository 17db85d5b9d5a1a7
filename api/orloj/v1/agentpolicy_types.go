package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AgentPolicy is limits on what agents may do at run time.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=opol
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec AgentPolicySpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *AgentPolicy) SyncStatus() *Status { return &o.Status }

// AgentPolicyList is a list of AgentPolicies.
//
// +kubebuilder:object:root=true
type AgentPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AgentPolicy `json:"items"`
}

// AgentPolicySpec are the limits, and whom they bind.
type AgentPolicySpec struct {
	// max_tokens_per_run is how many tokens a run may use.
	// +optional
	MaxTokensPerRun int64 `json:"max_tokens_per_run,omitempty"`

	// allowed_models are the only ones, if there are any.
	// +optional
	// +listType=atomic
	AllowedModels []string `json:"allowed_models,omitempty"`

	// blocked_tools may not be called.
	// +optional
	// +listType=atomic
	BlockedTools []string `json:"blocked_tools,omitempty"`

	// apply_mode is scoped or global. Default: scoped.
	// +optional
	ApplyMode string `json:"apply_mode,omitempty"`

	// target_systems are bound by a scoped policy.
	// +optional
	// +listType=atomic
	TargetSystems []string `json:"target_systems,omitempty"`

	// target_tasks are, too.
	// +optional
	// +listType=atomic
	TargetTasks []string `json:"target_tasks,omitempty"`

	// target_agents are, too.
	// +optional
	// +listType=atomic
	TargetAgents []string `json:"target_agents,omitempty"`

	// max_child_depth is how deep tasks may start others.
	// +optional
	MaxChildDepth int64 `json:"max_child_depth,omitempty"`

	// max_child_tasks is how many.
	// +optional
	MaxChildTasks int64 `json:"max_child_tasks,omitempty"`
}
