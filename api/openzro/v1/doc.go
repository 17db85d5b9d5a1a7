// Package v1 is openZro's API: access to a private network, as the management server
// keeps it.
//
// Group, kinds and fields are those of its product document, so that existing manifests
// apply unchanged. A namespace is a tenant: what an object names is sought in its own
// namespace, and at the server that its namespace has a key for. The schema says what is
// a string and what is a list, and what never changes; which values are good is said by
// the rules of admission.
//
// +kubebuilder:object:generate=true
// +groupName=openzro.io
package v1
