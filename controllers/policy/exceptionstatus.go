package policy

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
)

// The reasons of the conditions of a PolicyException, in addition to those of the engine and of
// package scope.
const (
	// ReasonActive reports that the PolicyException is in force.
	ReasonActive = "Active"
	// ReasonExpired reports that the PolicyException has ended: the policy applies to the objects
	// again.
	ReasonExpired = "Expired"
	// ReasonInvalid reports a field that cannot be used, such as a label selector with an unknown
	// operator.
	ReasonInvalid = "Invalid"
	// ReasonExpiresSoon reports that the PolicyException expires within a week.
	ReasonExpiresSoon = "ExpiresSoon"
	// ReasonExpiresLater reports that the PolicyException has more than a week left.
	ReasonExpiresLater = "ExpiresLater"
)

const (
	// exceptionNotice is how long before its expiry an exception is announced to end.
	exceptionNotice = 7 * 24 * time.Hour
	// exceptionInterval bounds the time after which a clock that was set is noticed.
	exceptionInterval = time.Minute
)

// specChanged passes events of created, deleted and changed objects, but not those of their
// status.
var specChanged = predicate.GenerationChangedPredicate{}

// exceptionReconciler writes the status of PolicyExceptions. It runs on the leader.
type exceptionReconciler struct {
	client  client.Client
	live    *engine.Live
	events  events.EventRecorder
	now     func() time.Time
	changed chan event.GenericEvent // for all exceptions
}

func newExceptionReconciler(p *Policies) *exceptionReconciler {
	r := &exceptionReconciler{
		client: p.manager.GetClient(), live: p.Live, events: p.manager.GetEventRecorder("lintel-manager"),
		now: time.Now, changed: make(chan event.GenericEvent, 1),
	}
	p.Live.OnChange(func(*engine.Snapshot) { signal(r.changed, event.GenericEvent{Object: &v1alpha1.PolicyException{}}) })
	return r
}

func (r *exceptionReconciler) setUp(mgr manager.Manager) error {
	every := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return object.RequestsFor[*v1alpha1.PolicyException](ctx, r.client, &v1alpha1.PolicyExceptionList{}, nil)
	})
	return builder.ControllerManagedBy(mgr).
		Named("lintel-policy-exception").
		For(&v1alpha1.PolicyException{}, builder.WithPredicates(specChanged)).
		WatchesRawSource(ctrlsource.Channel(r.changed, every)).
		Complete(r)
}

// exceptionNews maps the types of an exception's conditions to their Events.
var exceptionNews = map[string]object.News{
	v1alpha1.ConditionReady:       object.Reasoned(func(reason string) bool { return reason != ReasonActive }),
	v1alpha1.ConditionExpiresSoon: object.Turned(metav1.ConditionTrue),
}

// Reconcile implements reconcile.Reconciler.
func (r *exceptionReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	reporter := object.Reporter[*v1alpha1.PolicyException, v1alpha1.PolicyExceptionStatus]{
		Client: r.client, Manager: "lintel-policy-exception", Action: "Reconcile", Events: r.events, News: exceptionNews,
		Status:     func(e *v1alpha1.PolicyException) *v1alpha1.PolicyExceptionStatus { return &e.Status },
		Conditions: func(s *v1alpha1.PolicyExceptionStatus) []metav1.Condition { return s.Conditions },
	}
	return reporter.Reconcile(ctx, request, &v1alpha1.PolicyException{}, r.step)
}

func (r *exceptionReconciler) step(_ context.Context, object *v1alpha1.PolicyException) (report object.Report[v1alpha1.PolicyExceptionStatus], err error) {
	snapshot := r.live.Snapshot()
	if snapshot == nil || !object.DeletionTimestamp.IsZero() {
		return report, nil // the first snapshot triggers another reconcile
	}
	set, _ := r.live.Get(object.Spec.Source)
	now := r.now()
	next := exceptionStatus(object, snapshot, set, now)
	report.Status, report.Again = &next, exceptionInterval
	for _, at := range []time.Time{object.Spec.ExpiresAt.Time, object.Spec.ExpiresAt.Add(-exceptionNotice)} {
		if left := at.Sub(now.Round(0)); left > 0 {
			report.Again = min(report.Again, left)
		}
	}
	return report, nil
}

// exceptionStatus computes the status of an exception at a time. set is the live set of its
// source, nil if there is none.
func exceptionStatus(object *v1alpha1.PolicyException, snapshot *engine.Snapshot, set *engine.PolicySet, now time.Time) v1alpha1.PolicyExceptionStatus {
	next := *object.Status.DeepCopy()
	next.ObservedGeneration = object.Generation
	conditions := exceptionConditions(&next.Conditions, object.Generation)
	reason, message := exceptionState(object, snapshot, set, now)
	conditions.Set(v1alpha1.ConditionReady, reason == ReasonActive, reason, message)
	switch {
	case reason != ReasonActive:
		conditions.Remove(v1alpha1.ConditionExpiresSoon)
	case object.Spec.ExpiresAt.Sub(now.Round(0)) <= exceptionNotice:
		conditions.Set(v1alpha1.ConditionExpiresSoon, true, ReasonExpiresSoon, fmt.Sprintf("expires at %s: fix the objects, or ask the owner of the policy to set a later spec.expiresAt", expiryOf(object)))
	default:
		conditions.Set(v1alpha1.ConditionExpiresSoon, false, ReasonExpiresLater, "expires at "+expiryOf(object))
	}
	return next
}

func exceptionConditions(list *[]metav1.Condition, generation int64) object.Conditions {
	return object.Conditions{List: list, Generation: generation}
}

func exceptionState(object *v1alpha1.PolicyException, snapshot *engine.Snapshot, set *engine.PolicySet, now time.Time) (reason, message string) {
	one, err := source.FromPolicyException(object)
	if err != nil {
		return ReasonInvalid, err.Error()
	}
	if one.Expired(now) {
		return ReasonExpired, fmt.Sprintf("expired at %s: policy %s applies to the objects again", expiryOf(object), one.Policy)
	}
	message = fmt.Sprintf("exempts objects from policy %s until %s", one.Policy, expiryOf(object))
	for _, problem := range scope.CheckException(snapshot, one, now) {
		if problem.Reason != scope.ReasonNamespaces {
			return problem.Reason, problem.Message
		}
		message += "; " + problem.Message // the policy is not evaluated there
	}
	if warning := scope.WarnException(set, one); warning != "" {
		return scope.ReasonNoField, warning
	}
	return ReasonActive, message
}

func expiryOf(object *v1alpha1.PolicyException) string {
	return object.Spec.ExpiresAt.UTC().Format(time.RFC3339)
}
