package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
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
}

// Setup adds audit to the manager, on the leader.
func Setup(mgr manager.Manager, o Options) error {
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst, config.UserAgent = o.QPS, int(2*o.QPS)+1, userAgent
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
		snapshot: o.Live.Snapshot, cluster: o.Cluster, namespaces: o.Namespaces, lists: object.ListWatch(objects),
		excluded: o.ExcludedNamespaces, ledger: ledger, metrics: counted, now: time.Now,
	})
	o.Live.OnChange(func(*engine.Snapshot) { signal(a.wanted) })
	written := &statuses{client: mgr.GetClient(), auditor: a, limiters: map[string]*rate.Limiter{}}
	if o.Constraints {
		written.constraints = &constraints{writer: objects, ledger: ledger, written: map[string]string{}}
	}
	runnables := []manager.Runnable{manager.RunnableFunc(a.Start), manager.RunnableFunc(written.Start), object.Everywhere(followNamespaces(mgr, a))}
	if o.Reports != audit.NoReports {
		r := newReporter(&reporter{
			ledger: ledger, format: o.Reports, limit: o.ViolationsLimit, writer: objects, metadata: names,
			isReady: a.isReady, metrics: counted, now: time.Now,
		})
		written.problem = r.problem
		runnables = append(runnables, manager.RunnableFunc(r.Start))
	}
	if err := o.Metrics.Register(collector{a}); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	for _, runnable := range runnables {
		err = errors.Join(err, mgr.Add(runnable))
	}
	return err
}

// isReady reports whether the objects of a source were evaluated as far as possible. A source
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
