package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

// userAgent distinguishes the requests of audit from the manager's others.
const userAgent = "lintel-audit"

// Options configure audit.
type Options struct {
	// Config is the client configuration. Audit uses a copy with QPS requests per second.
	Config *rest.Config
	QPS    float32
	// Live are the policies, and Cluster the cluster objects that they require.
	Live    *engine.Live
	Cluster func() *clusterdata.Objects
	// Namespaces reads the Namespaces of objects.
	Namespaces rules.NamespaceGetter
	// ExcludedNamespaces are the namespaces without policies.
	ExcludedNamespaces []string
	// Reports is the format of reports, and ViolationsLimit the maximum number of results of a
	// policy in them.
	Reports         audit.Format
	ViolationsLimit int
	// Constraints reports whether the status of constraints is written.
	Constraints bool
	Metrics     prometheus.Registerer
	// Namespace is the manager's, Replica the name of this process, and PodUID the uid of its Pod,
	// if any. Leases returns the Leases of all replicas: those that audit have ShardAnnotation.
	Namespace, Replica, PodUID string
	Leases                     func(context.Context) ([]coordinationv1.Lease, error)
}

// Setup adds audit to the manager: each replica evaluates the objects of its shards, and the leader
// adds up the results.
func Setup(mgr manager.Manager, o Options) error {
	config := rest.CopyConfig(o.Config)
	config.RateLimiter, config.UserAgent = flowcontrol.NewTokenBucketRateLimiter(o.QPS, int(2*o.QPS)+1), userAgent
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("setting up the client of audit: %w", err)
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("setting up the client of reports: %w", err)
	}
	counted := newMetrics(o.Metrics)
	ledger := audit.NewLedger(o.ViolationsLimit)
	a := newAuditor(&auditor{
		snapshot: o.Live.Snapshot, cluster: o.Cluster, namespaces: o.Namespaces,
		excluded: o.ExcludedNamespaces, limit: o.ViolationsLimit, ledger: ledger, metrics: counted, now: time.Now,
	})
	watched, err := newShardClient(config, a.owns)
	if err != nil {
		return err
	}
	a.lists = object.ListWatch(watched)
	o.Live.OnChange(func(*engine.Snapshot) { signal(a.wanted) })
	summaries := &summaryStore{objects: objects.Resource(configMapResource).Namespace(o.Namespace), summaries: map[string]*summary{}}
	joined := &aggregator{progress: a.progress, ledger: ledger, problem: func() string { return "" }, summaries: summaries.of}
	following := &members{self: o.Replica, leases: o.Leases, now: time.Now, apply: func(next membership) { a.setMembership(next) }}
	written := &statuses{client: mgr.GetClient(), view: joined.view, limiters: map[string]*rate.Limiter{}}
	if o.Constraints {
		written.constraints = &constraints{writer: objects, written: map[string]string{}}
	}
	runnables := []manager.Runnable{
		object.Everywhere(following.Start), object.Everywhere(a.Start), object.Everywhere(followNamespaces(mgr, a)),
		manager.RunnableFunc(written.Start), manager.RunnableFunc(summaries.Start),
	}
	if o.Reports != audit.NoReports {
		r := newReporter(&reporter{
			ledger: ledger, format: o.Reports, limit: o.ViolationsLimit, writer: objects, metadata: names,
			isReady: a.isReady, owns: a.owns, mayWrite: a.mayWrite, metrics: counted, now: time.Now,
		})
		joined.problem = r.problem
		following.apply = func(next membership) {
			if a.setMembership(next) {
				r.takeOver()
			}
		}
		runnables = append(runnables, object.Everywhere(r.Start))
	}
	published := &publisher{
		objects: summaries.objects, replica: o.Replica, podUID: o.PodUID, now: time.Now,
		limiter: rate.NewLimiter(rate.Every(summaryEvery), summaryBurst),
		summary: unlessLeading(mgr, joined.own),
	}
	runnables = append(runnables, object.Everywhere(published.Start))
	if err := o.Metrics.Register(collector{a, onlyLeading(mgr, joined.view)}); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	for _, runnable := range runnables {
		err = errors.Join(err, mgr.Add(runnable))
	}
	return err
}

// leads reports whether this replica leads.
func leads(mgr manager.Manager) bool {
	select {
	case <-mgr.Elected():
		return true
	default:
		return false
	}
}

// onlyLeading returns nil on a replica that does not lead.
func onlyLeading(mgr manager.Manager, of func() *view) func() *view {
	return func() *view {
		if !leads(mgr) {
			return nil
		}
		return of()
	}
}

// unlessLeading returns nil on the leader, which needs no summary of itself.
func unlessLeading(mgr manager.Manager, of func() *summary) func() *summary {
	return func() *summary {
		if leads(mgr) {
			return nil
		}
		return of()
	}
}

// isReady reports whether the objects of a source, in the shards of this replica, were evaluated as
// far as possible. A source
// that has no policies any longer is ready.
func (a *auditor) isReady(source string) bool {
	state := a.state()
	return state != nil && !state.sources[source].waiting
}

// followNamespaces reports changes of the labels and annotations of Namespaces.
func followNamespaces(mgr manager.Manager, a *auditor) func(context.Context) error {
	return func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, &corev1.Namespace{})
		if err != nil {
			return fmt.Errorf("following Namespaces: %w", err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
			old, isOld := before.(*corev1.Namespace)
			next, isNext := after.(*corev1.Namespace)
			if isOld && isNext && !(maps.Equal(old.Labels, next.Labels) && maps.Equal(old.Annotations, next.Annotations)) {
				a.NamespaceChanged(next.Name)
			}
		}})
		if err != nil {
			return fmt.Errorf("following Namespaces: %w", err)
		}
		<-ctx.Done()
		return nil
	}
}
