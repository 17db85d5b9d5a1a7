// Package v1 is Orloj's API: the eight kinds that are written into the store of orlojd.
//
// Group, kinds, short names and fields are those of its product document, so that
// existing manifests apply unchanged. The schema says what is a string and what is a
// list; which values are good is said by the rules of admission, which lintel check
// asks, too.
//
// +kubebuilder:object:generate=true
// +groupName=orloj.dev
package v1
