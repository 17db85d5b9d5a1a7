package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Server is a Deployment of Puppet servers that share a certificate: for catalogs, as the
// CA, or both.
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

	// spec are the servers that are wanted.
	// +required
	Spec ServerSpec `json:"spec"`

	// status is how far they have come.
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

// ServerSpec are the servers that are wanted.
type ServerSpec struct {
	// configRef is the Config.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConfigRef string `json:"configRef"`

	// certificateRef is the Certificate that all replicas have.
	// +required
	// +kubebuilder:validation:MinLength=1
	CertificateRef string `json:"certificateRef"`

	// poolRefs are the Pools by which the servers are reached.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	PoolRefs []string `json:"poolRefs,omitempty"`

	// image is what they have otherwise than the Config says.
	// +optional
	Image ServerImageSpec `json:"image,omitzero"`

	// ca has them be the CA, of which there is one server.
	// +optional
	// +kubebuilder:default=false
	CA bool `json:"ca,omitempty"`

	// server has them compile catalogs.
	// +optional
	// +kubebuilder:default=true
	Server *bool `json:"server,omitempty"`

	// replicas is how many run, unless autoscaling is on.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling has as many run as their load asks for.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	// resources are those of each. The heap is 90 % of the memory limit, unless javaArgs
	// has one.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// javaArgs are options of the JVM.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	JavaArgs string `json:"javaArgs,omitempty"`

	// maxActiveInstances is how many interpreters each has: how many requests for catalogs
	// it answers at a time.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MaxActiveInstances int32 `json:"maxActiveInstances,omitempty"`

	// code is where Puppet code comes from in place of those of the Config: a list of sources, each with
	// either image or claimName, and with environment (mounted as one environment) or mountPath
	// (a folder below /etc/puppetlabs/code). A single source without both holds all
	// environments, and may be an object instead of a list.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Code CodeSources `json:"code,omitzero"`

	// topologySpreadConstraints are those of Pods. Without a labelSelector, one is about the
	// Pods of this Server.
	// +optional
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// affinity is that of Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// priorityClassName is that of Pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// pdb keeps drains from stopping too many at a time.
	// +optional
	PDB *PDBSpec `json:"pdb,omitempty"`

	// networkPolicy lets in who comes to port 8140, and nobody else.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// extraEnv are further environment variables of the server's container. Their Secrets are
	// read when a Pod starts.
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

	// extraVolumes are further volumes of Pods. In Pods, their names begin with extra-.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	ExtraVolumes []ExtraVolume `json:"extraVolumes,omitempty"`

	// extraVolumeMounts is where the server's container has the volumes of extraVolumes. A path
	// that Lintel mounts is refused.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=64
	ExtraVolumeMounts []corev1.VolumeMount `json:"extraVolumeMounts,omitempty"`

	// securityContext overrides settings of the Pods' security context.
	// +optional
	SecurityContext *PodSecurityContextSpec `json:"securityContext,omitempty"`
}

// ServerImageSpec is what the image of a Server has otherwise than its Config says.
type ServerImageSpec struct {
	// repository is the image without its tag.
	// +optional
	Repository string `json:"repository,omitempty"`

	// tag is its tag.
	// +optional
	Tag string `json:"tag,omitempty"`

	// pullPolicy is when it is pulled.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// pullSecrets are the Secrets by which it is pulled.
	// +optional
	// +listType=atomic
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// AutoscalingSpec is a HorizontalPodAutoscaler.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas"
type AutoscalingSpec struct {
	// enabled makes one.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// minReplicas is how many run at least.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// maxReplicas is how many run at most.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	MaxReplicas int32 `json:"maxReplicas,omitempty"`

	// targetCPU is how much of the CPU that they request they are to use, in percent.
	// +optional
	// +kubebuilder:default=75
	// +kubebuilder:validation:Minimum=1
	TargetCPU int32 `json:"targetCPU,omitempty"`
}

// PDBSpec is a PodDisruptionBudget.
type PDBSpec struct {
	// enabled makes one.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// minAvailable is how many stay: 1 unless maxUnavailable is given. Where both are, this
	// one counts.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// maxUnavailable is how many may go.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// NetworkPolicySpec is a NetworkPolicy.
type NetworkPolicySpec struct {
	// enabled makes one.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// additionalIngress lets others in besides.
	// +optional
	// +listType=atomic
	AdditionalIngress []networkingv1.NetworkPolicyIngressRule `json:"additionalIngress,omitempty"`
}

// ServerPhase is how far servers have come.
//
// +kubebuilder:validation:Enum=Pending;WaitingForCert;Running;Error
type ServerPhase string

const (
	// ServerPending waits for what it refers to, or for its Pods.
	ServerPending ServerPhase = "Pending"
	// ServerWaitingForCert waits for its certificate.
	ServerWaitingForCert ServerPhase = "WaitingForCert"
	// ServerRunning has servers that are ready.
	ServerRunning ServerPhase = "Running"
	// ServerError has failed, and tries again.
	ServerError ServerPhase = "Error"
)

// ConditionSSLBootstrapped is whether a Server has a certificate.
const ConditionSSLBootstrapped = "SSLBootstrapped"

// ServerStatus is how far servers have come.
type ServerStatus struct {
	// phase is how far they have come.
	// +optional
	Phase ServerPhase `json:"phase,omitempty"`

	// ready is how many are ready.
	// +optional
	Ready int32 `json:"ready"`

	// desired is how many are wanted now, by spec.replicas or by their load.
	// +optional
	Desired int32 `json:"desired"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has SSLBootstrapped and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
