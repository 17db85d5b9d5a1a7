// Package v1alpha1 contains the kinds of OpenVox, openvox.voxpupuli.org/v1alpha1. All are
// namespaced, and refer to objects of their namespace by name.
//
// +kubebuilder:object:generate=true
// +groupName=openvox.voxpupuli.org
package v1alpha1
