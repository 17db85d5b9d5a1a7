package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OZHTTPRoute is a domain that a reverse proxy of openZro serves from resources of networks.
//
// The management server has no reverse proxy yet: the object reports NotSupportedByServer, and
// becomes Reconciled when the server supports it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Domain",type=string,JSONPath=`.spec.domain`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type OZHTTPRoute struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the route that is wanted.
	// +required
	Spec OZHTTPRouteSpec `json:"spec"`

	// status is how the server has it.
	// +optional
	Status OZHTTPRouteStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZHTTPRoute) CommonStatus() *Status { return &o.Status.Status }

// OZHTTPRouteList is a list of OZHTTPRoutes.
//
// +kubebuilder:object:root=true
type OZHTTPRouteList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZHTTPRoute `json:"items"`
}

// OZHTTPRouteSpec is the route that is wanted.
type OZHTTPRouteSpec struct {
	// domain is the domain to serve, such as app.example.com.
	// +required
	// +kubebuilder:validation:MinLength=1
	Domain string `json:"domain"`

	// passHostHeader passes the requested host name on to the targets.
	// +optional
	// +kubebuilder:default=false
	PassHostHeader *bool `json:"passHostHeader,omitempty"`

	// rewriteRedirects replaces the targets' own names by the domain in redirects.
	// +optional
	// +kubebuilder:default=false
	RewriteRedirects *bool `json:"rewriteRedirects,omitempty"`

	// targets are the resources that answer requests.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	Targets []HTTPTarget `json:"targets"`
}

// HTTPTarget is what answers for a path.
type HTTPTarget struct {
	// networkResourceRef names the OZNetworkResource of this namespace that answers requests.
	// +required
	NetworkResourceRef LocalReference `json:"networkResourceRef"`

	// path is the prefix of the paths that the target answers.
	// +optional
	// +kubebuilder:default="/"
	Path string `json:"path,omitempty"`
}

// OZHTTPRouteStatus is how the server has a route.
type OZHTTPRouteStatus struct {
	Status `json:",inline"`

	// serviceID is the ID of the service at the server.
	// +optional
	ServiceID string `json:"serviceID,omitempty"`
}
