package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/policies/audit"
)

const (
	// fieldManager owns the fields that this package writes.
	fieldManager = "lintel-audit"
	// writeInterval and writeBurst bound the writes of one group of reports: after a burst, one
	// in each interval. The first changes after a quiet time appear without delay.
	writeInterval = time.Minute
	writeBurst    = 10
	// quietTime is how long a group is left alone after a change, so that one write contains
	// the changes of a burst, and maxDelay the maximum.
	quietTime = time.Second
	maxDelay  = 3 * time.Second
	// crdInterval is how often missing kinds of reports are looked for.
	crdInterval = 10 * time.Second
)

// reporter keeps the reports of the shards of this replica in sync with the ledger, and restores those
// that others edit or delete. It follows the metadata of all reports: if another replica that owned a
// shard before still writes one, this replica writes it again.
type reporter struct {
	ledger   *audit.Ledger
	format   audit.Format
	limit    int
	writer   dynamic.Interface
	metadata metadata.Interface
	// isReady reports whether the objects of a source were evaluated as far as possible: reports
	// of another replica are not replaced before.
	isReady func(source string) bool
	// owns reports whether a namespace is of a shard of this replica, and mayWrite whether its
	// Lease is in force.
	owns     func(namespace string) bool
	mayWrite func() bool
	metrics  *metrics
	now      func() time.Time

	mu       sync.Mutex                // over the fields below
	missing  map[bool]string           // why no reports can be written, for namespaced ones and others
	failures map[audit.GroupKey]string // of the last write of a group
	listed   map[bool]bool
	present  map[types.NamespacedName]audit.GroupKey
	versions map[types.NamespacedName]string // resource versions as this replica wrote them
	observed map[types.NamespacedName]string // resource versions of the last events
	suspects map[types.NamespacedName]time.Time
	pending  map[audit.GroupKey]*pendingGroup
	limiters map[audit.GroupKey]*rate.Limiter
}

// pendingGroup is a group of reports that has changed.
type pendingGroup struct{ first, last time.Time }

func newReporter(r *reporter) *reporter {
	r.listed, r.present, r.versions = map[bool]bool{}, map[types.NamespacedName]audit.GroupKey{}, map[types.NamespacedName]string{}
	r.observed, r.suspects = map[types.NamespacedName]string{}, map[types.NamespacedName]time.Time{}
	r.pending, r.limiters = map[audit.GroupKey]*pendingGroup{}, map[audit.GroupKey]*rate.Limiter{}
	r.failures, r.missing = map[audit.GroupKey]string{}, map[bool]string{}
	return r
}

// problem is why reports are not complete: empty if they are.
func (r *reporter) problem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if missing := r.unavailable(); missing != "" || len(r.failures) == 0 {
		return missing
	}
	return slices.Min(slices.Collect(maps.Values(r.failures)))
}

// Start follows and writes reports until the context ends.
func (r *reporter) Start(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, namespaced := range []bool{true, false} {
		running.Go(func() { r.follow(ctx, namespaced) })
	}
	ticker := time.NewTicker(quietTime / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.flush(ctx)
		}
	}
}

func (r *reporter) resource(namespaced bool) schema.GroupVersionResource {
	kind, _ := r.format.Kinds()
	return kind.GroupVersion().WithResource(r.format.Resource(namespaced))
}

// unavailable is why reports cannot be written: the same text until one of the reasons changes. The
// caller holds the mutex.
func (r *reporter) unavailable() string { return cmp.Or(r.missing[true], r.missing[false]) }

// cannotList notes that reports cannot be listed.
func (r *reporter) cannotList(ctx context.Context, namespaced bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.unavailable() == ""
	r.listed[namespaced] = false
	r.missing[namespaced] = fmt.Sprintf("reports are not written: listing %s: %v", r.resource(namespaced).GroupResource(), err)
	if apierrors.IsNotFound(err) {
		r.missing[namespaced] = fmt.Sprintf("reports are not written: the cluster does not serve %s; install config/reports, or set --audit-reports", r.resource(namespaced).GroupResource())
	}
	if first {
		log.FromContext(ctx).Info("reports of audit", "problem", r.missing[namespaced])
	}
}

// follow lists and watches the metadata of reports.
func (r *reporter) follow(ctx context.Context, namespaced bool) {
	objects := r.metadata.Resource(r.resource(namespaced))
	selected := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector = audit.ManagedByLabel + "=" + audit.ReportSource
		return options
	}
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, selected(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, selected(options))
		},
	}, r.metadata), &metav1.PartialObjectMetadata{}, &reportStore{r, namespaced}, cache.ReflectorOptions{Name: "audit reports"})
	for ctx.Err() == nil {
		err := reflector.ListAndWatchWithContext(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		r.cannotList(ctx, namespaced, err)
		select {
		case <-ctx.Done():
		case <-time.After(crdInterval):
		}
	}
}

// reportStore receives the metadata of reports from a reflector.
type reportStore struct {
	reporter   *reporter
	namespaced bool
}

// Add implements cache.ReflectorStore.
func (s *reportStore) Add(object any) error {
	report, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	s.reporter.mu.Lock()
	defer s.reporter.mu.Unlock()
	s.reporter.seen(report)
	return nil
}

// Update implements cache.ReflectorStore.
func (s *reportStore) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s *reportStore) Delete(object any) error {
	report, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	r := s.reporter
	r.mu.Lock()
	defer r.mu.Unlock()
	key := types.NamespacedName{Namespace: report.GetNamespace(), Name: report.GetName()}
	if _, known := r.present[key]; known { // not deleted by this replica
		r.changed(r.present[key])
	}
	r.forget(key)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *reportStore) Replace(list []any, _ string) error {
	r := s.reporter
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, group := range maps.Clone(r.present) {
		if (key.Namespace != "") == s.namespaced {
			r.forget(key)
			r.changed(group)
		}
	}
	for _, object := range list {
		report, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		r.seen(report)
	}
	for _, group := range r.ledger.Groups() {
		r.changed(group)
	}
	r.listed[s.namespaced] = true
	delete(r.missing, s.namespaced)
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *reportStore) Resync() error { return nil }

// seen notes a report. One that is not as this replica wrote it is written again. The caller holds
// the mutex.
func (r *reporter) seen(report metav1.Object) {
	key := types.NamespacedName{Namespace: report.GetNamespace(), Name: report.GetName()}
	group := audit.GroupKey{Namespace: report.GetNamespace(), Source: audit.SourceOf(report)}
	if before, known := r.present[key]; known && before != group {
		group = before // the annotation was edited
	}
	r.present[key], r.observed[key] = group, report.GetResourceVersion()
	if r.versions[key] != report.GetResourceVersion() {
		r.suspects[key] = r.now()
	}
}

// compareSuspects finds the reports that others have written. An event may arrive before the
// response to the write that caused it. The caller holds the mutex.
func (r *reporter) compareSuspects() {
	now := r.now()
	for key, since := range r.suspects {
		if now.Sub(since) < quietTime/2 {
			continue
		}
		delete(r.suspects, key)
		if group, present := r.present[key]; present && r.versions[key] != r.observed[key] {
			r.changed(group)
		}
	}
}

// takeOver writes the reports again that this replica may own now, unless it wrote them last.
func (r *reporter) takeOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, group := range r.present {
		if r.versions[key] != r.observed[key] {
			r.changed(group)
		}
	}
	for _, group := range r.ledger.Groups() {
		r.changed(group)
	}
}

// forget forgets a report. The caller holds the mutex.
func (r *reporter) forget(key types.NamespacedName) {
	delete(r.present, key)
	delete(r.versions, key)
	delete(r.observed, key)
	delete(r.suspects, key)
}

// changed schedules a write of a group. The caller holds the mutex.
func (r *reporter) changed(group audit.GroupKey) {
	now := r.now()
	if r.pending[group] == nil {
		r.pending[group] = &pendingGroup{first: now}
	}
	r.pending[group].last = now
}

// flush writes the groups that are due.
func (r *reporter) flush(ctx context.Context) {
	for _, group := range r.due() {
		err := r.write(ctx, group)
		r.mu.Lock()
		switch {
		case err == nil:
			delete(r.failures, group)
		case ctx.Err() == nil:
			r.metrics.failures.Inc()
			r.failures[group] = "writing reports: " + err.Error()
			r.changed(group)
		}
		r.mu.Unlock()
	}
}

// due takes the groups that may be written now out of those that have changed.
func (r *reporter) due() (groups []audit.GroupKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compareSuspects()
	for _, group := range r.ledger.TakeChanged() {
		r.changed(group)
	}
	if !r.listed[true] || !r.listed[false] || !r.mayWrite() {
		return nil
	}
	now := r.now()
	for group, p := range r.pending {
		if !r.owns(group.Namespace) {
			delete(r.pending, group)
			delete(r.limiters, group)
			continue
		}
		if now.Sub(p.last) < quietTime && now.Sub(p.first) < maxDelay || !r.isReady(group.Source) {
			continue
		}
		limiter := r.limiters[group]
		if limiter == nil {
			limiter = rate.NewLimiter(rate.Every(writeInterval), writeBurst)
			r.limiters[group] = limiter
		}
		if limiter.AllowN(now, 1) {
			delete(r.pending, group)
			groups = append(groups, group)
		}
	}
	return groups
}

// write applies the reports of a group, and deletes those that it no longer has.
func (r *reporter) write(ctx context.Context, key audit.GroupKey) error {
	reports, err := audit.Build(r.ledger.Group(key), r.limit, r.format)
	if err != nil {
		return err
	}
	var objects dynamic.ResourceInterface = r.writer.Resource(r.resource(key.Namespace != ""))
	if key.Namespace != "" {
		objects = r.writer.Resource(r.resource(true)).Namespace(key.Namespace)
	}
	wanted := map[string]bool{}
	for _, report := range reports {
		wanted[report.GetName()] = true
		applied, err := objects.Apply(ctx, report.GetName(), report, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		if apierrors.HasStatusCause(err, "NamespaceTerminating") || apierrors.IsNotFound(err) && key.Namespace != "" {
			return nil // its objects are deleted next
		}
		if err != nil {
			return fmt.Errorf("applying %s %s/%s: %w", report.GetKind(), key.Namespace, report.GetName(), err)
		}
		r.metrics.writes.Inc()
		r.mu.Lock()
		name := types.NamespacedName{Namespace: key.Namespace, Name: report.GetName()}
		r.versions[name], r.present[name] = applied.GetResourceVersion(), key
		r.mu.Unlock()
	}
	for _, name := range r.leftover(key, wanted) {
		if err := objects.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting report %s/%s: %w", key.Namespace, name, err)
		}
		r.metrics.writes.Inc()
	}
	return nil
}

// leftover takes the reports of a group that are not wanted out of those that are present.
func (r *reporter) leftover(key audit.GroupKey, wanted map[string]bool) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, group := range r.present {
		if group == key && !wanted[name.Name] {
			names = append(names, name.Name)
			r.forget(name)
		}
	}
	if len(wanted) == 0 {
		delete(r.limiters, key)
	}
	return names
}
