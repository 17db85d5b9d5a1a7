package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
	"github.com/lintel-policy/lintel/policies/suite"
)

const (
	// compileTimeout limits the compilation of a source: the API server waits five seconds for
	// the webhook that denies it. schemaTimeout leaves most of that time to the compiler.
	compileTimeout = 4 * time.Second
	schemaTimeout  = 2 * time.Second
	// testTimeout limits the tests of a source in the gate.
	testTimeout = time.Minute
	// fetchesAtATime limits the processes that fetch. A process that waits for a slow server
	// needs hardly any memory.
	fetchesAtATime = 8
)

// Options configure the controllers of PolicySources.
type Options struct {
	// Config is the client configuration, with rate limits for discovery that differ from the
	// manager's.
	Config *rest.Config
	// Namespace is the namespace of artifacts, reports and Secrets.
	Namespace string
	// AllowFileOrigins permits origins on the manager's own disk.
	AllowFileOrigins bool
	// ReceiverAddress is the address for push notifications; empty for none. ReceiverCertDir, if
	// set, contains tls.crt and tls.key.
	ReceiverAddress, ReceiverCertDir string
	// Directory is a folder that is continuously applied as a PolicySource; empty for none.
	Directory string
	// Replica is the name of this process, and PodUID the uid of its Pod, if any.
	Replica, PodUID string
	// LeaseAnnotations are added to the Lease in which this replica reports.
	LeaseAnnotations map[string]string
	// Records is the URL of the store in which the manager records requests; empty if it records
	// none.
	Records string
	// Registrable is the part of the gate that depends on all policies together.
	Registrable func([]engine.PolicyInfo, *admission.Resources) error
	// Metrics registers the metrics of sources.
	Metrics prometheus.Registerer
}

// Policies are the policies of a cluster's PolicySources, from the gate to serving.
type Policies struct {
	// Live are the served policies.
	Live *engine.Live

	manager  manager.Manager
	options  Options
	objects  *clusterObjectLoader
	compiler *source.CachingCompiler
	gate     source.Gate
	origins  *origins
	// dataOrigins are those of DataSources.
	dataOrigins *origins
	rehearsals  *rehearsals
	reporter    *reporter
}

// New sets up the gate and the loader of policies. It reads the kinds of the cluster and adds
// the runnables of every replica to the manager.
func New(mgr manager.Manager, options Options) (*Policies, error) {
	p := &Policies{Live: engine.NewLive(admission.BuiltinResources()), manager: mgr, options: options}
	kinds, err := discovery.NewDiscoveryClientForConfig(options.Config)
	if err != nil {
		return nil, fmt.Errorf("setting up discovery: %w", err)
	}
	table, err := newResourceTable(kinds, p.Live, mgr.GetCache())
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(options.Config)
	if err != nil {
		return nil, fmt.Errorf("setting up the client for cluster objects: %w", err)
	}
	p.objects = newClusterObjects(p.Live.Resources, object.ListWatch(objects))
	p.Live.OnChange(func(*engine.Snapshot) { p.objects.refresh() })
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to compile, test and fetch policies in processes of their own: %w", err)
	}
	if p.compiler, err = p.newCompiler(program); err != nil {
		return nil, err
	}
	tester := source.NewTester(program, testTimeout)
	p.gate = source.Gate{Compile: p.compiler.Compile, Registrable: options.Registrable, Test: func(ctx context.Context, candidate definition.Source) (suite.Results, error) {
		return tester.Test(ctx, candidate, suite.Options{})
	}}
	fetcher := origin.NewFetcher(program, fetchesAtATime)
	checks := func(count func(name, result string, at time.Time)) *origins {
		return newOrigins(&origins{
			fetch: fetcher.Fetch,
			// Secrets are read on demand, so that none stay in memory.
			secrets: mgr.GetAPIReader(), namespace: options.Namespace,
			allowFile: options.AllowFileOrigins, count: count,
		})
	}
	p.origins, p.dataOrigins = checks(countFetches(options.Metrics)), checks(countDataFetches(options.Metrics))
	p.rehearsals = newRehearsals(p.Live, options.Records, program)
	options.Metrics.MustRegister(sourceMetrics{mgr.GetClient(), p.Live}, exceptionMetrics{p.Live}, clusterMetrics{p.objects.Current}, dataMetrics{mgr.GetClient(), p.Live})
	return p, p.addRunnables(table)
}

// newCompiler is shared by the webhook, the gate and the loader, so that each revision is
// compiled once. It checks the references of policies against the schemas of the cluster.
func (p *Policies) newCompiler(program string) (*source.CachingCompiler, error) {
	bounded := rest.CopyConfig(p.options.Config)
	bounded.Timeout = schemaTimeout
	client, err := discovery.NewDiscoveryClientForConfig(bounded)
	if err != nil {
		return nil, fmt.Errorf("setting up the client for schemas: %w", err)
	}
	log := p.manager.GetLogger()
	unchecked := func(why error) { log.Info("references of policies are not checked", "why", why.Error()) }
	compiler := source.NewCompiler(program, compileTimeout)
	compiler.Schemas = newClusterSchemas(client.OpenAPIV3(), unchecked)
	compiler.Unchecked = func(name string, why error) { unchecked(fmt.Errorf("source %s: %w", name, why)) }
	return compiler, nil
}

func (p *Policies) addRunnables(table *resourceTable) error {
	reporter := newReporter(p.manager.GetClient(), p.Live, p.options.Namespace, p.options.Replica, p.options.PodUID)
	reporter.annotations = p.options.LeaseAnnotations
	p.reporter = reporter
	runnables := []manager.Runnable{object.Everywhere(table.Start), object.Everywhere(p.objects.Start), p.origins, p.dataOrigins, p.rehearsals, object.Everywhere(reporter.Start)}
	if p.options.ReceiverAddress != "" {
		receiver := newReceiver(&receiver{
			address: p.options.ReceiverAddress, certDir: p.options.ReceiverCertDir, namespace: p.options.Namespace,
			sources: p.manager.GetClient(), secrets: p.manager.GetAPIReader(),
			// The leader checks the origin immediately; other replicas notify it in their
			// reports.
			notify: func(source string) {
				select {
				case <-p.manager.Elected():
					p.origins.notify(source)
				default:
					reporter.notify(source)
				}
			},
		}, p.options.Metrics)
		runnables = append(runnables, object.Everywhere(receiver.Start))
	}
	if p.options.Directory != "" {
		runnables = append(runnables, &directory{client: p.manager.GetClient(), path: p.options.Directory})
	}
	for _, runnable := range runnables {
		if err := p.manager.Add(runnable); err != nil {
			return err
		}
	}
	return nil
}

// AddControllers adds the controllers of PolicySources. unregistered returns why the API server
// does not call the webhooks for the policies of a snapshot, and whether it did before; the
// caller must call refresh when that changes.
func (p *Policies) AddControllers(unregistered func(digest string) (why string, lost bool)) (refresh func(), err error) {
	reconciler := newReconciler(p, unregistered)
	loader := newLoader(p.manager.GetClient(), p.Live, p.objects, p.options.Namespace, p.compiler)
	return reconciler.refresh, errors.Join(
		loader.setUp(p.manager),
		loader.exceptions.setUp(p.manager),
		loader.data.setUp(p.manager),
		newDataReconciler(p, loader.data).setUp(p.manager),
		newExceptionReconciler(p).setUp(p.manager),
		reconciler.setUp(p.manager),
		p.manager.AddReadyzCheck("policies", loader.ready),
	)
}

// ReportNotCalled adds to the reports of this replica why the API server does not call the
// webhooks, which notCalled returns; empty if it does. It must be called before the manager
// starts. The caller must call changed whenever the result changes.
func (p *Policies) ReportNotCalled(notCalled func() string) (changed func()) {
	p.reporter.notCalled = notCalled
	return p.reporter.hurry
}

// Leases lists the Leases of all replicas, from the cache.
func (p *Policies) Leases(ctx context.Context) ([]coordinationv1.Lease, error) {
	return leasesOf(ctx, p.manager.GetClient(), p.options.Namespace)
}

// Cluster is the newest snapshot of the cluster objects that policies require.
func (p *Policies) Cluster() *clusterdata.Objects { return p.objects.Current() }

// Evaluate runs the gate for a source.
func (p *Policies) Evaluate(ctx context.Context, candidate definition.Source) (source.Verdict, error) {
	return p.gate.Evaluate(ctx, candidate, p.Live)
}

// HasDataSource reports whether a DataSource of a name exists.
func (p *Policies) HasDataSource(ctx context.Context, name string) (bool, error) {
	err := p.manager.GetClient().Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.DataSource{})
	return err == nil, client.IgnoreNotFound(err)
}

// Readable returns why policies may not read a kind, and how to permit it: "" if they may.
func (p *Policies) Readable(ctx context.Context, kind admission.GroupVersionKind) (string, error) {
	found, err := unmetRequires(ctx, p.manager.GetClient(), p.Live.Resources(), []admission.GroupVersionKind{kind})
	if found == nil {
		return "", err
	}
	return found.message, nil
}
