package openzro

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/policies/rules"
)

// shared holds the dependencies of the reconcilers of all kinds.
type shared struct {
	client  client.Client
	access  *access
	tenants *management.TenantCache
	grants  *grants
	metrics *metrics
	events  events.EventRecorder
	// admit evaluates the rules before an object is reconciled.
	admit rules.Admitter
	// wake enqueues an object.
	wake func(context.Context, management.Object)
	now  func() time.Time
	// interval is that at which servers are read.
	interval time.Duration
}

// carrier is how objects of one kind are carried out. An error is a *problem, one of the
// server, or one of Kubernetes, and the next status is written in any case.
type carrier[T v1.Object] interface {
	// keep creates or updates the items of an object at the server.
	keep(ctx context.Context, t *task[T]) error
	// remove deletes the items of an object at the server.
	remove(ctx context.Context, t *task[T]) error
}

// task is one try to carry an object out.
type task[T v1.Object] struct {
	*management.Tenant
	by credentials
	// object is the object as read, and next its copy with the next status, which is written at
	// the end.
	object, next T
	// save writes the status of next now.
	save func(context.Context) error
	// mayAdopt is the problem of an adoption that needs a grant: nil for one that may be.
	mayAdopt func(context.Context, remoteItem) error
	// made counts writes at the server.
	made func(operation string)
	// says is the message of an object that is as it should be, and again when it is
	// looked at again, if nothing wakes it.
	says  string
	again time.Duration
	// events receives Events about the object.
	events events.EventRecorder
}

// fieldManager is who writes to objects of a kind.
func fieldManager(kind string) string { return "lintel-openzro-" + strings.ToLower(kind) }

// reconciler reconciles the objects T of a kind, with statuses S.
type reconciler[T v1.Object, S any] struct {
	*shared
	carrier[T]
	kind   string
	empty  func() T
	status func(T) *S
	common func(*S) *v1.Status
	// look has objects looked at again.
	look chan event.GenericEvent
	// watched are further sources of events.
	watched []func(cluster.Cluster) source.Source
	// homes are the tenants of objects.
	homes sync.Map // *management.Tenant by types.NamespacedName
	// replaced are the resource versions of objects that this process has written since. A cache
	// that returns one of them is behind: its status would look as if it had been written already.
	replaced sync.Map // []string by types.NamespacedName
	// linked is since when objects that are deleted are known to be in use at the server.
	linked sync.Map // time.Time by types.UID
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler[T, S]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, r.empty(), func(ctx context.Context, of T) (object.Report[S], error) {
		if r.isBehind(of) {
			return object.Report[S]{Again: object.RetryDelay}, nil
		}
		report, err := r.carryOut(ctx, of)
		report.Written = r.noteWrites(of)
		return report, err
	})
}

// isBehind reports whether an object was read from a cache that lacks a write of this process.
func (r *reconciler[T, S]) isBehind(of T) bool {
	name := client.ObjectKeyFromObject(of)
	replaced, known := r.replaced.Load(name)
	if known && slices.Contains(replaced.([]string), of.GetResourceVersion()) {
		return true
	}
	r.replaced.Delete(name)
	return false
}

// noteWrites returns a function that notes the present version of an object as replaced if the
// object has another one by then.
func (r *reconciler[T, S]) noteWrites(of T) func() {
	name, version := client.ObjectKeyFromObject(of), of.GetResourceVersion()
	return func() {
		if version == of.GetResourceVersion() {
			return
		}
		replaced, _ := r.replaced.Load(name)
		known, _ := replaced.([]string)
		r.replaced.Store(name, append(slices.Clone(known), version))
	}
}

func (r *reconciler[T, S]) of() string { return r.kind }

func (r *reconciler[T, S]) manager() string { return fieldManager(r.kind) }

func (r *reconciler[T, S]) reporter() object.Reporter[T, S] {
	return object.Reporter[T, S]{
		Client: r.client, Manager: r.manager(), Action: "Reconcile", Events: r.events, Finalizer: v1.Finalizer,
		Status:     r.status,
		Conditions: func(s *S) []metav1.Condition { return r.common(s).Conditions },
		News:       map[string]object.News{v1.ConditionReady: object.Turned(metav1.ConditionFalse)},
		Gone: func(_ context.Context, name client.ObjectKey) error {
			r.leave(name)
			return nil
		},
	}
}

// carryOut reconciles an object with the server, or removes all its items, and computes the
// status.
func (r *reconciler[T, S]) carryOut(ctx context.Context, of T) (object.Report[S], error) {
	deleted := !of.GetDeletionTimestamp().IsZero()
	if deleted && !controllerutil.ContainsFinalizer(of, v1.Finalizer) {
		return object.Report[S]{}, nil
	}
	if deleted && of.GetAnnotations()[v1.DeletionPolicyAnnotation] == v1.Retain {
		return object.Report[S]{}, r.reporter().SetFinalizer(ctx, of, controllerutil.RemoveFinalizer)
	}
	if !deleted {
		denied, err := r.denied(ctx, of)
		if err != nil {
			return object.Report[S]{}, err // an error is not a verdict
		}
		if denied != nil {
			return r.outcome(&task[T]{object: of, next: copyOf(of)}, denied, nil)
		}
	}
	by, err := r.access.forObject(ctx, of)
	if err != nil {
		r.unsettle(client.ObjectKeyFromObject(of))
		return r.without(ctx, of, by, err)
	}
	tenant, err := r.tenants.Of(by.Credentials)
	if err != nil {
		r.unsettle(client.ObjectKeyFromObject(of))
		return r.outcome(&task[T]{object: of, next: copyOf(of)}, waiting(v1.ReasonInvalidConfig, "%s: %s", by.where(), err), nil)
	}
	me := management.Object{Kind: r.kind, NamespacedName: client.ObjectKeyFromObject(of)}
	r.settle(me.NamespacedName, tenant)
	if !tenant.Enter(me) {
		return object.Report[S]{Again: turnPause}, nil // it is woken before, most often
	}
	defer func() {
		if next, waits := tenant.Leave(); waits {
			r.wake(ctx, next)
		}
	}()
	if deleted {
		return r.end(ctx, r.task(of, tenant, by))
	}
	return r.begin(ctx, of, tenant, by)
}

// staleIntervals is after how many intervals without a read objects report it.
const staleIntervals = 2

// turnPause is the interval at which a queued object checks for its turn, if no event enqueues
// it.
const turnPause = 2 * time.Second

// settle notes the tenant of an object.
func (r *reconciler[T, S]) settle(name types.NamespacedName, tenant *management.Tenant) {
	before, had := r.homes.Swap(name, tenant)
	if had && before != tenant {
		before := before.(*management.Tenant)
		before.Drop(management.Object{Kind: r.kind, NamespacedName: name})
		tenant.Follow(before)
	}
}

// unsettle detaches an object from its tenant: a deleted key is no longer used.
func (r *reconciler[T, S]) unsettle(name types.NamespacedName) {
	if before, had := r.homes.LoadAndDelete(name); had {
		before.(*management.Tenant).Drop(management.Object{Kind: r.kind, NamespacedName: name})
	}
}

// leave forgets an object that is gone.
func (r *reconciler[T, S]) leave(name types.NamespacedName) {
	r.unsettle(name)
	r.replaced.Delete(name)
	r.metrics.says(r.kind, name, false)
}

// denied returns the denial of the rules for an object: nil if they allow it.
func (r *reconciler[T, S]) denied(ctx context.Context, of T) (*problem, error) {
	verdict, err := r.admit(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", r.kind, of.GetNamespace(), of.GetName(), err)
	}
	if !verdict.Denied() {
		return nil, nil
	}
	return &problem{reason: v1.ReasonNotAdmitted, message: verdict.Message(), stalled: true, again: refusedPause}, nil
}

func copyOf[T v1.Object](of T) T { return of.DeepCopyObject().(T) }

func (r *reconciler[T, S]) task(of T, tenant *management.Tenant, by credentials) *task[T] {
	t := &task[T]{Tenant: tenant, by: by, object: of, next: copyOf(of), events: r.events}
	t.save = func(ctx context.Context) error {
		status := r.status(copyOf(t.next))
		err := r.reporter().Write(ctx, of, object.Report[S]{Status: status, Written: r.noteWrites(of)})
		t.next.SetResourceVersion(of.GetResourceVersion())
		return err
	}
	t.mayAdopt = func(ctx context.Context, item remoteItem) error { return r.grants.mayAdopt(ctx, of, tenant, by, item) }
	t.made = func(operation string) { r.metrics.repaired.WithLabelValues(r.kind, operation).Inc() }
	return t
}

// keyless is a carrier that can say something of objects in namespaces without a key.
type keyless[T v1.Object] interface {
	without(ctx context.Context, t *task[T]) error
}

// without says of an object that its namespace has no key.
func (r *reconciler[T, S]) without(ctx context.Context, of T, by credentials, err error) (object.Report[S], error) {
	t := &task[T]{by: by, object: of, next: copyOf(of), events: r.events}
	missing := problemOf(err, by)
	if missing == nil {
		return r.outcome(t, nil, err)
	}
	if !of.GetDeletionTimestamp().IsZero() {
		if r.letGo(of, by, missing) == nil {
			return object.Report[S]{}, r.reporter().SetFinalizer(ctx, of, controllerutil.RemoveFinalizer)
		}
		missing = missing.withWayOut()
	}
	if k, can := r.carrier.(keyless[T]); can && of.GetDeletionTimestamp().IsZero() && of.CommonStatus().Key == "" {
		missing = nil
		if err := k.without(ctx, t); err != nil {
			return r.reportError(t, err)
		}
	}
	return r.outcome(t, missing, nil)
}

// begin reconciles an object that is not being deleted.
func (r *reconciler[T, S]) begin(ctx context.Context, of T, tenant *management.Tenant, by credentials) (object.Report[S], error) {
	// Before anything is created, so that nothing is ever left behind.
	note := r.noteWrites(of)
	if err := r.reporter().SetFinalizer(ctx, of, controllerutil.AddFinalizer); err != nil {
		return object.Report[S]{}, err
	}
	note()
	t := r.task(of, tenant, by)
	if outage := tenant.Outage(); outage != nil {
		return r.reportError(t, outage)
	}
	if err := r.move(ctx, t); err != nil {
		return r.reportError(t, err)
	}
	if err := r.useAccount(ctx, t); err != nil {
		return r.reportError(t, err)
	}
	t.next.CommonStatus().Key = by.source
	err := r.keep(ctx, t)
	if err == nil {
		pruneAdoptions(t.next)
	}
	return r.reportError(t, err)
}

// move deletes the items that were created with the default key, after the namespace got its
// own, to another account.
func (r *reconciler[T, S]) move(ctx context.Context, t *task[T]) error {
	if t.object.CommonStatus().Key != v1.KeyDefault || t.by.source == v1.KeyDefault {
		return nil
	}
	before, err := r.access.fallback(t.object.GetNamespace())
	if err == nil {
		var tenant *management.Tenant
		if tenant, err = r.tenants.Of(before.Credentials); err != nil {
			return err
		}
		if same, err := isSameAccount(ctx, before, tenant, t.by, t.Tenant); err != nil || same {
			return err
		}
		old := *t
		old.Tenant, old.by = tenant, before
		if err := r.letGo(t.object, before, r.takeAway(ctx, &old)); err != nil {
			return err
		}
	}
	r.resetStatus(t)
	return nil
}

// resetStatus clears the next status except for its conditions and the items that were left
// behind.
func (r *reconciler[T, S]) resetStatus(t *task[T]) {
	status := t.next.CommonStatus()
	conditions, left, adoptions := status.Conditions, status.LeftBehind, status.Adoptions
	*r.status(t.next) = *r.status(r.empty())
	status.Conditions, status.LeftBehind, status.Adoptions = conditions, left, adoptions
	conditionsOf(t.next).Remove(v1.ConditionCreating)
}

// isSameAccount says whether two keys are to one account. Nothing that another server says
// makes it the same.
func isSameAccount(ctx context.Context, by credentials, one *management.Tenant, also credentials, other *management.Tenant) (bool, error) {
	if one == other || !management.SameServer(by.URL, also.URL) {
		return one == other, nil
	}
	for _, t := range []*management.Tenant{one, other} {
		if err := t.Accounts.Load(ctx); err != nil {
			return false, err
		}
	}
	return slices.EqualFunc(one.Accounts.All(), other.Accounts.All(), func(a, b management.Account) bool { return a.ID == b.ID }), nil
}

// end deletes the items of an object, and removes its finalizer. Items in use at the server are
// left there in the end, and an Event reports it.
func (r *reconciler[T, S]) end(ctx context.Context, t *task[T]) (object.Report[S], error) {
	if err := r.letGo(t.object, t.by, r.takeAway(ctx, t)); err != nil {
		known := problemOf(err, t.by)
		if known == nil || known.reason == v1.ReasonStillLinked || known.reason == v1.ReasonAccountChanged {
			return r.reportError(t, err)
		}
		return r.outcome(t, known.withWayOut(), nil)
	}
	return object.Report[S]{}, r.reporter().SetFinalizer(ctx, t.object, controllerutil.RemoveFinalizer)
}

// letGo returns the error of the deletion of an object's items: nil once it has waited long
// enough for dependent items, or for a key to delete items that it did not create.
func (r *reconciler[T, S]) letGo(of T, by credentials, err error) error {
	linked := problemOf(err, by)
	known := linked != nil
	switch {
	case err == nil:
	case known && refusesKey(linked.reason) && !hasMade(of) && r.isLate(of.GetUID()):
	case known && linked.reason == v1.ReasonStillLinked && r.isLate(of.GetUID()):
		object.Send(r.events, of, "Reconcile", object.Event{Warning: true, Reason: "LeftBehind", Message: "it stays at the server: " + linked.message})
	default:
		return err
	}
	r.linked.Delete(of.GetUID())
	return nil
}
