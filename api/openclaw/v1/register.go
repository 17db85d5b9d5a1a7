package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of OpenClaw's kinds.
const GroupName = "openclaw.enterprise.io"

// SchemeGroupVersion is the group and version of every kind in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&OpenClawInstance{}, &OpenClawInstanceList{}, &PolicyBundle{}, &PolicyBundleList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
