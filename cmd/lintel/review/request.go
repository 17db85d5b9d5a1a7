package review

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/request"
)

// newReview is the review of a request about an object that arrived as a kind, which may be of
// another version than the object. old is the object before an update in the same version; nil if it
// is the object itself. The same request gives the same review.
func newReview(o manifests.Object, q request.Question, arrived schema.GroupVersionKind, old []byte) (*admission.Review, error) {
	if o.Name == "" && (q.Operation != "CREATE" || q.Target.HasOwnKind) {
		return nil, fmt.Errorf("%s: %s has no metadata.name, which %s needs", o.Origin, o.Kind.Kind, q.Operation)
	}
	text, err := o.JSON()
	if err != nil {
		return nil, err
	}
	if old == nil {
		old = text
	}
	subject := request.Subject{
		Object: text, Old: old, Kind: o.Kind, Requested: arrived, Resource: q.Target.Resource, Name: o.Name, Namespace: o.Namespace,
	}
	if !q.Target.HasOwnKind {
		subject.Resource.Version = o.Kind.Version
	}
	review, err := request.New(subject, q.Attributes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Origin, err)
	}
	return review, nil
}
