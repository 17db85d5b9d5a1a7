// Package reviews makes reviews for tests.
//
// Invariant: a review has been written as JSON and read by the engine, like a review of the API
// server.
package reviews

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Builder has the request so far.
type Builder map[string]any

// MakeCreation is the creation of an object of a kind.
func MakeCreation(kind schema.GroupVersionKind, resource string, object any) Builder {
	return Builder{
		"uid": "1", "operation": "CREATE", "kind": metav1.GroupVersionKind(kind), "object": object,
		"resource": metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resource},
	}
}

// Named sets the namespace, "" for none, and the name of the object.
func (b Builder) Named(namespace, name string) Builder {
	b["namespace"], b["name"] = namespace, name
	return b
}

// By sets the user of the request.
func (b Builder) By(user string) Builder {
	b["userInfo"] = map[string]string{"username": user}
	return b
}

// Obj is the review.
func (b Builder) Obj(t testing.TB) *admission.Review {
	t.Helper()
	text, err := json.Marshal(b)
	require.NoError(t, err)
	review, err := admission.NewReview(text)
	require.NoError(t, err)
	return review
}
