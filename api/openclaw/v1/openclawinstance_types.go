package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OpenClawInstance is one tenant: a Deployment of gateways, each with an OPA sidecar, and a
// Service in front of them.
//
// The name is part of the Service's, which is a DNS label.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=oci
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.deploymentMode`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 55 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 55 characters that starts with a letter: the Service is named after it"
type OpenClawInstance struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the gateway that is wanted.
	// +required
	Spec OpenClawInstanceSpec `json:"spec"`

	// status is how far it has come.
	// +optional
	Status OpenClawInstanceStatus `json:"status,omitzero"`
}

// OpenClawInstanceList is a list of OpenClawInstances.
//
// +kubebuilder:object:root=true
type OpenClawInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OpenClawInstance `json:"items"`
}

// DeploymentMode is how many gateways there are, and how they are spread.
//
// +kubebuilder:validation:Enum=single;ha
type DeploymentMode string

const (
	// DeploymentModeSingle is one gateway.
	DeploymentModeSingle DeploymentMode = "single"
	// DeploymentModeHA is spec.replicas gateways, spread over nodes and zones, of
	// which one at a time may be evicted.
	DeploymentModeHA DeploymentMode = "ha"
)

// OpenClawInstanceSpec is the gateway that is wanted.
type OpenClawInstanceSpec struct {
	// deploymentMode is single or ha.
	// +required
	// +kubebuilder:default=single
	DeploymentMode DeploymentMode `json:"deploymentMode"`

	// replicas is the number of gateways. It is ignored when deploymentMode is
	// single.
	// +required
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas"`

	// auth is how users sign in.
	// +required
	Auth Auth `json:"auth"`

	// storage is where the gateway keeps its data.
	// +required
	Storage Storage `json:"storage"`

	// integrations are the connectors.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={}
	Integrations []Integration `json:"integrations,omitempty"`

	// images replace those that are built in. Only registries that the manager's
	// configuration allows may be named.
	// +optional
	Images *Images `json:"images,omitempty"`
}

// Auth is the configuration of single sign-on by OIDC.
type Auth struct {
	// provider is the name of the provider, such as okta, azure-ad or keycloak.
	// +required
	// +kubebuilder:validation:MinLength=1
	Provider string `json:"provider"`

	// clientId is the OIDC client identifier.
	// +required
	// +kubebuilder:validation:MinLength=1
	ClientID string `json:"clientId"`

	// clientSecretRef is where the OIDC client secret is.
	// +required
	ClientSecretRef ClientSecretReference `json:"clientSecretRef"`
}

// ClientSecretReference is a key of a Secret in the namespace of the instance.
type ClientSecretReference struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// key is the key in its data.
	// +optional
	// +kubebuilder:default=client-secret
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key,omitempty"`
}

// Storage is where the gateway keeps its data.
type Storage struct {
	// postgresSecretRef is where the PostgreSQL connection string is.
	// +required
	PostgresSecretRef ConnectionSecretReference `json:"postgresSecretRef"`

	// redisSecretRef is where the Redis connection string is.
	// +required
	RedisSecretRef ConnectionSecretReference `json:"redisSecretRef"`
}

// ConnectionSecretReference is a key of a Secret in the namespace of the instance.
type ConnectionSecretReference struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// key is the key in its data.
	// +optional
	// +kubebuilder:default=connection-string
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key,omitempty"`
}

// Integration is one connector.
type Integration struct {
	// type is gmail, gcal, jira, github or gdrive.
	// +required
	// +kubebuilder:validation:MinLength=1
	Type string `json:"type"`

	// enabled says whether the connector is active.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`

	// config are the connector's own settings.
	// +optional
	// +kubebuilder:default={}
	Config map[string]string `json:"config,omitempty"`
}

// Images are the images of a gateway's Pod.
type Images struct {
	// gateway is the image of the gateway.
	// +optional
	Gateway string `json:"gateway,omitempty"`

	// opa is the image of the OPA sidecar.
	// +optional
	OPA string `json:"opa,omitempty"`
}

// Phase is how far an instance has come.
//
// +kubebuilder:validation:Enum=Pending;Progressing;Running
type Phase string

const (
	// PhasePending is before there is a Deployment.
	PhasePending Phase = "Pending"
	// PhaseProgressing is while gateways are started or replaced.
	PhaseProgressing Phase = "Progressing"
	// PhaseRunning is when every gateway is of the latest Deployment and ready, and was
	// started with all policies that bind it.
	PhaseRunning Phase = "Running"
)

// The types of an OpenClawInstance's conditions.
const (
	// ConditionReady is True when every gateway runs as the spec says.
	ConditionReady = "Ready"
	// ConditionProgressing is True while gateways are started or replaced.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True when the spec cannot be applied; its reason is the cause.
	ConditionDegraded = "Degraded"
	// ConditionAdmitted is False when a policy denies the object as it is stored.
	ConditionAdmitted = "Admitted"
)

// OpenClawInstanceStatus is how far an instance has come.
type OpenClawInstanceStatus struct {
	// readyReplicas is the number of gateways that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// phase sums up the Deployment: Pending, Progressing or Running.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, Progressing and Degraded; Admitted where policies review the object.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
