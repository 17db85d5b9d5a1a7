// Package v1alpha1 is zopp's API: annotations that keep Secrets and workloads in sync with
// zopp, and ZoppSecretSync for users who prefer a custom resource.
//
// Group, kind, short name, fields and annotations are those of its product document, so that
// existing manifests apply unchanged. The schema defines the types; the rules of admission
// define the valid values.
//
// +kubebuilder:object:generate=true
// +groupName=zopp.dev
package v1alpha1
