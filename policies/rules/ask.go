// Package rules evaluates the built-in rules, for reviews in the webhook entries of systems and
// for stored objects.
//
// Invariant: a rule that gives no answer, because time or a limit ran out, is an error and
// never a denial.
package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// Object is a stored object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Admitter evaluates the rules for a stored object, which may be older than they are, or whose
// permission may have been withdrawn. An error means that there is no verdict: the caller
// retries, and decides nothing.
type Admitter func(ctx context.Context, object Object) (Verdict, error)

// Verdict is what the rules say of an object as if it were created now.
type Verdict struct {
	// Denials are their words against it. They admit it if and only if there are none.
	Denials []string
	// Reason is that of conditions about the denials; "" where the rules name none.
	Reason string
	// Object is the object in JSON, with all defaults.
	Object json.RawMessage
}

// Denied says whether the rules are against the object.
func (v Verdict) Denied() bool { return len(v.Denials) > 0 }

// Message has the denials, a line each.
func (v Verdict) Message() string { return strings.Join(v.Denials, "\n") }

// Question is about one stored object.
type Question struct {
	// Kind and Resource are the object's, in the version that the rules read.
	Kind     metav1.GroupVersionKind
	Resource string
	// Object is the object.
	Object Object
	// Facts and Namespace are what the rules read as input.facts, anything with a JSON
	// object, and as input.namespace. nil where they read none.
	Facts     any
	Namespace json.RawMessage
}

// Ask evaluates the rules of a snapshot.
func Ask(ctx context.Context, snapshot *engine.Snapshot, q Question) (Verdict, error) {
	review, err := q.Review()
	if err != nil {
		return Verdict{}, err
	}
	verdict, err := evaluateReview(ctx, snapshot, review, q)
	if err != nil {
		return Verdict{}, fmt.Errorf("asking the rules about %s %s: %w", q.Kind.Kind, q.Object.GetName(), err)
	}
	return verdict, nil
}

func evaluateReview(ctx context.Context, snapshot *engine.Snapshot, review *admission.Review, q Question) (verdict Verdict, err error) {
	var options engine.Options
	if options.Namespace, err = engine.ReadNamespace(q.Namespace); err != nil {
		return Verdict{}, err
	}
	if q.Facts != nil {
		if options.Facts, err = engine.ReadFacts(q.Facts); err != nil {
			return Verdict{}, err
		}
	}
	mutation := snapshot.Mutate(ctx, review, options)
	if verdict.Denials, err = mutation.Verdict(); err == nil && len(verdict.Denials) == 0 {
		verdict.Denials, err = snapshot.Validate(ctx, mutation.Review, options).Verdict()
	}
	// A verdict that ends with the caller's context may be incomplete.
	if gone := ctx.Err(); gone != nil {
		err = gone
	}
	if err != nil {
		return Verdict{}, err
	}
	verdict.Object, err = mutation.Review.Object()
	return verdict, err
}

// Review is the request that would create the object.
func (q Question) Review() (*admission.Review, error) {
	text, err := json.Marshal(q.Object)
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", q.Kind.Kind, q.Object.GetName(), err)
	}
	request, err := json.Marshal(admissionv1.AdmissionRequest{
		UID:       q.Object.GetUID(),
		Operation: admissionv1.Create, Namespace: q.Object.GetNamespace(), Name: q.Object.GetName(),
		Kind:     q.Kind,
		Resource: metav1.GroupVersionResource{Group: q.Kind.Group, Version: q.Kind.Version, Resource: q.Resource},
		Object:   runtime.RawExtension{Raw: text},
	})
	if err != nil {
		return nil, fmt.Errorf("writing a request for %s %s: %w", q.Kind.Kind, q.Object.GetName(), err)
	}
	return admission.NewReview(request)
}
