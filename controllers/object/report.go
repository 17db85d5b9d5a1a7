package object

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/controllers/tracing"
)

// RetryDelay is the delay before a retry after an error that resolves itself.
const RetryDelay = 100 * time.Millisecond

// Passes reports whether an error resolves itself, so that it is not reported in status: the
// cache was stale, or the namespace is being deleted.
func Passes(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// Result requests a retry of a failed reconcile: after RetryDelay if the error resolves itself,
// otherwise with the backoff of the queue. again is the delay after a success.
func Result(again time.Duration, err error) (reconcile.Result, error) {
	if Passes(err) {
		return reconcile.Result{RequeueAfter: RetryDelay}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// settleDelay is the delay before an object whose status was written is reconciled again. A
// reconcile in between may have read the object from a stale cache, compared with the old
// status, and written nothing; many controllers do not watch statuses. A reconcile that is
// already requested within settled replaces this one.
const (
	settleDelay  = time.Second
	settlePeriod = time.Minute
)

// Report is the result of a reconcile.
type Report[S any] struct {
	// Status is the next one: nil where it stays.
	Status *S
	// Events are sent once the status is written, in addition to those for its conditions.
	Events []Event
	// Again is when the object is looked at again: 0 where only changes are a reason to.
	Again time.Duration
	// Written, unless it is nil, is called once the status is written, and Events are sent.
	Written func()
}

// Reporter writes the status S of objects T.
type Reporter[T client.Object, S any] struct {
	Client client.Client
	// Manager owns the fields that are written, and Action is that of Events.
	Manager, Action string
	Events          events.EventRecorder
	// Status is that of an object, and Conditions those of a status: nil for none.
	Status     func(T) *S
	Conditions func(*S) []metav1.Condition
	// News are by the types of conditions.
	News map[string]News
	// Update writes whole objects, for kinds whose status may not be patched, and for kinds with so
	// many objects that the cost of a patch counts. The API server takes only the status.
	Update bool
	// Finalizer keeps objects until Finalize takes it away.
	Finalizer string
	// Filled promises that no computed status is empty. Then the first status of an object settles
	// nothing: a reconcile with a stale cache compares with the empty status, finds a difference,
	// and its write is a conflict.
	Filled bool
	// Gone, unless it is nil, is called for an object that no longer exists.
	Gone func(ctx context.Context, name client.ObjectKey) error
}

// Reconcile reads an object, runs step on it, and writes the report. step does not change the
// status of the object itself.
func (r Reporter[T, S]) Reconcile(ctx context.Context, request reconcile.Request, object T, step func(context.Context, T) (Report[S], error)) (_ reconcile.Result, err error) {
	ctx, end := tracing.Step(ctx, "reconcile "+kindOf(r.Client, object), strings.TrimPrefix(request.String(), "/"))
	defer func() { end(err) }()
	err = r.Client.Get(ctx, request.NamespacedName, object)
	if apierrors.IsNotFound(err) && r.Gone != nil {
		return Result(0, r.Gone(ctx, request.NamespacedName))
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var empty S
	settled := r.Filled && equality.Semantic.DeepEqual(r.Status(object), &empty)
	report, failure := step(ctx, object)
	if Passes(failure) {
		return Result(0, failure)
	}
	written, err := r.report(ctx, object, report)
	if err != nil {
		return Result(0, errors.Join(failure, err))
	}
	if written && !settled && failure == nil && (report.Again == 0 || report.Again > settlePeriod) {
		report.Again = settleDelay
	}
	return Result(report.Again, failure)
}

// Write writes a status if it differs, and sends Events. If another client wrote the status
// since the read, Write returns the conflict and sends nothing.
func (r Reporter[T, S]) Write(ctx context.Context, object T, report Report[S]) error {
	_, err := r.report(ctx, object, report)
	return err
}

// report is Write, and says whether a status was written.
func (r Reporter[T, S]) report(ctx context.Context, object T, report Report[S]) (written bool, err error) {
	list := report.Events
	if was := r.Status(object); report.Status != nil && !equality.Semantic.DeepEqual(was, report.Status) {
		before := object.DeepCopyObject().(T)
		if r.Conditions != nil {
			list = append(list, Changes(r.News, r.Conditions(was), r.Conditions(report.Status))...)
		}
		*was = *report.Status
		if err := r.write(ctx, before, object); err != nil {
			*r.Status(object) = *r.Status(before)
			return false, client.IgnoreNotFound(err) // it is gone
		}
		written = true
	}
	Send(r.Events, object, r.Action, list...)
	if report.Written != nil {
		report.Written()
	}
	return written, nil
}

func (r Reporter[T, S]) write(ctx context.Context, before, object T) (err error) {
	if r.Update {
		err = r.Client.Status().Update(ctx, object, client.FieldOwner(r.Manager))
	} else {
		err = r.Client.Status().Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(r.Manager))
	}
	if err != nil {
		return fmt.Errorf("writing the status of %s: %w", Describe(r.Client, object), err)
	}
	return nil
}

// SetFinalizer writes what change, a function of controllerutil, does to the finalizer, if
// anything. The API server answers with the metadata alone, and object receives its new version.
func (r Reporter[T, S]) SetFinalizer(ctx context.Context, object T, change func(client.Object, string) bool) error {
	next := &metav1.PartialObjectMetadata{}
	next.Namespace, next.Name, next.ResourceVersion = object.GetNamespace(), object.GetName(), object.GetResourceVersion()
	next.Finalizers = slices.Clone(object.GetFinalizers())
	was := next.DeepCopy()
	if !change(next, r.Finalizer) {
		return nil
	}
	kind, err := r.Client.GroupVersionKindFor(object)
	if err != nil {
		return fmt.Errorf("writing the finalizer of %s: %w", nameOf(object), err)
	}
	next.SetGroupVersionKind(kind)
	was.SetGroupVersionKind(kind)
	before := client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})
	err = r.Client.Patch(ctx, next, before, client.FieldOwner(r.Manager))
	if !object.GetDeletionTimestamp().IsZero() {
		err = client.IgnoreNotFound(err)
	}
	if err != nil {
		return fmt.Errorf("writing the finalizer of %s: %w", Describe(r.Client, object), err)
	}
	object.SetFinalizers(next.Finalizers)
	object.SetResourceVersion(next.ResourceVersion)
	return nil
}

// Describe is the kind and the name of an object, as people read them.
func Describe(c client.Client, object client.Object) string {
	return kindOf(c, object) + " " + nameOf(object)
}

func kindOf(c client.Client, object client.Object) string {
	kind, _ := c.GroupVersionKindFor(object)
	return kind.Kind
}

func nameOf(object client.Object) string {
	return strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/")
}
