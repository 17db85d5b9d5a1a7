package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AllowedExternalIPsAnnotation of a Namespace lists the addresses and CIDRs, with commas
// between, whose traffic its Pools may take with spec.service.externalIPs.
const AllowedExternalIPsAnnotation = GroupName + "/allowed-external-ips"

// Pool is how the Servers that name it are reached: a Service, and a TLSRoute where asked.
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

	// spec is how they are reached.
	// +optional
	// +kubebuilder:default={}
	Spec PoolSpec `json:"spec,omitzero"`

	// status is whether they are.
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

// PoolSpec is how servers are reached.
type PoolSpec struct {
	// service is the Service.
	// +optional
	// +kubebuilder:default={}
	Service PoolServiceSpec `json:"service,omitzero"`

	// route leads to the Service by the name that clients ask for.
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

	// port is its port.
	// +optional
	// +kubebuilder:default=8140
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// nodePort is the port of nodes: one that the cluster chooses where it is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	NodePort int32 `json:"nodePort,omitempty"`

	// annotations are added to it.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// labels are added to it.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// externalIPs are further addresses.
	// +optional
	// +listType=atomic
	ExternalIPs []string `json:"externalIPs,omitempty"`
}

// PoolRouteSpec is a TLSRoute of the Gateway API.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.hostname) && has(self.gatewayRef))",message="hostname and gatewayRef are required where enabled is true"
type PoolRouteSpec struct {
	// enabled makes one.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// hostname is what clients ask for.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Hostname string `json:"hostname,omitempty"`

	// gatewayRef is the Gateway.
	// +optional
	GatewayRef *GatewayRef `json:"gatewayRef,omitempty"`

	// injectDNSAltName has the certificates of the Pool's servers be for the hostname, too.
	// +optional
	// +kubebuilder:default=false
	InjectDNSAltName bool `json:"injectDNSAltName,omitempty"`
}

// GatewayRef is a Gateway of the Gateway API.
type GatewayRef struct {
	// name is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// namespace is where it is: where the Pool is, unless given.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// sectionName is one of its listeners: all that fit, unless given.
	// +optional
	SectionName string `json:"sectionName,omitempty"`
}

// PoolStatus is whether servers are reached.
type PoolStatus struct {
	// serviceName is the Service.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// endpoints is how many servers are ready behind it.
	// +optional
	Endpoints int32 `json:"endpoints"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
