// Package v1 is OpenClaw Enterprise's API: gateways and the policies that they ask.
//
// Group, kinds, fields, defaults and conditions are those of its product document, so
// that existing manifests apply unchanged. Additions are optional: images of an
// instance, and the instanceSelector of a bundle.
//
// +kubebuilder:object:generate=true
// +groupName=openclaw.enterprise.io
package v1
