package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// OZRoutingPeer is a Deployment of clients that route into the cluster. They are enrolled at the
// server as routers of a network.
//
// The name has at most 63 characters, because the Pods carry it as a label value.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Network",type=string,JSONPath=`.status.networkID`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
type OZRoutingPeer struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the Deployment that is wanted.
	// +optional
	// +kubebuilder:default={}
	Spec OZRoutingPeerSpec `json:"spec,omitzero"`

	// status is how far it has come.
	// +optional
	Status OZRoutingPeerStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZRoutingPeer) CommonStatus() *Status { return &o.Status.Status }

// OZRoutingPeerList is a list of OZRoutingPeers.
//
// +kubebuilder:object:root=true
type OZRoutingPeerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZRoutingPeer `json:"items"`
}

// OZRoutingPeerSpec is the Deployment that is wanted.
type OZRoutingPeerSpec struct {
	// replicas is the number of clients.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// resources are the resource requirements of the client's container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// labels are added to the Deployment and its Pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the Deployment and its Pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// nodeSelector selects the nodes on which the Pods may run.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are added to the Pods.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// volumes are added to the Pods.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// volumeMounts are added to the client's container.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// podTemplate is merged into the template of the Pods, as a strategic merge patch of a
	// PodTemplateSpec. Without a grant of the administrator, it may set labels, annotations, the
	// scheduling of Pods, and resources and plain variables of the container openzro.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	PodTemplate *runtime.RawExtension `json:"podTemplate,omitempty"`

	// privileged runs the client's container in privileged mode. Without it, the container has the
	// capability NET_ADMIN only.
	// +optional
	Privileged *bool `json:"privileged,omitempty"`

	// ephemeral makes the server delete peers that are offline for some time.
	// +optional
	// +kubebuilder:default=false
	Ephemeral *bool `json:"ephemeral,omitempty"`

	// dnsZoneRef names a DNS zone of the server in which Lintel creates records for the
	// OZNetworkResources of the network. Default: none.
	// +optional
	DNSZoneRef *DNSZoneReference `json:"dnsZoneRef,omitempty"`

	// allowedNamespaces lists other namespaces, or globs of them, whose OZNetworkResources may be
	// in the network. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`

	// exemptFromAdmission lets the peers join without approval, if the account requires approval.
	// +optional
	// +kubebuilder:default=true
	ExemptFromAdmission *bool `json:"exemptFromAdmission,omitempty"`
}

// DNSZoneReference names a DNS zone of the server.
type DNSZoneReference struct {
	// name is the domain of the zone, such as prod.example.com.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// OZRoutingPeerStatus is how far an OZRoutingPeer has come.
type OZRoutingPeerStatus struct {
	// adopted is about the network.
	Status `json:",inline"`

	// networkID is the ID of the network at the server.
	// +optional
	NetworkID string `json:"networkID,omitempty"`

	// groupID is the ID of the group of the peers at the server.
	// +optional
	GroupID string `json:"groupID,omitempty"`

	// setupKeyID is the ID of the key, at the server, that the peers enrol with.
	// +optional
	SetupKeyID string `json:"setupKeyID,omitempty"`

	// routerID is the ID of the router at the server.
	// +optional
	RouterID string `json:"routerID,omitempty"`

	// readyReplicas is the number of clients that are connected.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
}
