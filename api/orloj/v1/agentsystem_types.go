package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AgentSystem is several agents and the graph that connects them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=oasys
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentSystem struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec AgentSystemSpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *AgentSystem) SyncStatus() *Status { return &o.Status }

// AgentSystemList is a list of AgentSystems.
//
// +kubebuilder:object:root=true
type AgentSystemList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AgentSystem `json:"items"`
}

// AgentSystemSpec is agents and their graph.
type AgentSystemSpec struct {
	// agents name the Agents.
	// +optional
	// +listType=atomic
	Agents []string `json:"agents,omitempty"`

	// graph says by the name of an agent who comes after it.
	// +optional
	Graph map[string]GraphNode `json:"graph,omitempty"`

	// completion_review requires a person to review the result.
	// +optional
	CompletionReview *ReviewCheckpoint `json:"completion_review,omitempty"`

	// context_adapter names what prepares the input.
	// +optional
	ContextAdapter string `json:"context_adapter,omitempty"`

	// a2a opens the system to other agents.
	// +optional
	A2A AgentSystemA2A `json:"a2a,omitzero"`
}

// GraphNode is one agent in the graph.
type GraphNode struct {
	// next is the one that follows, where there is one only.
	// +optional
	Next string `json:"next,omitempty"`

	// edges are those that follow.
	// +optional
	// +listType=atomic
	Edges []GraphEdge `json:"edges,omitempty"`

	// join is how it waits for those before it.
	// +optional
	Join GraphJoin `json:"join,omitzero"`

	// delegates work for it before its edges are followed.
	// +optional
	// +listType=atomic
	Delegates []GraphEdge `json:"delegates,omitempty"`

	// delegate_join is how it waits for its delegates.
	// +optional
	DelegateJoin GraphJoin `json:"delegate_join,omitzero"`

	// review requires a person to review the agent's output.
	// +optional
	Review *ReviewCheckpoint `json:"review,omitempty"`
}

// GraphEdge leads to another agent.
type GraphEdge struct {
	// to is the agent. An edge without one is left out.
	// +optional
	To string `json:"to,omitempty"`

	// labels are for routing and for people.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// policy are controls of the edge.
	// +optional
	Policy map[string]string `json:"policy,omitempty"`

	// condition limits when the edge is followed.
	// +optional
	Condition *EdgeCondition `json:"condition,omitempty"`
}

// EdgeCondition is a condition on the output of the agent at the start of an edge. All given
// fields must hold.
type EdgeCondition struct {
	// output_contains is a string that the output must contain.
	// +optional
	OutputContains string `json:"output_contains,omitempty"`

	// output_not_contains does not.
	// +optional
	OutputNotContains string `json:"output_not_contains,omitempty"`

	// output_matches is a regular expression of at most 512 characters.
	// +optional
	OutputMatches string `json:"output_matches,omitempty"`

	// output_json_path is a path such as $.route, whose value is compared.
	// +optional
	OutputJSONPath string `json:"output_json_path,omitempty"`

	// equals is the value.
	// +optional
	Equals string `json:"equals,omitempty"`

	// not_equals is another value.
	// +optional
	NotEquals string `json:"not_equals,omitempty"`

	// contains is a string that the value must contain.
	// +optional
	Contains string `json:"contains,omitempty"`

	// greater_than is a smaller number.
	// +optional
	GreaterThan string `json:"greater_than,omitempty"`

	// less_than is a larger number.
	// +optional
	LessThan string `json:"less_than,omitempty"`

	// default marks the edge that is followed when no other is; it stands alone.
	// +optional
	Default bool `json:"default,omitempty"`
}

// GraphJoin is how a node waits.
type GraphJoin struct {
	// mode is wait_for_all or quorum.
	// +optional
	Mode string `json:"mode,omitempty"`

	// quorum_count is how many are enough.
	// +optional
	QuorumCount int64 `json:"quorum_count,omitempty"`

	// quorum_percent is which share is enough, from 0 to 100.
	// +optional
	QuorumPercent int64 `json:"quorum_percent,omitempty"`

	// on_failure is deadletter, skip or continue_partial.
	// +optional
	OnFailure string `json:"on_failure,omitempty"`
}

// ReviewCheckpoint is where a person decides.
type ReviewCheckpoint struct {
	// checkpoint_id is unique in the system. It is needed.
	// +optional
	CheckpointID string `json:"checkpoint_id,omitempty"`

	// display_name is what people read.
	// +optional
	DisplayName string `json:"display_name,omitempty"`

	// reason is why they are asked.
	// +optional
	Reason string `json:"reason,omitempty"`

	// ttl is how long it is waited for them. Default: 10m.
	// +optional
	TTL string `json:"ttl,omitempty"`

	// allow_request_changes says whether they may ask for changes. Default: true.
	// +optional
	AllowRequestChanges *bool `json:"allow_request_changes,omitempty"`

	// max_review_cycles is how often. Default: 3.
	// +optional
	MaxReviewCycles int64 `json:"max_review_cycles,omitempty"`
}

// AgentSystemA2A opens a system to other agents.
type AgentSystemA2A struct {
	// enabled says whether it is open.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// auth is public, or bearer, which is the default.
	// +optional
	Auth string `json:"auth,omitempty"`
}
