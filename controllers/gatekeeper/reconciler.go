package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	policysource "github.com/lintel-policy/lintel/policies/source"
)

const (
	// sourceName is the name of the PolicySource for the cluster's objects.
	sourceName = "gatekeeper"
	// fieldManager owns the fields that this package writes.
	fieldManager = "lintel-gatekeeper"
	// lookAgain is the interval of checks for missing kinds, and kindDelay the interval while a
	// kind is being created.
	lookAgain = 30 * time.Second
	kindDelay = time.Second
	// kindTimeout limits how long one template may delay the others.
	kindTimeout = 10 * time.Second
	// patience is the number of consecutive evaluations without a verdict before each object is
	// evaluated by itself.
	patience = 3
)

// The kinds to list in the cluster; each may be missing.
var (
	providerKind = schema.GroupKind{Group: providerGroup, Kind: "Provider"}
	templateKind = schema.GroupKind{Group: "templates.gatekeeper.sh", Kind: "ConstraintTemplate"}
	settingKinds = []schema.GroupKind{
		{Group: "config.gatekeeper.sh", Kind: "Config"},
		{Group: "syncset.gatekeeper.sh", Kind: "SyncSet"},
		{Group: "expansion.gatekeeper.sh", Kind: "ExpansionTemplate"},
		providerKind,
		{Group: mutationGroup, Kind: "Assign"},
		{Group: mutationGroup, Kind: "AssignImage"},
		{Group: mutationGroup, Kind: "AssignMetadata"},
		{Group: mutationGroup, Kind: "ModifySet"},
	}
	// idleKinds have no effect in Lintel, as the status of their objects reports.
	idleKinds = []schema.GroupKind{{Group: connectionGroup, Kind: "Connection"}}
)

// The groups of mutators, providers and connections.
const (
	mutationGroup   = "mutations.gatekeeper.sh"
	providerGroup   = "externaldata.gatekeeper.sh"
	connectionGroup = "connection.gatekeeper.sh"
)

// Options are the dependencies of the controller.
type Options struct {
	// Evaluate runs the gate of package policy.
	Evaluate func(context.Context, definition.Source) (policysource.Verdict, error)
	// Readable returns why policies cannot read a kind, and how to permit it: "" if they can.
	Readable func(context.Context, admission.GroupVersionKind) (why string, err error)
	// Resources is the table of the kinds that the cluster serves.
	Resources func() *admission.Resources
	// HasDataSource reports whether a DataSource of a name exists.
	HasDataSource func(ctx context.Context, name string) (bool, error)
	// Audits reports that audit is on: it evaluates constraints that review no requests.
	Audits bool
	// Registerer registers the metrics.
	Registerer prometheus.Registerer
}

// Reconciler maintains the source, on the leader. It has a single request for all objects.
type Reconciler struct {
	client     client.Client
	applier    *object.Applier
	cache      cache.Cache
	mapper     meta.RESTMapper
	events     events.EventRecorder
	controller controller.Controller
	options    Options
	watched    map[schema.GroupVersionKind]bool
	made       map[types.UID]int64         // generations of templates that have their kind
	announced  map[string]string           // messages by object
	statuses   map[types.UID]writtenStatus // the last written status of each object
	metric     *prometheus.GaugeVec        // objects that are not enforced, by kind and name
	unknown    int                         // times in a row that nothing could be found out
	built      built
}

// built is the result for the same candidates under the same opinion.
type built struct {
	of       string
	kept     []*candidate
	problems []problem
}

// SetupWithManager adds the controller to the manager.
func SetupWithManager(mgr manager.Manager, options Options) error {
	r := &Reconciler{
		client: mgr.GetClient(), cache: mgr.GetCache(), mapper: mgr.GetRESTMapper(), options: options,
		applier: &object.Applier{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Manager: fieldManager},
		events:  mgr.GetEventRecorder("lintel-manager"),
		watched: map[schema.GroupVersionKind]bool{}, made: map[types.UID]int64{}, announced: map[string]string{},
		statuses: map[types.UID]writtenStatus{}, metric: newMetric(),
	}
	if err := options.Registerer.Register(r.metric); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	var err error
	if r.controller, err = controller.New(fieldManager, mgr, controller.Options{Reconciler: r}); err != nil {
		return fmt.Errorf("setting up the controller for Gatekeeper's objects: %w", err)
	}
	start := make(chan event.GenericEvent, 1)
	start <- event.GenericEvent{Object: &unstructured.Unstructured{}}
	ours := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == sourceName })
	return errors.Join(
		r.controller.Watch(source.Channel(start, everything())),
		// An object is reported as enforced once every replica serves it.
		r.controller.Watch(source.Kind[client.Object](r.cache, &v1alpha1.PolicySource{}, everything(), ours)),
	)
}

// everything maps any object to the single request.
func everything() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return object.Request("", sourceName) })
}

// Reconcile gathers the objects and creates the kinds of templates; builds the source of the
// objects that can be in force together, applies it, and reports the result in the status of
// each object.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	existing := &v1alpha1.PolicySource{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: sourceName}, existing); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading PolicySource %s: %w", sourceName, err)
	}
	g, err := r.gather(ctx, filesIn(existing))
	if err != nil {
		return reconcile.Result{}, err
	}
	kept, problems, err := r.build(ctx, existing, newCandidates(g.settings, g.templates, g.constraints, filesIn(existing)))
	if err != nil {
		return reconcile.Result{}, err
	}
	problems = firstOfEach(slices.Concat(problems, g.problems))
	r.announce(problems)
	var files map[string]string
	if hasEffect(kept) { // otherwise there is nothing to enforce
		files = layoutOf(kept).files
	}
	if err := r.apply(ctx, existing, files, problems); err != nil {
		return reconcile.Result{}, err
	}
	return object.Result(g.again, r.report(ctx, existing, isLive(existing, files), kept, problems))
}

// gathered contains the objects of the cluster.
type gathered struct {
	settings, templates, constraints []unstructured.Unstructured
	problems                         []problem
	again                            time.Duration // until the cluster may have more
}

func (r *Reconciler) gather(ctx context.Context, present map[string]string) (g gathered, err error) {
	g.again = lookAgain
	if g.templates, err = r.list(ctx, templateKind); err != nil {
		return g, err
	}
	for _, kind := range settingKinds {
		found, err := r.list(ctx, kind)
		if err != nil {
			return g, err
		}
		for _, object := range found {
			if kind == providerKind {
				if why, err := r.unservedProvider(ctx, object, present); err != nil {
					return g, err
				} else if why.message != "" {
					if g.problems = append(g.problems, why); !why.kept {
						continue
					}
				}
			}
			served, why := withoutUnserved(object, r.options.Resources())
			if g.settings = append(g.settings, served); why != "" {
				g.problems = append(g.problems, problem{object: object, message: why})
			}
		}
	}
	g.problems = append(g.problems, r.idle(ctx)...)
	for _, template := range g.templates {
		kind := constraintKind(template)
		if kind == "" {
			continue
		}
		found, err := r.constraintsOf(ctx, template)
		if err != nil {
			// The previous version stays in force, and the other templates do not wait.
			g.problems = append(g.problems, problem{object: template, message: err.Error()})
			found = slices.DeleteFunc(objectsOf(present), func(object unstructured.Unstructured) bool {
				return object.GroupVersionKind().Group != constraintGroup || object.GetKind() != kind
			})
		}
		if !r.watched[constraintOf(kind)] {
			g.again = kindDelay
		}
		g.constraints = append(g.constraints, found...)
	}
	r.forget(ctx, g.templates)
	return g, nil
}

// idle returns the objects that have no effect in Lintel.
func (r *Reconciler) idle(ctx context.Context) (problems []problem) {
	for _, kind := range idleKinds {
		bounded, cancel := context.WithTimeout(ctx, kindTimeout)
		found, err := r.list(bounded, kind)
		cancel()
		if err != nil { // enforcement does not depend on these kinds
			log.FromContext(ctx).Error(err, "listing Gatekeeper objects without effect", "kind", kind.String())
		}
		for _, object := range found {
			problems = append(problems, problem{object: object, message: gatekeeper.NotCarriedOut(kind.Group)})
		}
	}
	return problems
}

// constraintsOf creates the kind of a template and lists the constraints.
func (r *Reconciler) constraintsOf(ctx context.Context, template unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	bounded, cancel := context.WithTimeout(ctx, kindTimeout)
	defer cancel()
	if err := r.ensureKind(bounded, template); err != nil {
		return nil, err
	}
	return r.list(bounded, schema.GroupKind{Group: constraintGroup, Kind: constraintKind(template)})
}

// build evaluates all candidates together, and finds the wrong ones only if that fails. The
// result for the same candidates is cached.
func (r *Reconciler) build(ctx context.Context, existing *v1alpha1.PolicySource, list []*candidate) ([]*candidate, []problem, error) {
	evaluate := func(files map[string]string) opinion { return r.opinionOf(ctx, existing, files) }
	whole := layoutOf(list)
	found := evaluate(whole.files)
	if found.passed() {
		r.unknown, r.built = 0, built{}
		return list, nil, nil
	}
	if found.unknown != nil && r.unknown < patience {
		r.unknown++
		return nil, nil, found.unknown
	}
	r.unknown = 0
	question := digestOf(whole.files) + digestOf(filesIn(existing)) + found.String()
	if r.built.of != question || found.unknown != nil {
		kept, problems := choose(list, evaluate)
		r.built = built{question, kept, problems}
	}
	return r.built.kept, r.built.problems, nil
}

func filesIn(object *v1alpha1.PolicySource) map[string]string {
	if object.Spec.Inline == nil {
		return nil
	}
	return object.Spec.Inline.Files
}

// isLive reports whether every replica serves these files.
func isLive(object *v1alpha1.PolicySource, files map[string]string) bool {
	digest := digestOf(files)
	return len(files) > 0 && object.Status.Digest == digest && len(object.Status.Replicas) > 0 &&
		!slices.ContainsFunc(object.Status.Replicas, func(replica v1alpha1.ReplicaStatus) bool { return replica.Digest != digest })
}

// report writes into the status of each object whether it is enforced. It reports success only
// once every replica serves the source.
func (r *Reconciler) report(ctx context.Context, existing *v1alpha1.PolicySource, live bool, kept []*candidate, problems []problem) error {
	var errs []error
	var inactive map[string]string
	if live {
		var err error
		inactive, err = r.inactive(ctx, existing, kept)
		errs = append(errs, err)
	}
	reported := map[string]bool{}
	for _, p := range problems {
		reported[id(p.object)] = true
		errs = append(errs, r.reportTo(ctx, p.object, p.text()))
	}
	for _, c := range kept {
		isTemplate := c.object.GroupVersionKind().Group == templateKind.Group
		if !reported[id(c.object)] && (live || isTemplate) {
			errs = append(errs, r.reportTo(ctx, c.object, inactive[id(c.object)]))
		}
	}
	return errors.Join(errs...)
}

func constraintOf(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: constraintGroup, Version: constraintVersion, Kind: kind}
}

// list watches a kind and returns its objects: none while the cluster does not serve the kind.
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
		written := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
		if err := r.controller.Watch(source.Kind[client.Object](r.cache, object, everything(), written)); err != nil {
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

// ensureKind creates the constraint kind of a template, unless Gatekeeper has created it.
func (r *Reconciler) ensureKind(ctx context.Context, template unstructured.Unstructured) error {
	kind := constraintKind(template)
	if r.watched[constraintOf(kind)] && r.made[template.GetUID()] == template.GetGeneration() {
		return nil
	}
	ours := func(existing client.Object) bool { return existing.GetLabels()[templateLabel] == template.GetName() }
	apply := func(withSchema bool) error {
		crd, existing := crdOf(template, withSchema), &unstructured.Unstructured{}
		existing.SetGroupVersionKind(crd.GroupVersionKind())
		_, err := r.applier.Apply(ctx, ours, crd, existing)
		return err
	}
	err := apply(true)
	if apierrors.IsInvalid(err) { // a schema of older days
		err = apply(false)
	}
	switch foreign := (*object.Foreign)(nil); {
	case errors.As(err, &foreign):
		return nil
	case err != nil:
		return fmt.Errorf("making the kind of template %s: %w", template.GetName(), err)
	}
	r.made[template.GetUID()] = template.GetGeneration()
	return nil
}

// forget stops the informers of kinds whose templates were deleted.
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

// announce sends one Event for each object whose current version is not enforced.
func (r *Reconciler) announce(problems []problem) {
	r.count(problems)
	now := map[string]string{}
	for _, p := range problems {
		key, message := id(p.object), p.text()
		now[key] = message
		if r.announced[key] != message {
			object.Send(r.events, &p.object, "Compile", object.Event{Warning: true, Reason: "NotEnforced", Message: message})
		}
	}
	r.announced = now
}

// maxProblemText and maxListed limit the source's list of objects that are not enforced.
const maxProblemText, maxListed = 300, 100

// summary lists the objects that are not enforced, for the source's annotation: "" if all are.
func summary(problems []problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, id(p.object)+": "+object.Shorten(p.text(), maxProblemText))
	}
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("not enforced: %d of the cluster's objects: %s", len(lines), strings.Join(lines[:min(len(lines), maxListed)], "; "))
}

// apply updates the source to the files, and deletes it if there are none.
func (r *Reconciler) apply(ctx context.Context, existing *v1alpha1.PolicySource, files map[string]string, problems []problem) error {
	notEnforced := summary(problems)
	if maps.Equal(files, filesIn(existing)) && existing.Annotations[v1alpha1.NotEnforcedAnnotation] == notEnforced {
		return nil
	}
	switch {
	case len(files) == 0 && existing.Name == "":
		return nil
	case len(files) == 0:
		if err := r.client.Delete(ctx, existing); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting PolicySource %s: %w", sourceName, err)
		}
		return nil
	}
	wanted, err := sourceObject(files, notEnforced)
	if err == nil {
		// The source is not created with Create: the role permits only one name, which only an
		// apply specifies in the URL.
		wanted.SetUID(existing.UID)
		err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(fieldManager), client.ForceOwnership)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("applying PolicySource %s: %w", sourceName, err)
	return errors.Join(err, r.reportStale(ctx, existing, err))
}

// reportStale reports in the status of a source that it could not be updated.
func (r *Reconciler) reportStale(ctx context.Context, existing *v1alpha1.PolicySource, why error) error {
	self := unstructured.Unstructured{}
	self.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("PolicySource"))
	self.SetName(sourceName)
	stale := []problem{{object: self, message: "what the cluster has now is not in force: " + why.Error()}}
	r.count(stale)
	if notEnforced := summary(stale); existing.Name != "" && existing.Annotations[v1alpha1.NotEnforcedAnnotation] != notEnforced {
		patch := client.MergeFrom(existing.DeepCopy())
		metav1.SetMetaDataAnnotation(&existing.ObjectMeta, v1alpha1.NotEnforcedAnnotation, notEnforced)
		return r.client.Patch(ctx, existing, patch, client.FieldOwner(fieldManager))
	}
	return nil
}
