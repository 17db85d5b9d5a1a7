// Package v1alpha1 is Lintel's own API: where policy comes from, whom it binds
// and how it is being served.
//
// The types only describe. Whatever the schema can refuse is refused by the
// API server from the generated CRD, so a stored object always has the shapes
// and bounds written here; what needs the policy's text is the manager's to
// judge, and is reported in status.
//
// +kubebuilder:object:generate=true
// +groupName=policy.lintel.dev
package v1alpha1
