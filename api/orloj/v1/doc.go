// Package v1 is Orloj's API: the eight kinds that are synced to the store of orlojd.
//
// Group, kinds, short names and fields are those of its product document, so that
// existing manifests apply unchanged. The schema defines the types of fields; the admission
// rules, which lintel check evaluates, too, define the valid values.
//
// +kubebuilder:object:generate=true
// +groupName=orloj.dev
package v1
