package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// McpServer is a server of the Model Context Protocol, whose tools orlojd finds by itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=omcp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Transport",type=string,JSONPath=`.spec.transport`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type McpServer struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec McpServerSpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *McpServer) SyncStatus() *Status { return &o.Status }

// McpServerList is a list of McpServers.
//
// +kubebuilder:object:root=true
type McpServerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []McpServer `json:"items"`
}

// McpServerSpec is how a server is reached.
type McpServerSpec struct {
	// transport is stdio or http.
	// +required
	Transport string `json:"transport"`

	// command is the program of stdio; it or image is needed there.
	// +optional
	Command string `json:"command,omitempty"`

	// args are its arguments.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`

	// env is its environment.
	// +optional
	// +listType=atomic
	Env []McpServerEnv `json:"env,omitempty"`

	// endpoint is the URL of http, which needs it.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// image is the image that stdio runs in.
	// +optional
	Image string `json:"image,omitempty"`

	// image_pull_secret names what the image is pulled with.
	// +optional
	ImagePullSecret string `json:"image_pull_secret,omitempty"`

	// idle_timeout is when an idle server is ended. Default: 0, which is never.
	// +optional
	IdleTimeout string `json:"idle_timeout,omitempty"`

	// resources are the limits of the container.
	// +optional
	Resources ContainerResources `json:"resources,omitzero"`

	// default_tool_runtime is the runtime of the Tools that orlojd makes.
	// +optional
	DefaultToolRuntime *ToolRuntime `json:"default_tool_runtime,omitempty"`

	// auth is how it is called with credentials.
	// +optional
	Auth Auth `json:"auth,omitzero"`

	// tool_filter picks tools.
	// +optional
	ToolFilter McpToolFilter `json:"tool_filter,omitzero"`

	// reconnect is how often it is tried.
	// +optional
	Reconnect McpReconnect `json:"reconnect,omitzero"`

	// allowPrivate permits private addresses.
	// +optional
	AllowPrivate *bool `json:"allowPrivate,omitempty"`
}

// McpServerEnv is a variable.
type McpServerEnv struct {
	// name is the variable.
	// +required
	Name string `json:"name"`

	// value is its value.
	// +optional
	Value string `json:"value,omitempty"`

	// secretRef names a Secret that has it.
	// +optional
	SecretRef string `json:"secretRef,omitempty"`

	// mountPath is an absolute path to mount it at, which needs image.
	// +optional
	MountPath string `json:"mountPath,omitempty"`
}

// McpToolFilter picks tools.
type McpToolFilter struct {
	// include are their names; none picks all.
	// +optional
	// +listType=atomic
	Include []string `json:"include,omitempty"`
}

// McpReconnect is how often a server is tried.
type McpReconnect struct {
	// max_attempts counts. Default: 3.
	// +optional
	MaxAttempts int64 `json:"max_attempts,omitempty"`

	// backoff is the pause. Default: 2s.
	// +optional
	Backoff string `json:"backoff,omitempty"`
}
