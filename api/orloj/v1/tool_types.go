package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tool is something that agents may call.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=otool
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Tool struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what orlojd reads.
	// +required
	Spec ToolSpec `json:"spec"`

	// status is how far it has come to the store.
	// +optional
	Status Status `json:"status,omitzero"`
}

// SyncStatus implements Object.
func (o *Tool) SyncStatus() *Status { return &o.Status }

// ToolList is a list of Tools.
//
// +kubebuilder:object:root=true
type ToolList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Tool `json:"items"`
}

// ToolSpec is how a tool is called, and under which limits.
type ToolSpec struct {
	// type is http, external, grpc, webhook-callback, queue, mcp, wasm, cli or a2a. Default: http.
	// +optional
	Type string `json:"type,omitempty"`

	// endpoint is where it is called.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// description is what models read.
	// +optional
	Description string `json:"description,omitempty"`

	// input_schema is a JSON Schema of its input.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	InputSchema *apiextensionsv1.JSON `json:"input_schema,omitempty"`

	// mcp_server_ref names the McpServer; type mcp needs it.
	// +optional
	McpServerRef string `json:"mcp_server_ref,omitempty"`

	// mcp_tool_name is the name that the server knows; type mcp needs it.
	// +optional
	McpToolName string `json:"mcp_tool_name,omitempty"`

	// capabilities are the capabilities of the tool.
	// +optional
	// +listType=atomic
	Capabilities []string `json:"capabilities,omitempty"`

	// operation_classes are read, write, delete or admin. Default: write where the risk is high or critical, else read.
	// +optional
	// +listType=atomic
	OperationClasses []string `json:"operation_classes,omitempty"`

	// risk_level is low, medium, high or critical. Default: low.
	// +optional
	RiskLevel string `json:"risk_level,omitempty"`

	// runtime are the limits of a call.
	// +optional
	Runtime ToolRuntime `json:"runtime,omitzero"`

	// auth is how it is called with credentials.
	// +optional
	Auth Auth `json:"auth,omitzero"`

	// cli is the program of type cli.
	// +optional
	Cli ToolCli `json:"cli,omitzero"`

	// wasm is the module of type wasm.
	// +optional
	Wasm *ToolWasm `json:"wasm,omitempty"`

	// a2a is the remote agent of type a2a.
	// +optional
	A2A ToolA2A `json:"a2a,omitzero"`
}

// ToolRuntime are the limits of a call.
type ToolRuntime struct {
	// timeout is how long it may take. Default: 30s.
	// +optional
	Timeout string `json:"timeout,omitempty"`

	// isolation_mode is none, sandboxed, container, wasm or kubernetes. Default: container for cli, sandboxed where the risk is high or critical, else none.
	// +optional
	IsolationMode string `json:"isolation_mode,omitempty"`

	// retry is how often it is tried.
	// +optional
	Retry ToolRetry `json:"retry,omitzero"`
}

// ToolRetry is how often a call is tried.
type ToolRetry struct {
	// max_attempts counts all of them. Default: 1.
	// +optional
	MaxAttempts int64 `json:"max_attempts,omitempty"`

	// backoff is the first pause. Default: 0s.
	// +optional
	Backoff string `json:"backoff,omitempty"`

	// max_backoff is the longest pause. Default: 30s.
	// +optional
	MaxBackoff string `json:"max_backoff,omitempty"`

	// jitter is none, full or equal. Default: none.
	// +optional
	Jitter string `json:"jitter,omitempty"`
}

// Auth is how something is called with credentials.
type Auth struct {
	// profile is bearer, api_key_header, basic or oauth2_client_credentials. Default: bearer where secretRef is set.
	// +optional
	Profile string `json:"profile,omitempty"`

	// secretRef names a Secret, which orlojd reads at run time; any profile needs it.
	// +optional
	SecretRef string `json:"secretRef,omitempty"`

	// headerName is the header of api_key_header.
	// +optional
	HeaderName string `json:"headerName,omitempty"`

	// tokenURL is where oauth2_client_credentials gets a token.
	// +optional
	TokenURL string `json:"tokenURL,omitempty"`

	// scopes are asked for with it.
	// +optional
	// +listType=atomic
	Scopes []string `json:"scopes,omitempty"`
}

// ToolCli is a program that is run.
type ToolCli struct {
	// command is the program; type cli needs it.
	// +optional
	Command string `json:"command,omitempty"`

	// args are its arguments.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`

	// image is the image that it runs in; needed unless isolation_mode is none.
	// +optional
	Image string `json:"image,omitempty"`

	// image_pull_secret names what the image is pulled with.
	// +optional
	ImagePullSecret string `json:"image_pull_secret,omitempty"`

	// network is the network of the container. Default: bridge.
	// +optional
	Network string `json:"network,omitempty"`

	// stdin_from_input gives it the input on standard input.
	// +optional
	StdinFromInput bool `json:"stdin_from_input,omitempty"`

	// output is stdout, stderr or both. Default: stdout.
	// +optional
	Output string `json:"output,omitempty"`

	// working_dir is where it runs.
	// +optional
	WorkingDir string `json:"working_dir,omitempty"`

	// env is its environment.
	// +optional
	Env map[string]string `json:"env,omitempty"`

	// env_from are variables from Secrets.
	// +optional
	// +listType=atomic
	EnvFrom []ToolCliEnv `json:"env_from,omitempty"`

	// resources are the limits of the container.
	// +optional
	Resources ContainerResources `json:"resources,omitzero"`
}

// ToolCliEnv is a variable from a Secret.
type ToolCliEnv struct {
	// name is the variable.
	// +required
	Name string `json:"name"`

	// secretRef names the Secret.
	// +required
	SecretRef string `json:"secretRef"`

	// key is the key in it.
	// +optional
	Key string `json:"key,omitempty"`
}

// ContainerResources are the limits of a container.
type ContainerResources struct {
	// memory is such as 256m.
	// +optional
	Memory string `json:"memory,omitempty"`

	// cpus is such as 0.5.
	// +optional
	CPUs string `json:"cpus,omitempty"`

	// pids_limit is how many processes there may be.
	// +optional
	PidsLimit int64 `json:"pids_limit,omitempty"`
}

// ToolWasm is a module of WebAssembly.
type ToolWasm struct {
	// module is a path, a URL or an OCI artifact; type wasm needs it.
	// +optional
	Module string `json:"module,omitempty"`

	// entrypoint is the function that is called. Default: run.
	// +optional
	Entrypoint string `json:"entrypoint,omitempty"`

	// max_memory_bytes limits the memory of the tool. Default: 64 MiB.
	// +optional
	MaxMemoryBytes int64 `json:"max_memory_bytes,omitempty"`

	// fuel is how many instructions it may run. Default: 1000000.
	// +optional
	Fuel int64 `json:"fuel,omitempty"`

	// enable_wasi says whether it may use the system interface.
	// +required
	EnableWASI bool `json:"enable_wasi"`

	// image_pull_secret names what the module is pulled with.
	// +optional
	ImagePullSecret string `json:"image_pull_secret,omitempty"`
}

// ToolA2A is a remote agent.
type ToolA2A struct {
	// agent_url is where it is; type a2a needs it.
	// +optional
	AgentURL string `json:"agent_url,omitempty"`

	// protocol_version is the version of the protocol.
	// +optional
	ProtocolVersion string `json:"protocol_version,omitempty"`

	// prefer_streaming asks for a stream.
	// +optional
	PreferStreaming bool `json:"prefer_streaming,omitempty"`
}
