package review

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
)

// operations are those that an object in a file can be checked for, the default first.
var operations = []string{"CREATE", "UPDATE", "DELETE"}

// optionsKinds are the kinds of a request's options, by its operation.
var optionsKinds = map[string]string{"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}

// newReview is the review of an operation on an object that arrived as a kind, which may be
// of another version than the object. The same object gives the same review.
func newReview(o manifests.Object, resource admission.Resource, arrived schema.GroupVersionKind, operation string) (*admission.Review, error) {
	if o.Name == "" && operation != "CREATE" {
		return nil, fmt.Errorf("%s: %s has no metadata.name, which %s needs", o.Origin, o.Kind.Kind, operation)
	}
	text, err := o.JSON()
	if err != nil {
		return nil, err
	}
	asked := metav1.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name}
	requested := asked
	requested.Version = arrived.Version
	r := admissionv1.AdmissionRequest{
		UID:             types.UID(uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(operation+" "), text...)).String()),
		Kind:            metav1.GroupVersionKind(o.Kind),
		Resource:        asked,
		RequestKind:     ptr.To(metav1.GroupVersionKind(arrived)),
		RequestResource: &requested,
		Name:            o.Name,
		Namespace:       o.Namespace,
		Operation:       admissionv1.Operation(operation),
		DryRun:          ptr.To(false),
		Options:         runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"meta.k8s.io/v1","kind":%q}`, optionsKinds[operation])},
	}
	if o.IsNamespace() {
		r.Namespace = o.Name // the API server's own oddity
	}
	if operation != "DELETE" {
		r.Object.Raw = text
	}
	if operation != "CREATE" {
		r.OldObject.Raw = text
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%s: writing the request: %w", o.Origin, err)
	}
	review, err := admission.NewReview(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Origin, err)
	}
	return review, nil
}
