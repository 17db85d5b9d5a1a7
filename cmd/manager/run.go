package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/gatekeeper"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
	"github.com/lintel-policy/lintel/policies/suite"
	"github.com/lintel-policy/lintel/webhooks"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

const leaderElectionID = "lintel-leader"

// A leader that was killed is followed after leaseDuration and a retry. Until then no
// policy changes, though every replica answers, so this is shorter than in Kubernetes'
// own components. renewDeadline is what a leader lives without the API server, for it
// ends and then answers no more; with a retry it is below leaseDuration, so that there
// are never two.
const (
	leaseDuration = 8 * time.Second
	renewDeadline = 6 * time.Second
	retryPeriod   = time.Second
)

// run wires everything together and serves until ctx ends.
func run(ctx context.Context, o *options, logger *slog.Logger) error {
	tracing, endTracing, err := startTracing(ctx, os.Getenv, replicaName(), logger)
	if err != nil {
		return err
	}
	defer endTracing()
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	live := engine.NewLive(admission.BuiltinResources())
	table, err := policyTable(config, live, mgr.GetCache())
	if err != nil {
		return err
	}
	objects, err := clusterObjects(config, live)
	if err != nil {
		return err
	}
	compiler, err := newCompiler()
	if err != nil {
		return err
	}
	if err := checkReferences(compiler, config, mgr.GetLogger()); err != nil {
		return err
	}
	tester, err := newTester()
	if err != nil {
		return err
	}
	origins, err := newOrigins(mgr, o)
	if err != nil {
		return err
	}
	gate := source.Gate{Compile: compiler.Compile, Test: tester, Registrable: registrable}
	products, err := addSystems(ctx, mgr, o)
	if err != nil {
		return err
	}
	products = append(products, policy.Product(live, gate, o.allowFileOrigins))
	registrar := registration.NewRegistrar(mgr.GetClient(), mgr.GetAPIReader(), live.Snapshot, products, registration.Settings{
		Namespace: o.namespace, URL: o.webhookURL, InjectCA: true, ExcludedNamespaces: o.excludedNamespaces,
	})
	loader, err := addControllers(mgr, o, live, objects, registrar, compiler, gate, origins)
	if err != nil {
		return err
	}
	server, err := newServer(mgr, o, live, objects, products, tracing, logger)
	if err != nil {
		return err
	}
	reporter := policy.NewReporter(mgr.GetClient(), live, o.namespace, replicaName(), os.Getenv("POD_UID"))
	answering := newAnswering(ctx, server, o.drain)
	runnables := []manager.Runnable{table, objects, answering, origins, reporter}
	if o.receiverAddress != "" {
		receiver, err := newReceiver(mgr, o, origins, reporter)
		if err != nil {
			return err
		}
		runnables = append(runnables, receiver)
	}
	if o.gatekeeper {
		if err := gatekeeper.SetupWithManager(mgr, gatekeeperOptions(mgr, live, gate)); err != nil {
			return err
		}
	}
	if o.policyDir != "" {
		runnables = append(runnables, policy.NewDirectory(mgr.GetClient(), o.policyDir))
	}
	for _, runnable := range runnables {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	if err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("policies", loader.Ready),
		mgr.AddReadyzCheck("webhooks", server.Ready),
	); err != nil {
		return err
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go func() {
		select {
		case <-ctx.Done():
			drain(ending, o.drain, server.Drain, registrar.Drain)
			answering.end()
			end()
		case <-ending.Done():
		}
	}()
	err = mgr.Start(ending)
	if ctx.Err() == nil {
		// It has lost its Lease, where another replica leads or the API server did not answer
		// in time, or cannot go on, as without its port. To answer needs no Lease.
		logger.Error("the manager has ended by itself; requests are answered until --drain is over", "pause", o.drain, "error", err)
		answering.leave()
	}
	answering.end()
	return errors.Join(err, answering.wait())
}

// gatekeeperOptions have the cluster's templates and constraints judged as the gate will.
func gatekeeperOptions(mgr manager.Manager, live *engine.Live, gate source.Gate) gatekeeper.Options {
	return gatekeeper.Options{
		Judge: func(ctx context.Context, candidate definition.Source) (source.Verdict, error) {
			return gate.Judge(ctx, candidate, live)
		},
		Readable: func(ctx context.Context, kind admission.GroupVersionKind) error {
			why, err := policy.Readable(ctx, mgr.GetClient(), live.Resources(), kind)
			if why != "" {
				return &gatekeeper.Unreadable{Message: why}
			}
			return err
		},
		Registerer: metrics.Registry,
	}
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reading the Pod's service account: %w; outside a cluster, give --kubeconfig", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading --kubeconfig: %w", err)
	}
	return config, nil
}

// newManager makes a manager whose cache holds no more than Lintel reads.
func newManager(config *rest.Config, o *options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	labelled := func(label string) cache.ByObject {
		selector, err := labels.Parse(label)
		utilruntime.Must(err)
		return cache.ByObject{Namespaces: map[string]cache.Config{o.namespace: {LabelSelector: selector}}}
	}
	byObject := policy.KindSourceCache()
	for _, part := range o.parts {
		if part.Scheme != nil {
			utilruntime.Must(part.Scheme(scheme))
		}
		if part.Caches != nil {
			maps.Copy(byObject, part.Caches())
		}
	}
	byObject[&corev1.ConfigMap{}] = labelled(policy.SourceLabel)
	byObject[&coordinationv1.Lease{}] = labelled(policy.ReplicaLabel)
	mgr, err := manager.New(config, manager.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{ByObject: byObject},
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.healthAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr, nil
}

// policyTable reads the cluster's kinds once, and keeps them.
func policyTable(config *rest.Config, live *engine.Live, informers cache.Informers) (*policy.ResourceTable, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up discovery: %w", err)
	}
	return policy.NewResourceTable(client, live, informers)
}

// clusterObjects will follow the kinds that sources require, as the table has them.
func clusterObjects(config *rest.Config, live *engine.Live) (*policy.ClusterObjects, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the client for cluster objects: %w", err)
	}
	objects := policy.NewClusterObjects(live.Resources, policy.ListWatch(client))
	live.OnChange(func(*engine.Snapshot) { objects.Refresh() })
	if err := metrics.Registry.Register(policy.ClusterMetrics(objects.Current)); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return objects, nil
}

// addControllers registers what gates, loads and registers policies.
func addControllers(mgr manager.Manager, o *options, live *engine.Live, objects *policy.ClusterObjects, registrar *registration.Registrar, compiler *source.Compiler, gate source.Gate, origins *policy.Origins) (*policy.Loader, error) {
	if err := policy.RegisterMetrics(metrics.Registry, mgr.GetClient(), live); err != nil {
		return nil, err
	}
	settings := policy.Options{
		Live:       live,
		Events:     mgr.GetEventRecorder("lintel-manager"),
		Objects:    objects,
		Namespace:  o.namespace,
		Compiler:   compiler,
		Gate:       gate,
		Origins:    origins,
		Registered: func(snapshot *engine.Snapshot) bool { return registrar.Registered(snapshot.Digest()) },
	}
	loader := policy.NewLoader(mgr.GetClient(), settings)
	reconciler := policy.NewReconciler(mgr.GetClient(), settings)
	live.OnChange(func(*engine.Snapshot) { registrar.SnapshotChanged() })
	registrar.OnRegistered(reconciler.Refresh)
	return loader, errors.Join(
		loader.SetupWithManager(mgr),
		reconciler.SetupWithManager(mgr),
		registrar.SetupWithManager(mgr),
	)
}

// compileTimeout is how long a source may compile: the API server waits five seconds
// for the webhook that refuses it.
const compileTimeout = 4 * time.Second

// newCompiler is shared by the webhook, the gate and the loader, so that each revision
// is compiled once on its way.
func newCompiler() (*source.Compiler, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to compile policies in a process of their own: %w", err)
	}
	return source.NewCompiler(program, compileTimeout), nil
}

// schemaTimeout leaves the compiler most of its own.
const schemaTimeout = 2 * time.Second

// checkReferences has the compiler check what policies refer to by the schemas of the
// cluster.
func checkReferences(compiler *source.Compiler, config *rest.Config, log logr.Logger) error {
	bounded := rest.CopyConfig(config)
	bounded.Timeout = schemaTimeout
	client, err := discovery.NewDiscoveryClientForConfig(bounded)
	if err != nil {
		return fmt.Errorf("setting up the client for schemas: %w", err)
	}
	unchecked := func(why error) { log.Info("references of policies are not checked", "why", why.Error()) }
	compiler.Schemas = policy.NewClusterSchemas(client.OpenAPIV3(), unchecked)
	compiler.Unchecked = func(name string, why error) { unchecked(fmt.Errorf("source %s: %w", name, why)) }
	return nil
}

// testTimeout is how long the tests of a source may run in the gate.
const testTimeout = time.Minute

// newTester runs the tests of sources in processes of their own.
func newTester() (func(context.Context, definition.Source) (suite.Results, error), error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to run tests in a process of their own: %w", err)
	}
	tester := source.NewTester(program, testTimeout)
	return func(ctx context.Context, candidate definition.Source) (suite.Results, error) {
		return tester.Test(ctx, candidate, suite.Options{})
	}, nil
}

// fetchesAtATime bounds the processes that fetch. One that waits for a slow server
// takes next to no memory.
const fetchesAtATime = 8

// newOrigins will fetch what PolicySources name.
func newOrigins(mgr manager.Manager, o *options) (*policy.Origins, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to fetch policies in a process of their own: %w", err)
	}
	count, err := policy.CountFetches(metrics.Registry)
	if err != nil {
		return nil, err
	}
	return policy.NewOrigins(policy.OriginOptions{
		Fetch: origin.NewFetcher(program, fetchesAtATime).Fetch,
		// Secrets are read when they are needed, so that none are held.
		Secrets: mgr.GetAPIReader(), Namespace: o.namespace,
		AllowFile: o.allowFileOrigins, Count: count,
	}), nil
}

// newReceiver will take push notifications. The leader looks at once; another replica
// tells it in its report.
func newReceiver(mgr manager.Manager, o *options, origins *policy.Origins, reporter *policy.Reporter) (*policy.Receiver, error) {
	return policy.NewReceiver(policy.ReceiverOptions{
		Address: o.receiverAddress, CertDir: o.receiverCertDir,
		Sources: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Namespace: o.namespace,
		Registerer: metrics.Registry,
		Notify: func(source string) {
			select {
			case <-mgr.Elected():
				origins.Notify(source)
			default:
				reporter.Notify(source)
			}
		},
	})
}

// registrable is the part of the gate that depends on all policies together.
func registrable(policies []engine.PolicyInfo, resources *admission.Resources) error {
	_, _, err := registration.Configurations(policies, resources, nil, registration.Settings{})
	return err
}

func newServer(mgr manager.Manager, o *options, live *engine.Live, objects *policy.ClusterObjects, products []rules.Product, tracing bool, logger *slog.Logger) (*webhooks.Server, error) {
	counted, err := webhooks.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	live.OnChange(func(snapshot *engine.Snapshot) { counted.SnapshotLoaded(snapshot.Digest(), time.Now()) })
	decisions, err := decisionLog(o, logger)
	if err != nil {
		return nil, err
	}
	var tracer trace.Tracer
	if tracing {
		tracer = otel.Tracer("github.com/lintel-policy/lintel/webhooks")
	}
	handler, err := webhooks.NewHandler(webhooks.HandlerOptions{
		Snapshot:       live.Snapshot,
		Namespaces:     webhooks.NewNamespaces(mgr.GetClient(), mgr.GetAPIReader()),
		Cluster:        objects.Current,
		Products:       products,
		Metrics:        counted,
		Decisions:      decisions,
		Logger:         logger,
		Tracer:         tracer,
		MaxReviewBytes: o.maxReviewBytes,
	})
	if err != nil {
		return nil, err
	}
	certificate := webhooks.NewCertificate(certificateSource(mgr, o), webhooks.TrustedByConfigurations(mgr.GetClient()), counted, logger)
	if err := mgr.Add(certificate); err != nil {
		return nil, err
	}
	return webhooks.NewServer(webhooks.ServerOptions{
		Address:     net.JoinHostPort(o.webhookHost, strconv.Itoa(o.webhookPort)),
		Handler:     handler,
		Certificate: certificate,
		ClientCA:    o.clientCA,
		Logger:      logger,
	})
}

func decisionLog(o *options, logger *slog.Logger) (log webhooks.DecisionLog, err error) {
	log = webhooks.DecisionLog{Logger: logger, ExcludeKinds: o.decisionLogExclude, Objects: o.decisionLogObjects}
	if log.Mode, err = webhooks.ParseLogMode(o.decisionLog); err != nil {
		return log, fmt.Errorf("--decision-log: %w", err)
	}
	if log.Sample, err = webhooks.Sampler(o.decisionLogSample); err != nil {
		return log, fmt.Errorf("--decision-log-sample: %w", err)
	}
	if log.Mask, err = webhooks.ParseMask(o.decisionLogMask); err != nil {
		return log, fmt.Errorf("--decision-log-mask: %w", err)
	}
	return log, nil
}

// certificateSource is the folder into which the Secret is mounted, or the Secret
// itself where nothing mounts it.
func certificateSource(mgr manager.Manager, o *options) webhooks.KeyPairSource {
	if o.certSecret == "" {
		return webhooks.Directory(o.certDir)
	}
	return webhooks.Secret(mgr.GetAPIReader(), client.ObjectKey{Namespace: o.namespace, Name: o.certSecret})
}

// replicaName is the Pod's name; outside a Pod the host's and the process's.
func replicaName() string {
	if name := os.Getenv("POD_NAME"); name != "" {
		return name
	}
	host, err := os.Hostname()
	if err != nil {
		host = "manager"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}
