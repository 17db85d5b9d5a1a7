// Package v1alpha1 is zopp's API: the annotations by which Secrets and workloads ask to be
// kept in step with zopp, and ZoppSecretSync for who would rather write a custom resource.
//
// Group, kind, short name, fields and annotations are those of its product document, so
// that existing manifests apply unchanged. The schema says what is a string and what is a
// list; which values are good is said by the rules of admission.
//
// +kubebuilder:object:generate=true
// +groupName=zopp.dev
package v1alpha1
