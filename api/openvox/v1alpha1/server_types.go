package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Server is a Deployment of Puppet servers that share a certificate. They compile catalogs, run
// the CA, or both.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.spec.configRef`
// +kubebuilder:printcolumn:name="CA",type=boolean,JSONPath=`.spec.ca`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.desired`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Server struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec are the desired servers.
	// +required
	Spec ServerSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status ServerStatus `json:"status,omitzero"`
}

// ServerList is a list of Servers.
//
// +kubebuilder:object:root=true
type ServerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Server `json:"items"`
}

// ServerSpec are the desired servers.
type ServerSpec struct {
	// configRef is the name of the Config.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConfigRef string `json:"configRef"`

	// certificateRef is the name of the Certificate of all replicas.
	// +required
	// +kubebuilder:validation:MinLength=1
	CertificateRef string `json:"certificateRef"`

	// poolRefs are the names of the Pools that route agents to the servers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	PoolRefs []string `json:"poolRefs,omitempty"`

	// image overrides fields of the Config's image.
	// +optional
	Image ServerImageSpec `json:"image,omitzero"`

	// ca runs the CA. A CA has one server with one replica.
	// +optional
	// +kubebuilder:default=false
	CA bool `json:"ca,omitempty"`

	// server compiles catalogs.
	// +optional
	// +kubebuilder:default=true
	Server *bool `json:"server,omitempty"`

	// replicas is the number of Pods, unless autoscaling is enabled.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling scales the Pods by their CPU usage.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	// resources are the resources of each Pod. The heap is 90 % of the memory limit, unless
	// javaArgs sets it.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// javaArgs are options of the JVM.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	JavaArgs string `json:"javaArgs,omitempty"`

	// maxActiveInstances is the number of JRuby instances of each Pod, and so the number of
	// catalogs that it compiles at a time.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MaxActiveInstances int32 `json:"maxActiveInstances,omitempty"`

	// code are the sources of Puppet code, in place of those of the Config: a list, each with
	// either image or claimName, and with environment (mounted as one environment) or mountPath
	// (a directory below /etc/puppetlabs/code). A single source without both contains all
	// environments, and may be an object instead of a list.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Code PuppetCode `json:"code,omitzero"`

	// topologySpreadConstraints are the constraints of the Pods. A constraint without
	// labelSelector selects the Pods of this Server.
	// +optional
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// affinity is the affinity of the Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// priorityClassName is the PriorityClass of the Pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// pdb is a PodDisruptionBudget.
	// +optional
	PDB *PDBSpec `json:"pdb,omitempty"`

	// networkPolicy is a NetworkPolicy that permits port 8140 only.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// extraEnv are additional environment variables of the server's container. Their Secrets
	// are read when a Pod starts.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	ExtraEnv []corev1.EnvVar `json:"extraEnv,omitempty"`

	// envFrom are Secrets and ConfigMaps whose keys become environment variables of the
	// server's container.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// extraVolumes are additional volumes of the Pods. In Pods, their names begin with extra-.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	ExtraVolumes []ExtraVolume `json:"extraVolumes,omitempty"`

	// extraVolumeMounts mount the volumes of extraVolumes in the server's container. A path
	// that Lintel mounts is rejected.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=64
	ExtraVolumeMounts []corev1.VolumeMount `json:"extraVolumeMounts,omitempty"`

	// securityContext overrides settings of the Pods' security context.
	// +optional
	SecurityContext *PodSecurityContextSpec `json:"securityContext,omitempty"`
}

// ServerImageSpec overrides fields of the Config's image.
type ServerImageSpec struct {
	// repository is the image without its tag.
	// +optional
	Repository string `json:"repository,omitempty"`

	// tag is the tag of the image.
	// +optional
	Tag string `json:"tag,omitempty"`

	// pullPolicy is the pull policy of the image.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// pullSecrets are the Secrets for pulling the image.
	// +optional
	// +listType=atomic
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// AutoscalingSpec is a HorizontalPodAutoscaler.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas"
type AutoscalingSpec struct {
	// enabled creates the object. Lintel deletes the object when enabled is false.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// minReplicas is the minimum number of Pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the maximum number of Pods.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	MaxReplicas int32 `json:"maxReplicas,omitempty"`

	// targetCPU is the target CPU usage, in percent of the CPU request.
	// +optional
	// +kubebuilder:default=75
	// +kubebuilder:validation:Minimum=1
	TargetCPU int32 `json:"targetCPU,omitempty"`
}

// PDBSpec is a PodDisruptionBudget.
type PDBSpec struct {
	// enabled creates the object. Lintel deletes the object when enabled is false.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// minAvailable is the number or percentage of Pods that must stay available. The default is
	// 1, unless maxUnavailable is set. It takes precedence over maxUnavailable.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// maxUnavailable is the number or percentage of Pods that may be unavailable.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// NetworkPolicySpec is a NetworkPolicy.
type NetworkPolicySpec struct {
	// enabled creates the object. Lintel deletes the object when enabled is false.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// additionalIngress are additional ingress rules.
	// +optional
	// +listType=atomic
	AdditionalIngress []networkingv1.NetworkPolicyIngressRule `json:"additionalIngress,omitempty"`
}

// ServerPhase summarizes the conditions of a Server or Database.
//
// +kubebuilder:validation:Enum=Pending;WaitingForCert;Running;Error
type ServerPhase string

const (
	// ServerPending waits for another object, or for its Pods.
	ServerPending ServerPhase = "Pending"
	// ServerWaitingForCert waits for its certificate.
	ServerWaitingForCert ServerPhase = "WaitingForCert"
	// ServerRunning has ready Pods.
	ServerRunning ServerPhase = "Running"
	// ServerError has failed, and retries.
	ServerError ServerPhase = "Error"
)

// ConditionSSLBootstrapped reports whether a Server has a certificate.
const ConditionSSLBootstrapped = "SSLBootstrapped"

// ServerStatus is the observed state of a Server.
type ServerStatus struct {
	// phase summarizes the conditions.
	// +optional
	Phase ServerPhase `json:"phase,omitempty"`

	// ready is the number of ready Pods.
	// +optional
	Ready int32 `json:"ready"`

	// desired is the desired number of Pods, by spec.replicas or by the autoscaler.
	// +optional
	Desired int32 `json:"desired"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain SSLBootstrapped and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
