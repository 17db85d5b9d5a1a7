package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Agent is an agent: a model, a prompt, and the tools and limits of the agent.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=oagent
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Agent struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec AgentSpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *Agent) SyncStatus() *Status { return &o.Status }

// AgentList is a list of Agents.
//
// +kubebuilder:object:root=true
type AgentList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Agent `json:"items"`
}

// AgentSpec is what an agent is made of.
type AgentSpec struct {
	// model_ref names the ModelEndpoint that answers. It is needed.
	// +optional
	ModelRef string `json:"model_ref,omitempty"`

	// model is not for manifests and is refused: name a ModelEndpoint in model_ref.
	// +optional
	Model string `json:"model,omitempty"`

	// prompt is the system prompt.
	// +required
	Prompt string `json:"prompt"`

	// fallback_model_refs name ModelEndpoints to ask when the first fails.
	// +optional
	// +listType=atomic
	FallbackModelRefs []string `json:"fallback_model_refs,omitempty"`

	// tools name the Tools that it sees.
	// +optional
	// +listType=atomic
	Tools []string `json:"tools,omitempty"`

	// allowed_tools name the Tools that it may call without asking.
	// +optional
	// +listType=atomic
	AllowedTools []string `json:"allowed_tools,omitempty"`

	// roles name what grants it permissions.
	// +optional
	// +listType=atomic
	Roles []string `json:"roles,omitempty"`

	// memory configures the agent's memory.
	// +optional
	Memory AgentMemory `json:"memory,omitzero"`

	// execution is how it runs.
	// +optional
	Execution AgentExecution `json:"execution,omitzero"`

	// limits end a run.
	// +optional
	Limits AgentLimits `json:"limits,omitzero"`
}

// AgentMemory is what an agent remembers.
type AgentMemory struct {
	// ref names a Memory.
	// +optional
	Ref string `json:"ref,omitempty"`

	// type is the type of memory.
	// +optional
	Type string `json:"type,omitempty"`

	// provider keeps it.
	// +optional
	Provider string `json:"provider,omitempty"`

	// allow lists what the agent may do with it: read, write, search, list, ingest. It needs ref.
	// +optional
	// +listType=atomic
	Allow []string `json:"allow,omitempty"`
}

// AgentExecution is how an agent runs.
type AgentExecution struct {
	// profile is dynamic or contract. Default: dynamic.
	// +optional
	Profile string `json:"profile,omitempty"`

	// tool_sequence is the order of calls; contract needs it.
	// +optional
	// +listType=atomic
	ToolSequence []string `json:"tool_sequence,omitempty"`

	// required_output_markers are strings that the output must contain.
	// +optional
	// +listType=atomic
	RequiredOutputMarkers []string `json:"required_output_markers,omitempty"`

	// duplicate_tool_call_policy is short_circuit or deny. Default: short_circuit.
	// +optional
	DuplicateToolCallPolicy string `json:"duplicate_tool_call_policy,omitempty"`

	// on_contract_violation is non_retryable_error or observe. Default: non_retryable_error.
	// +optional
	OnContractViolation string `json:"on_contract_violation,omitempty"`

	// tool_use_behavior is run_llm_again or stop_on_first_tool. Default: run_llm_again.
	// +optional
	ToolUseBehavior string `json:"tool_use_behavior,omitempty"`

	// output_schema is a JSON Schema of the output, of at most 64 KiB and 10 levels.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	OutputSchema *apiextensionsv1.JSON `json:"output_schema,omitempty"`
}

// AgentLimits end a run.
type AgentLimits struct {
	// max_steps is how many steps a run may have. Default: 10.
	// +optional
	MaxSteps int64 `json:"max_steps,omitempty"`

	// timeout is how long it may take, such as 30s.
	// +optional
	Timeout string `json:"timeout,omitempty"`
}
