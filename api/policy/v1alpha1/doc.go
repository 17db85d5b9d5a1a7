// Package v1alpha1 is Lintel's own API: where policies come from, which scopes they bind, and
// how they are served.
//
// The API server validates objects with the schema of the generated CRD, so a stored object
// always has the shapes and bounds defined here. The manager validates the policies
// themselves and reports errors in status.
//
// +kubebuilder:object:generate=true
// +groupName=policy.lintel.dev
package v1alpha1
