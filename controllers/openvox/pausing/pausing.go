// Package pausing suspends the reconciliation of objects with the annotation
// openvox.voxpupuli.org/paused.
//
// Invariant: of a paused object, nothing but its condition Paused is written. An object that is
// deleted is not paused.
package pausing

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// The reasons of the Events.
const (
	reasonPaused  = "Paused"
	reasonResumed = "Resumed"
)

const message = "reconciliation is suspended by the annotation " + v1alpha1.PausedAnnotation + "; all other conditions are from before"

// IsPaused reports whether an object is paused.
func IsPaused(o metav1.Object) bool {
	return o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true" && o.GetDeletionTimestamp().IsZero()
}

// Changed passes changes of the spec, and of whether an object is paused.
func Changed[T client.Object]() predicate.TypedPredicate[T] {
	return predicate.Or[T](predicate.TypedGenerationChangedPredicate[T]{}, object.Updates(func(before, after T) bool { return IsPaused(before) != IsPaused(after) }))
}

// Kind is how the status S of objects T is reached.
type Kind[T client.Object, S any] struct {
	Status     func(T) *S
	Conditions func(*S) *[]metav1.Condition
}

// Step is a step that is left out while an object is paused.
func (k Kind[T, S]) Step(step func(context.Context, T) (object.Report[S], error)) func(context.Context, T) (object.Report[S], error) {
	return func(ctx context.Context, o T) (object.Report[S], error) {
		if IsPaused(o) {
			return k.Paused(o), nil
		}
		report, err := step(ctx, o)
		return k.Resumed(o, report), err
	}
}

// Paused reports an object that is paused.
func (k Kind[T, S]) Paused(o T) object.Report[S] {
	next := k.Status(o.DeepCopyObject().(T))
	report := object.Report[S]{Status: next}
	if !k.was(o) {
		report.Events = []object.Event{{Reason: reasonPaused, Message: message}}
	}
	object.Conditions{List: k.Conditions(next), Generation: o.GetGeneration()}.Set(v1alpha1.ConditionPaused, true, reasonPaused, message)
	return report
}

// Resumed adds to the report of an object that is not paused that it was.
func (k Kind[T, S]) Resumed(o T, report object.Report[S]) object.Report[S] {
	if !k.was(o) || !o.GetDeletionTimestamp().IsZero() {
		return report
	}
	if report.Status == nil {
		report.Status = k.Status(o.DeepCopyObject().(T))
	}
	object.Conditions{List: k.Conditions(report.Status)}.Remove(v1alpha1.ConditionPaused)
	report.Events = append(report.Events, object.Event{Reason: reasonResumed, Message: "reconciliation goes on: the annotation " + v1alpha1.PausedAnnotation + " was removed"})
	return report
}

func (k Kind[T, S]) was(o T) bool {
	return meta.IsStatusConditionTrue(*k.Conditions(k.Status(o)), v1alpha1.ConditionPaused)
}
