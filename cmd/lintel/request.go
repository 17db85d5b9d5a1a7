package main

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

// operations are those that an object in a file can be checked for.
var operations = []string{"CREATE", "UPDATE", "DELETE"}

// request is an AdmissionRequest as the API server writes it.
type request struct {
	UID             string                      `json:"uid"`
	Kind            metav1.GroupVersionKind     `json:"kind"`
	Resource        metav1.GroupVersionResource `json:"resource"`
	RequestKind     metav1.GroupVersionKind     `json:"requestKind"`
	RequestResource metav1.GroupVersionResource `json:"requestResource"`
	Name            string                      `json:"name,omitempty"`
	Namespace       string                      `json:"namespace,omitempty"`
	Operation       string                      `json:"operation"`
	UserInfo        struct{}                    `json:"userInfo"`
	Object          json.RawMessage             `json:"object"`
	OldObject       json.RawMessage             `json:"oldObject"`
	DryRun          bool                        `json:"dryRun"`
	Options         metav1.TypeMeta             `json:"options"`
}

// place puts the object where the API server would: a namespaced one into a
// namespace, any other into none. A Namespace gets the label that each one has.
func (o *object) place(resource admission.Resource, defaultNamespace string) {
	switch {
	case !resource.Namespaced:
		o.namespace = ""
		delete(o.metadata(), "namespace")
	case o.namespace == "":
		o.namespace = defaultNamespace
		o.metadata()["namespace"] = defaultNamespace
	}
	if o.isNamespace() && o.name != "" {
		o.addNameLabel()
	}
}

func (o object) isNamespace() bool { return o.kind.Group == "" && o.kind.Kind == "Namespace" }

// addNameLabel sets the label by which selectors choose a Namespace by name.
func (o object) addNameLabel() {
	labels, ok := o.metadata()["labels"].(map[string]any)
	if !ok {
		if o.metadata()["labels"] != nil {
			return // not for us to mend
		}
		labels = map[string]any{}
		o.metadata()["labels"] = labels
	}
	labels["kubernetes.io/metadata.name"] = o.name
}

// newReview is the review of an operation on an object that place has placed. The
// same object gives the same review.
func newReview(o object, resource admission.Resource, operation string) (*admission.Review, error) {
	return newConvertedReview(o, resource, o.kind, operation)
}

// newConvertedReview is newReview of an object that arrived as another version of its
// kind.
func newConvertedReview(o object, resource admission.Resource, arrived schema.GroupVersionKind, operation string) (*admission.Review, error) {
	if o.name == "" && operation != "CREATE" {
		return nil, fmt.Errorf("%s: %s has no metadata.name, which %s needs", o.origin, o.kind.Kind, operation)
	}
	text, err := o.json()
	if err != nil {
		return nil, err
	}
	r := request{
		UID:       uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(operation+" "), text...)).String(),
		Kind:      metav1.GroupVersionKind(o.kind),
		Resource:  metav1.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name},
		Name:      o.name,
		Namespace: o.namespace,
		Operation: operation,
		Options:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1"},
	}
	r.RequestKind, r.RequestResource = metav1.GroupVersionKind(arrived), r.Resource
	r.RequestResource.Version = arrived.Version
	if o.isNamespace() {
		r.Namespace = o.name // the API server's own oddity
	}
	switch operation {
	case "CREATE":
		r.Object, r.Options.Kind = text, "CreateOptions"
	case "UPDATE":
		r.Object, r.OldObject, r.Options.Kind = text, text, "UpdateOptions"
	default: // DELETE
		r.OldObject, r.Options.Kind = text, "DeleteOptions"
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%s: writing the request: %w", o.origin, err)
	}
	review, err := admission.NewReview(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.origin, err)
	}
	return review, nil
}
