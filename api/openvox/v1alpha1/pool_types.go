package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AllowedExternalIPsAnnotation of a Namespace lists the addresses and CIDRs, separated by
// commas, that its Pools may use in spec.service.externalIPs.
const AllowedExternalIPsAnnotation = GroupName + "/allowed-external-ips"

// Pool routes agents to the Servers that name it: a Service, and optionally a TLSRoute.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.service.type`
// +kubebuilder:printcolumn:name="Endpoints",type=integer,JSONPath=`.status.endpoints`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 58",message="a Pool's name has at most 58 characters, for it is part of a label"
type Pool struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired routing.
	// +optional
	// +kubebuilder:default={}
	Spec PoolSpec `json:"spec,omitzero"`

	// status is the observed state.
	// +optional
	Status PoolStatus `json:"status,omitzero"`
}

// PoolList is a list of Pools.
//
// +kubebuilder:object:root=true
type PoolList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Pool `json:"items"`
}

// PoolSpec is the desired routing.
type PoolSpec struct {
	// service is the Service.
	// +optional
	// +kubebuilder:default={}
	Service PoolServiceSpec `json:"service,omitzero"`

	// route is a TLSRoute to the Service, by host name.
	// +optional
	Route *PoolRouteSpec `json:"route,omitempty"`
}

// PoolServiceSpec is a Service.
type PoolServiceSpec struct {
	// type is ClusterIP, NodePort or LoadBalancer.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// port is the port of the Service.
	// +optional
	// +kubebuilder:default=8140
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// nodePort is the port on the nodes. With 0, the cluster chooses one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	NodePort int32 `json:"nodePort,omitempty"`

	// annotations are added to the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// labels are added to the Service.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// externalIPs are additional addresses of the Service, which the Namespace must permit.
	// +optional
	// +listType=atomic
	ExternalIPs []string `json:"externalIPs,omitempty"`
}

// PoolRouteSpec is a TLSRoute of the Gateway API.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.hostname) && has(self.gatewayRef))",message="hostname and gatewayRef are required where enabled is true"
type PoolRouteSpec struct {
	// enabled creates the object. Lintel deletes the object when enabled is false.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// hostname is the host name that clients use.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Hostname string `json:"hostname,omitempty"`

	// gatewayRef refers to the Gateway.
	// +optional
	GatewayRef *GatewayRef `json:"gatewayRef,omitempty"`

	// injectDNSAltName adds the hostname to the certificates of the Pool's Servers.
	// +optional
	// +kubebuilder:default=false
	InjectDNSAltName bool `json:"injectDNSAltName,omitempty"`
}

// GatewayRef is a Gateway of the Gateway API.
type GatewayRef struct {
	// name is the name of the Gateway.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// namespace is the namespace of the Gateway. The default is the namespace of the Pool.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// sectionName is a listener of the Gateway. The default is all matching listeners.
	// +optional
	SectionName string `json:"sectionName,omitempty"`
}

// PoolStatus is the observed state of a Pool.
type PoolStatus struct {
	// serviceName is the name of the Service.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// endpoints is the number of ready servers behind the Service.
	// +optional
	Endpoints int32 `json:"endpoints"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
