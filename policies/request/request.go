// Package request builds the reviews that an API server sends for an operation, without one: from
// the object, the object before the change, the user, the subresource and the options.
//
// Invariant: the same input gives the same review, with the same uid.
package request

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Attributes describe a request apart from its objects.
type Attributes struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT.
	Operation string
	// Collection reports that the request deletes a collection, and names no object.
	Collection bool
	// Subresource is the name of the subresource, such as scale; empty for the resource itself.
	Subresource string
	User        authenticationv1.UserInfo
	DryRun      bool
	// Options are those of the operation in JSON, as Options returns them.
	Options json.RawMessage
}

// Subject is the object of a request.
type Subject struct {
	// Object and Old are the states after and before the request in JSON. The object that a
	// DELETE is about is Old.
	Object, Old json.RawMessage
	// Kind is the kind of the objects.
	Kind schema.GroupVersionKind
	// Requested is the kind in the version of the request, which may be another one if the API
	// server converts the object.
	Requested schema.GroupVersionKind
	// Resource is the resource in the version in which policies see it: for a subresource with a
	// kind of its own, such as Scale, it is the resource of the parent.
	Resource        admission.ServedResource
	Name, Namespace string
}

// New returns the review of a request.
func New(s Subject, attributes Attributes) (*admission.Review, error) {
	resource := metav1.GroupVersionResource{Group: s.Resource.Group, Version: s.Resource.Version, Resource: s.Resource.Name}
	requested := resource
	if s.Kind.Group == s.Resource.Group && s.Kind.Kind == s.Resource.Kind {
		requested.Version = s.Requested.Version
	}
	r := admissionv1.AdmissionRequest{
		Kind:               metav1.GroupVersionKind(s.Kind),
		Resource:           resource,
		SubResource:        attributes.Subresource,
		RequestKind:        ptr.To(metav1.GroupVersionKind(s.Requested)),
		RequestResource:    &requested,
		RequestSubResource: attributes.Subresource,
		Name:               s.Name,
		Namespace:          s.Namespace,
		Operation:          admissionv1.Operation(attributes.Operation),
		UserInfo:           attributes.User,
		DryRun:             ptr.To(attributes.DryRun),
		Options:            runtime.RawExtension{Raw: attributes.Options},
	}
	if s.Resource.Group == "" && s.Resource.Name == "namespaces" {
		r.Namespace = s.Name // as the API server sends it
	}
	if attributes.Collection {
		r.Name = ""
	}
	if attributes.Operation != "DELETE" {
		r.Object.Raw = s.Object
	}
	if attributes.Operation == "UPDATE" || attributes.Operation == "DELETE" {
		r.OldObject.Raw = s.Old
	}
	unnamed, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	r.UID = uidOf(unnamed)
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return admission.NewReview(body)
}

// uidOf is the uid of a request without one.
func uidOf(request []byte) types.UID {
	return types.UID(uuid.NewSHA1(uuid.NameSpaceURL, request).String())
}
