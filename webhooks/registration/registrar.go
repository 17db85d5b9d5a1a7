package registration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

// fieldManager owns what Lintel sets in its webhook configurations. The CA bundle
// stays cert-manager's where it injects one.
const fieldManager = "lintel-webhooks"

// ownerName is the ClusterRole that owns the configurations.
const ownerName = "lintel-webhooks"

// Registrar keeps the webhook configurations what the live snapshot asks for. It
// runs on the leader alone: replicas may serve different revisions for a moment.
type Registrar struct {
	client   client.Client
	live     client.Reader
	snapshot func() *engine.Snapshot
	products []rules.Product
	settings Settings
	changed  chan event.GenericEvent

	owned bool // the ClusterRole has been seen
	// ownerless is since when it has been missing: the zero time where it is not.
	ownerless time.Time
	now       func() time.Time
	draining  atomic.Bool
	state     atomic.Pointer[state]
	onChange  func()
}

// state is what the API server calls for.
type state struct {
	digest string // of the snapshot whose rules were applied last
	// missing is why the API server does not call for them: "" where it does. It did before
	// where lost is true.
	missing string
	lost    bool
}

// ownerGrace is the time for which the configurations are not created again after the
// ClusterRole that owned them is deleted. An administrator who uninstalls Lintel has deleted
// the managers' permissions or Pods by then.
const ownerGrace = 5 * time.Second

// NewRegistrar makes a Registrar; its client reads from a cache and live does not, and
// snapshot is nil as long as no policies are loaded.
func NewRegistrar(c client.Client, live client.Reader, snapshot func() *engine.Snapshot, products []rules.Product, settings Settings) *Registrar {
	return &Registrar{
		client: c, live: live, snapshot: snapshot, products: products, settings: settings,
		changed: make(chan event.GenericEvent, 1), now: time.Now,
	}
}

// SnapshotChanged asks for the configurations to be brought up to date. It never
// blocks: one pending request is enough for any number of changes.
func (r *Registrar) SnapshotChanged() {
	select {
	case r.changed <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{}}:
	default:
	}
}

// OnChange has f called when the answer of Unregistered changes.
func (r *Registrar) OnChange(f func()) { r.onChange = f }

// Unregistered returns why the API server does not call for the snapshot with this digest,
// as a clause for a status: "" where it does. lost says that it called for the snapshot
// before.
func (r *Registrar) Unregistered(digest string) (why string, lost bool) {
	switch s := r.state.Load(); {
	case s != nil && s.missing != "":
		return s.missing, s.lost
	case s == nil || s.digest != digest:
		return "the webhook configurations are being brought up to date", false
	}
	return "", false
}

// Drain announces the end: a configuration that is deleted from now on stays deleted. An
// administrator who uninstalls Lintel deletes them while the last replicas end, and a
// configuration that was created again would have no server to call. A later leader creates
// them again.
func (r *Registrar) Drain() { r.draining.Store(true) }

// SetupWithManager registers the controller: it runs when the snapshot changes, and
// when anybody else touches a configuration.
func (r *Registrar) SetupWithManager(mgr manager.Manager) error {
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: ConfigurationName}}}
	})
	// By name, for an edit can take the labels away.
	ours := builder.WithPredicates(predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetName() == ConfigurationName || strings.HasPrefix(object.GetName(), ConfigurationName+"-")
	}))
	r.SnapshotChanged() // a snapshot may have gone live before
	return builder.ControllerManagedBy(mgr).
		Named(fieldManager).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, one, ours).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, one, ours).
		WatchesRawSource(source.Channel(r.changed, one)).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Registrar) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ctx, span := otel.Tracer("github.com/lintel-policy/lintel/webhooks/registration").Start(ctx, "register")
	defer span.End()
	snapshot := r.snapshot()
	if snapshot == nil {
		// Without policies the rules would be empty, and the registered ones are still wanted.
		// Loading them triggers the next run.
		return reconcile.Result{}, nil
	}
	found, err := r.register(ctx, snapshot)
	if err != nil {
		// The registered configuration may differ from the desired one. An API server that does not
		// answer does not prove that; one that refuses a write does.
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			r.set(state{missing: "the webhook configurations cannot be written: " + err.Error()})
		}
		return reconcile.Result{}, err
	}
	switch {
	case found.missing != "":
		r.set(state{missing: found.missing})
	case found.complete:
		r.set(state{digest: snapshot.PolicyDigest()})
	}
	return reconcile.Result{RequeueAfter: found.again}, nil // otherwise the applied write, or the CA injector, triggers the next run
}

// set stores the state of the registration, and calls onChange if it differs.
func (r *Registrar) set(now state) {
	before := r.state.Load()
	now.lost = now.missing != "" && before != nil && (before.missing == "" || before.lost)
	r.state.Store(&now)
	if (before == nil || *before != now) && r.onChange != nil {
		r.onChange()
	}
}

// owner is the owner by which the garbage collector deletes the configurations, in any order of
// an uninstallation: the ClusterRole ownerName, which is deleted with the manifests or the
// chart and which the Namespace owns, or the Namespace where manifests of an earlier version
// lack the ClusterRole or the permission to read it. There is none once the Namespace
// goes, or for ownerGrace once the ClusterRole has gone: again says when to look again.
func (r *Registrar) owner(ctx context.Context) (_ *metav1.OwnerReference, again time.Duration, _ error) {
	var namespace corev1.Namespace
	err := r.client.Get(ctx, client.ObjectKey{Name: r.settings.Namespace}, &namespace)
	if apierrors.IsNotFound(err) || err == nil && !namespace.DeletionTimestamp.IsZero() {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the namespace %s: %w", r.settings.Namespace, err)
	}
	above := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID}
	role := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}}
	switch err := r.live.Get(ctx, client.ObjectKey{Name: ownerName}, role); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), err == nil && !role.DeletionTimestamp.IsZero():
		if !r.owned && err != nil {
			return &above, 0, nil
		}
		if r.ownerless.IsZero() {
			r.ownerless = r.now()
		}
		if left := ownerGrace - r.now().Sub(r.ownerless); left > 0 {
			return nil, left, nil
		}
		return &above, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("reading the ClusterRole %s: %w", ownerName, err)
	}
	r.owned, r.ownerless = true, time.Time{}
	if !slices.ContainsFunc(role.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == namespace.UID }) {
		owned := &unstructured.Unstructured{}
		owned.SetGroupVersionKind(role.GroupVersionKind())
		owned.SetName(ownerName)
		owned.SetUID(role.UID)
		owned.SetOwnerReferences([]metav1.OwnerReference{above})
		err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(owned), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return nil, 0, fmt.Errorf("making the ClusterRole %s the namespace's: %w", ownerName, err)
		}
	}
	return &metav1.OwnerReference{APIVersion: role.APIVersion, Kind: role.Kind, Name: role.Name, UID: role.UID}, 0, nil
}

// registration is what became of the configurations.
type registration struct {
	// complete reports that nothing differed, and that the API server has all that it needs for
	// calls.
	complete bool
	// missing is why some of the policies are not called for: "" where all are, or where
	// what differed was applied just now.
	missing string
	// again is when to look again: 0 for not before something changes.
	again time.Duration
}

// separateAnnotation marks the fixed configurations when their entries are for the policies
// of the enterprise alone.
const separateAnnotation = "lintel.dev/scopes"

// register applies what differs: the configurations of scopes, then the fixed ones, then
// deletes those of scopes that are gone.
func (r *Registrar) register(ctx context.Context, snapshot *engine.Snapshot) (found registration, err error) {
	owner, again, err := r.owner(ctx)
	if err != nil {
		return found, err
	}
	policies, resources := snapshot.Policies(), snapshot.Resources()
	scopes := ScopeConfigurations(policies, snapshot.Scopes(), resources, r.settings)
	found.complete = true
	var failures []error
	for _, pair := range scopes {
		of, err := r.registerPair(ctx, pair, owner)
		if err != nil {
			failures = append(failures, err)
		}
		found.add(of)
	}
	fixed, err := r.fixed(ctx, policies, resources, found.complete && len(failures) == 0)
	if err != nil {
		return found, err
	}
	of, err := r.registerPair(ctx, fixed, owner)
	if err != nil {
		failures = append(failures, err)
	}
	found.add(of)
	if owner == nil {
		return registration{missing: found.missing, again: again}, errors.Join(failures...)
	}
	return found, errors.Join(append(failures, r.deleteOthers(ctx, scopes))...)
}

// fixed are the configurations with the fixed entries, as they should be now. An earlier
// version registered the policies of all scopes in them: these stay until the configurations
// of the scopes are in force, as inForce says.
func (r *Registrar) fixed(ctx context.Context, policies []engine.PolicyInfo, resources *admission.Resources, inForce bool) (Pair, error) {
	earlier := false
	for _, c := range configurationsOf(r.settings.pair(ConfigurationName, nil)) {
		if err := r.read(ctx, c); err != nil {
			return Pair{}, err
		}
		earlier = earlier || c.live.GetName() != "" && c.live.GetAnnotations()[separateAnnotation] == ""
	}
	separate := inForce || !earlier
	if separate {
		policies = ofEnterprise(policies)
	}
	pair, conflicts := fixedPair(policies, resources, r.products, r.settings)
	if conflicts != nil {
		// The gate keeps conflicts out; one that got in still has its policies called.
		log.FromContext(ctx).Error(conflicts, "policies disagree about versions; all that they name are registered")
	}
	if separate {
		for _, c := range configurationsOf(pair) {
			annotations := maps.Clone(c.desired.GetAnnotations())
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[separateAnnotation] = "separate"
			c.desired.SetAnnotations(annotations)
		}
	}
	return pair, nil
}

// registerPair applies what differs of two configurations.
func (r *Registrar) registerPair(ctx context.Context, pair Pair, owner *metav1.OwnerReference) (found registration, err error) {
	both := configurationsOf(pair)
	for _, c := range both {
		if err := r.read(ctx, c); err != nil {
			return found, err
		}
		if c.live.GetName() == "" && (owner == nil || r.draining.Load()) {
			return registration{missing: fmt.Sprintf("the %s webhook configuration %s was deleted, so nothing is enforced", c.kind, c.desired.GetName())}, nil
		}
	}
	if owner == nil {
		return registration{}, nil
	}
	found.complete = true
	for _, c := range both {
		c.desired.SetOwnerReferences([]metav1.OwnerReference{*owner})
		desired, live := entriesOf(c.desired), entriesOf(c.live)
		if r.settings.InjectCA {
			if silent := silence(desired, live); silent != nil {
				found.complete = false
				found.missing = fmt.Sprintf("the %s webhook configuration %s has no CA bundle for %s, so the API server does not call it: cert-manager's CA injector adds one", c.kind, c.desired.GetName(), strings.Join(silent, ", "))
			}
		}
		if upToDate(c.desired, c.live, desired, live) {
			continue
		}
		found.complete = false
		if err := r.apply(ctx, c.desired, inert(desired, live)); err != nil {
			return found, fmt.Errorf("applying the %s webhook configuration %s: %w", c.kind, c.desired.GetName(), err)
		}
	}
	return found, nil
}

// deleteOthers deletes the configurations of scopes that have no policies any longer.
func (r *Registrar) deleteOthers(ctx context.Context, wanted []Pair) error {
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	if err := errors.Join(r.client.List(ctx, &validating), r.client.List(ctx, &mutating)); err != nil {
		return fmt.Errorf("listing the webhook configurations: %w", err)
	}
	var live []client.Object
	for i := range validating.Items {
		live = append(live, &validating.Items[i])
	}
	for i := range mutating.Items {
		live = append(live, &mutating.Items[i])
	}
	var failures []error
	for _, config := range live {
		isWanted := func(pair Pair) bool { return pair.Validating.Name == config.GetName() }
		if !isOfScope(config) || !config.GetDeletionTimestamp().IsZero() || slices.ContainsFunc(wanted, isWanted) {
			continue
		}
		err := r.client.Delete(ctx, config, client.Preconditions{UID: new(config.GetUID())})
		if client.IgnoreNotFound(err) != nil {
			failures = append(failures, fmt.Errorf("deleting the webhook configuration %s: %w", config.GetName(), err))
		}
	}
	return errors.Join(failures...)
}

// add joins what became of further configurations.
func (f *registration) add(other registration) {
	f.complete = f.complete && other.complete
	if f.missing == "" {
		f.missing = other.missing
	}
}
