// Package v1 is openZro's API: access to a private network, as the management server
// keeps it.
//
// Group, kinds and fields are those of its product document, so that existing manifests apply
// unchanged. A namespace is a tenant: the references of an object are resolved in its own
// namespace, and at the server that its namespace has a key for. The schema defines types and
// immutable fields; the rules of admission define the valid values.
//
// +kubebuilder:object:generate=true
// +groupName=openzro.io
package v1
