package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
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
	templateKind = schema.GroupKind{Group: "templates.gatekeeper.sh", Kind: "ConstraintTemplate"}
	settingKinds = []schema.GroupKind{
		{Group: "config.gatekeeper.sh", Kind: "Config"},
		{Group: "syncset.gatekeeper.sh", Kind: "SyncSet"},
		{Group: "expansion.gatekeeper.sh", Kind: "ExpansionTemplate"},
		{Group: mutationGroup, Kind: "Assign"},
		{Group: mutationGroup, Kind: "AssignImage"},
		{Group: mutationGroup, Kind: "AssignMetadata"},
		{Group: mutationGroup, Kind: "ModifySet"},
	}
	// idleKinds have no effect in Lintel, as the status of their objects reports.
	idleKinds = []schema.GroupKind{
		{Group: providerGroup, Kind: "Provider"},
		{Group: connectionGroup, Kind: "Connection"},
	}
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
