package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of openZro's kinds.
const GroupName = "openzro.io"

// SchemeGroupVersion is the group and version of every kind in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&OZGroup{}, &OZGroupList{}, &OZPolicy{}, &OZPolicyList{}, &OZResource{}, &OZResourceList{},
		&OZRoutingPeer{}, &OZRoutingPeerList{}, &OZSetupKey{}, &OZSetupKeyList{},
		&OZNetworkResource{}, &OZNetworkResourceList{}, &OZHTTPRoute{}, &OZHTTPRouteList{},
		&OZSidecarProfile{}, &OZSidecarProfileList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
