package audit

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/rules"
)

const (
	// againInterval is the minimum interval of lists that are repeated because something else
	// than the objects has changed: cluster objects, Namespaces, or the time.
	againInterval = time.Minute
	// clockInterval is how often policies that read the time are evaluated.
	clockInterval = 10 * time.Minute
	// maxPause limits the pause after an evaluation, which otherwise takes as long as the
	// evaluation: audit uses at most half of one processor.
	maxPause = 50 * time.Millisecond
)

// auditor keeps the ledger in sync with the cluster and the live policies.
type auditor struct {
	snapshot   func() *engine.Snapshot
	cluster    func() *clusterdata.Objects
	namespaces rules.NamespaceGetter
	lists      func(admission.ServedResource) cache.ListerWatcher
	excluded   []string
	limit      int // of results per policy, of all replicas together
	ledger     *audit.Ledger
	metrics    *metrics
	now        func() time.Time // that exceptions and policies read

	wanted  chan struct{} // the policies or the kinds have changed
	changed chan struct{} // the ledger or the state of a kind has changed
	slot    chan struct{} // one evaluation at a time
	running sync.WaitGroup

	mu         sync.Mutex // over the fields below, and those of kinds
	membership membership
	current    *audit.Auditor
	targets    []audit.Target                       // of all replicas
	started    time.Time                            // when there was a first snapshot
	epoch      int                                  // counts changes of policies, data and shards
	kinds      map[admission.GroupVersionKind]*kind // without version
	// again are kinds whose objects must be evaluated again for other reasons than a change of
	// them, and repeated is when that was last done.
	seen     *clusterdata.Objects // at the last repeated lists
	stale    map[string]bool      // namespaces that have changed since
	repeated time.Time
	clocked  time.Time
	// inForce are the exceptions that had an effect at the last comparison.
	inForce []*exception.Exception
}

func newAuditor(a *auditor) *auditor {
	a.wanted, a.changed, a.slot = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	a.kinds, a.stale = map[admission.GroupVersionKind]*kind{}, map[string]bool{}
	return a
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Start follows the kinds until the context ends.
func (a *auditor) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer a.running.Wait()
	defer cancel()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	signal(a.wanted)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.wanted:
			a.adjust(ctx)
		case <-ticker.C:
			a.tick(a.now())
		}
	}
}

// adjust starts and stops kinds for the live snapshot, and lists those again for which other
// policies decide than before.
func (a *auditor) adjust(ctx context.Context) {
	snapshot := a.snapshot()
	if snapshot == nil {
		return
	}
	next := audit.New(snapshot, a.excluded)
	all := next.Targets()
	a.mu.Lock()
	defer a.mu.Unlock()
	shards := a.membership.shards
	if shards == nil {
		return // whether other replicas audit is not known yet
	}
	targets := map[admission.GroupVersionKind]audit.Target{}
	for _, target := range all {
		if target.Resource.Namespaced || shards.Owns("") {
			targets[target.Kind().WithoutVersion()] = target
		}
	}
	now := a.now()
	a.followExceptions(now)
	a.inForce = snapshot.ExceptionsInForce(now)
	var before *engine.Snapshot
	if a.current != nil {
		before = a.current.Snapshot()
	}
	if a.current == nil {
		a.started = time.Now()
	}
	a.current, a.targets = next, all
	a.epoch++
	for of, running := range a.kinds {
		if target, ok := targets[of]; ok && target.Resource == running.target.Resource {
			continue
		}
		running.cancel()
		delete(a.kinds, of)
		a.ledger.Retain(func(object audit.Object) bool { return object.Kind.WithoutVersion() != of })
	}
	for of, target := range targets {
		running := a.kinds[of]
		switch {
		case running == nil:
			a.kinds[of] = a.start(ctx, target)
		case !snapshot.AuditsAlike(before, of):
			running.target.Policies = target.Policies
			a.expire(of, "")
		default:
			running.target.Policies = target.Policies
		}
	}
	signal(a.changed)
}

// start follows a kind. The caller holds the mutex.
func (a *auditor) start(ctx context.Context, target audit.Target) *kind {
	ctx, cancel := context.WithCancel(ctx)
	started := &kind{
		target: target, evaluate: a.evaluate, ledger: a.ledger, cancel: cancel, restart: make(chan struct{}, 1),
		changed: func() { signal(a.changed) },
		guard: func(f func()) {
			a.mu.Lock()
			defer a.mu.Unlock()
			f()
		},
	}
	a.running.Go(func() { started.run(ctx, a.lists) })
	return started
}

// expire evaluates the objects of a kind again, in one namespace or in all. The caller holds the
// mutex.
func (a *auditor) expire(of admission.GroupVersionKind, namespace string) {
	running := a.kinds[of]
	if running == nil {
		return
	}
	a.ledger.Expire(func(object audit.Object) bool {
		return object.Kind.WithoutVersion() == of && (namespace == "" || object.Namespace == namespace)
	})
	a.epoch++
	running.relist()
}

// NamespaceChanged makes the objects of a namespace be evaluated again by policies that depend
// on it.
func (a *auditor) NamespaceChanged(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stale[name] = true
}

// tick evaluates objects again for which something else than themselves has changed.
func (a *auditor) tick(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followExceptions(now)
	a.repeat(now)
}

// repeat evaluates objects again whose results may have changed without a change of them. It
// does so at most once in againInterval. The caller holds the mutex.
func (a *auditor) repeat(now time.Time) {
	if now.Sub(a.repeated) < againInterval {
		return
	}
	cluster, clock := a.cluster(), now.Sub(a.clocked) >= clockInterval
	data := a.seen != nil && a.seen != cluster
	for of, running := range a.kinds {
		if failure, ok := errors.AsType[*evaluationError](running.failure); ok && now.Sub(failure.at) >= againInterval {
			signal(running.restart)
		}
		if running.listed.IsZero() {
			continue // on its way
		}
		reads := func(why func(engine.PolicyInfo) bool) bool { return slices.ContainsFunc(running.target.Policies, why) }
		switch {
		case data && reads(func(info engine.PolicyInfo) bool { return len(info.Requires) > 0 }),
			clock && reads(func(info engine.PolicyInfo) bool { return info.Clock }):
			a.repeated = now
			a.expire(of, "")
		case len(a.stale) > 0 && reads(func(info engine.PolicyInfo) bool { return info.DependsOnNamespace }):
			a.repeated = now
			for namespace := range a.stale {
				a.expire(of, namespace)
			}
		}
	}
	a.seen = cluster
	clear(a.stale)
	if clock {
		a.clocked = now
	}
	if len(a.ledger.Truncated()) > 0 {
		a.repeated = now
		for _, object := range a.ledger.Truncated() {
			a.expire(object.Kind.WithoutVersion(), object.Namespace)
		}
	}
}

// evaluate evaluates an object of the shards of this replica unless its content is known. It waits
// for its turn.
func (a *auditor) evaluate(ctx context.Context, resource admission.ServedResource, object *unstructured.Unstructured) error {
	if isSkipped(object) || !a.owns(object.GetNamespace()) {
		return nil
	}
	name := audit.Object{
		Kind:      admission.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind},
		Namespace: object.GetNamespace(), Name: strings.Clone(object.GetName()), UID: string(object.GetUID()),
	}
	text, err := contentOf(object)
	if err == nil {
		sum := sha256.Sum256(text)
		for done := false; !done && err == nil; {
			done, err = a.evaluateOnce(ctx, resource, name, text, audit.Digest(sum[:16]))
		}
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	a.metrics.failures.Inc()
	return &evaluationError{object: strings.TrimSpace(name.Kind.String() + " " + strings.TrimPrefix(name.Namespace+"/"+name.Name, "/")), at: time.Now(), err: err}
}

// evaluateOnce is not done if policies or data changed meanwhile.
func (a *auditor) evaluateOnce(ctx context.Context, resource admission.ServedResource, name audit.Object, text []byte, digest audit.Digest) (done bool, err error) {
	a.mu.Lock()
	current, epoch := a.current, a.epoch
	owned := a.membership.shards.Owns(name.Namespace)
	a.mu.Unlock()
	if !owned || current.ExcludesNamespace(name.Namespace) || a.ledger.Has(name, digest) {
		return true, nil
	}
	select {
	case a.slot <- struct{}{}:
		defer func() { <-a.slot }()
	case <-ctx.Done():
		return true, ctx.Err()
	}
	options := engine.Options{Cluster: a.cluster(), Clock: a.now}
	if name.Namespace != "" {
		namespace, err := a.namespaces.Namespace(ctx, name.Namespace)
		if err == nil {
			options.Namespace, err = engine.ReadNamespace(namespace)
		}
		if apierrors.IsNotFound(err) { // it was deleted together with the object
			a.ledger.Remove(name)
			return true, nil
		}
		if err != nil {
			return true, err
		}
	}
	started := time.Now()
	found, err := current.Evaluate(ctx, text, resource, options)
	if err != nil {
		return true, err
	}
	a.metrics.evaluations.Inc()
	a.metrics.seconds.Add(time.Since(started).Seconds())
	if !a.record(epoch, name, digest, found.Results, started) {
		return false, nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(time.Since(started), maxPause)):
	}
	return true, nil
}

// record is false if policies or data changed since the epoch.
func (a *auditor) record(epoch int, name audit.Object, digest audit.Digest, results []audit.Result, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.epoch != epoch:
		return false
	case a.kinds[name.Kind.WithoutVersion()] == nil: // no longer audited
		return true
	}
	a.ledger.Set(name, digest, results, now)
	signal(a.changed)
	return true
}
