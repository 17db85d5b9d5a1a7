package gatekeeper

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
)

const (
	// sourceName is the PolicySource that holds what the cluster has.
	sourceName = "gatekeeper"
	fieldOwner = client.FieldOwner("lintel-gatekeeper")
	// lookAgain is how often kinds are looked for that are not there, and soon how
	// often while one is being made.
	lookAgain = 30 * time.Second
	soon      = time.Second
)

// templateKind and settingKinds are looked for in the cluster; each may be absent.
var (
	templateKind = schema.GroupKind{Group: "templates.gatekeeper.sh", Kind: "ConstraintTemplate"}
	settingKinds = []schema.GroupKind{
		{Group: "config.gatekeeper.sh", Kind: "Config"},
		{Group: "syncset.gatekeeper.sh", Kind: "SyncSet"},
		{Group: "expansion.gatekeeper.sh", Kind: "ExpansionTemplate"},
	}
)

// Reconciler keeps the source, on the leader. It has one request, which is for
// everything.
type Reconciler struct {
	client     client.Client
	cache      cache.Cache
	mapper     meta.RESTMapper
	events     events.EventRecorder
	controller controller.Controller
	compiles   check
	watched    map[schema.GroupVersionKind]bool
	made       map[types.UID]int64 // generations of templates that have their kind
	reported   map[string]string   // messages by object
}

// SetupWithManager starts it with the manager. compile says whether files compile.
func SetupWithManager(mgr manager.Manager, compile func(context.Context, engine.Source) (*engine.PolicySet, error)) error {
	r := &Reconciler{
		client: mgr.GetClient(), cache: mgr.GetCache(), mapper: mgr.GetRESTMapper(),
		events:  mgr.GetEventRecorder("lintel-manager"),
		watched: map[schema.GroupVersionKind]bool{}, made: map[types.UID]int64{}, reported: map[string]string{},
	}
	r.compiles = checker(func(candidate engine.Source) error {
		_, err := compile(context.Background(), candidate)
		return err
	})
	var err error
	if r.controller, err = controller.New("lintel-gatekeeper", mgr, controller.Options{Reconciler: r}); err != nil {
		return fmt.Errorf("setting up the controller for Gatekeeper's objects: %w", err)
	}
	start := make(chan event.GenericEvent, 1)
	start <- event.GenericEvent{Object: &unstructured.Unstructured{}}
	return r.controller.Watch(source.Channel(start, everything()))
}

// everything asks for the one request.
func everything() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: sourceName}}}
	})
}

// Reconcile gathers the objects, gives templates their kinds, and applies the source.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	templates, err := r.list(ctx, templateKind)
	if err != nil {
		return reconcile.Result{}, err
	}
	var settings []unstructured.Unstructured
	for _, kind := range settingKinds {
		found, err := r.list(ctx, kind)
		if err != nil {
			return reconcile.Result{}, err
		}
		settings = append(settings, found...)
	}
	next := lookAgain
	var constraints []unstructured.Unstructured
	for _, template := range templates {
		kind := constraintKind(template)
		if kind == "" {
			continue
		}
		if err := r.ensureKind(ctx, template); err != nil {
			return reconcile.Result{}, err
		}
		found, err := r.list(ctx, schema.GroupKind{Group: constraintGroup, Kind: kind})
		if err != nil {
			return reconcile.Result{}, err
		}
		if !r.watched[constraintOf(kind)] {
			next = soon
		}
		constraints = append(constraints, found...)
	}
	r.forget(ctx, templates)
	files, problems := filesOf(settings, templates, constraints, r.compiles)
	r.report(problems)
	return reconcile.Result{RequeueAfter: next}, r.apply(ctx, files)
}

func constraintOf(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: constraintGroup, Version: constraintVersion, Kind: kind}
}

// list watches a kind, and gives its objects: none while the cluster does not have it.
func (r *Reconciler) list(ctx context.Context, kind schema.GroupKind) ([]unstructured.Unstructured, error) {
	var versions []string
	if kind.Group == constraintGroup {
		versions = []string{constraintVersion}
	}
	mapping, err := r.mapper.RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for kind %s: %w", kind, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if !r.watched[mapping.GroupVersionKind] {
		if err := r.controller.Watch(source.Kind[client.Object](r.cache, object, everything())); err != nil {
			return nil, fmt.Errorf("watching %s: %w", kind, err)
		}
		r.watched[mapping.GroupVersionKind] = true
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := r.cache.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind, err)
	}
	return list.Items, nil
}

// ensureKind gives a template the kind of its constraints, unless Gatekeeper has.
func (r *Reconciler) ensureKind(ctx context.Context, template unstructured.Unstructured) error {
	kind := constraintKind(template)
	if r.watched[constraintOf(kind)] && r.made[template.GetUID()] == template.GetGeneration() {
		return nil
	}
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := r.client.Get(ctx, client.ObjectKey{Name: crdName(kind)}, existing)
	switch {
	case err == nil && existing.GetLabels()[templateLabel] != template.GetName():
		return nil
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading the kind of template %s: %w", template.GetName(), err)
	}
	err = r.applyObject(ctx, crdOf(template, true))
	if apierrors.IsInvalid(err) { // a schema of older days
		err = r.applyObject(ctx, crdOf(template, false))
	}
	if err != nil {
		return fmt.Errorf("making the kind of template %s: %w", template.GetName(), err)
	}
	r.made[template.GetUID()] = template.GetGeneration()
	return nil
}

func (r *Reconciler) applyObject(ctx context.Context, object *unstructured.Unstructured) error {
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
}

// forget ends the watching of kinds whose templates are gone.
func (r *Reconciler) forget(ctx context.Context, templates []unstructured.Unstructured) {
	wanted := map[string]bool{}
	for _, template := range templates {
		wanted[constraintKind(template)] = true
	}
	for kind := range r.watched {
		if kind.Group != constraintGroup || wanted[kind.Kind] {
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		if err := r.cache.RemoveInformer(ctx, object); err != nil {
			log.FromContext(ctx).Error(err, "ending a watch", "kind", kind.String())
			continue
		}
		delete(r.watched, kind)
	}
}

// report tells of each object that stays out, once.
func (r *Reconciler) report(problems []problem) {
	now := map[string]string{}
	for _, p := range problems {
		key := p.object.GetKind() + "/" + p.object.GetName()
		now[key] = p.message
		if r.reported[key] != p.message {
			r.events.Eventf(&p.object, nil, corev1.EventTypeWarning, "NotEnforced", "Compile", "%s", first(p.message))
		}
	}
	r.reported = now
}

// first keeps a message within what an Event holds.
func first(message string) string {
	const limit = 1000
	if len(message) > limit {
		return message[:limit] + "…"
	}
	return message
}

// apply keeps the source as the files are: without any there is none.
func (r *Reconciler) apply(ctx context.Context, files map[string]string) error {
	existing := &v1alpha1.PolicySource{}
	err := client.IgnoreNotFound(r.client.Get(ctx, client.ObjectKey{Name: sourceName}, existing))
	if err != nil {
		return fmt.Errorf("reading PolicySource %s: %w", sourceName, err)
	}
	present := map[string]string{}
	if existing.Spec.Inline != nil {
		present = existing.Spec.Inline.Files
	}
	if maps.Equal(files, present) {
		return nil
	}
	if len(files) == 0 {
		err = client.IgnoreNotFound(r.client.Delete(ctx, existing))
	} else {
		var object *unstructured.Unstructured
		if object, err = sourceObject(files); err == nil {
			err = r.applyObject(ctx, object)
		}
	}
	if err != nil {
		return fmt.Errorf("applying PolicySource %s: %w", sourceName, err)
	}
	return nil
}
