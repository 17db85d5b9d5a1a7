package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
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
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
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
	policies, err := policy.New(mgr, policy.Options{
		Config: config, Namespace: o.namespace, AllowFileOrigins: o.allowFileOrigins, Directory: o.policyDir,
		ReceiverAddress: o.receiverAddress, ReceiverCertDir: o.receiverCertDir,
		Replica: replicaName(), PodUID: os.Getenv("POD_UID"), LeaseAnnotations: o.leaseAnnotations(), Records: o.record.location,
		Registrable: registrable, Metrics: metrics.Registry,
	})
	if err != nil {
		return err
	}
	products, own, err := addSystems(ctx, mgr, o)
	if err != nil {
		return err
	}
	exceptions, err := policies.ExceptionProduct()
	if err != nil {
		return err
	}
	products = append(append(products, policies.Product(), exceptions), registration.CanaryProducts(o.namespace)...)
	registrar, err := addRegistrar(mgr, o, policies, products)
	if err != nil {
		return err
	}
	if err := addCanary(mgr, config, o.namespace, policies); err != nil {
		return err
	}
	server, err := newServer(mgr, o, policies, products, own, tracing, logger)
	if err != nil {
		return err
	}
	if o.gatekeeper {
		if err := gatekeeper.SetupWithManager(mgr, gatekeeper.Options{Evaluate: policies.Evaluate, Readable: policies.Readable, HasDataSource: policies.HasDataSource, Resources: policies.Live.Resources, Audits: o.audit, Registerer: metrics.Registry}); err != nil {
			return err
		}
	}
	if err := addAudit(mgr, config, o, policies); err != nil {
		return err
	}
	answering := newAnswering(ctx, server, o.drain)
	if err := errors.Join(
		mgr.Add(object.Everywhere(answering.Start)),
		mgr.AddHealthzCheck("ping", healthz.Ping),
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

// addRegistrar adds the controllers that load and register the policies.
func addRegistrar(mgr manager.Manager, o *options, policies *policy.Policies, products []rules.Product) (*registration.Registrar, error) {
	registrar := registration.NewRegistrar(mgr.GetClient(), mgr.GetAPIReader(), policies.Live.Snapshot, products, registration.Settings{
		Namespace: o.namespace, URL: o.webhookURL, InjectCA: true, ExcludedNamespaces: o.excludedNamespaces,
	})
	refresh, err := policies.AddControllers(registrar.Unregistered)
	if err != nil {
		return nil, err
	}
	policies.Live.OnChange(func(*engine.Snapshot) { registrar.SnapshotChanged() })
	registrar.OnChange(refresh)
	return registrar, registrar.SetupWithManager(mgr)
}

// addCanary has every replica prove that the API server calls the webhooks.
func addCanary(mgr manager.Manager, config *rest.Config, namespace string, policies *policy.Policies) error {
	var canary *registration.Canary
	changed := policies.ReportNotCalled(func() string { return canary.Missing() })
	canary, err := registration.NewCanary(config, namespace, policy.LeaseName(replicaName()), registration.CanaryInterval, metrics.Registry, changed)
	if err != nil {
		return err
	}
	return mgr.Add(object.Everywhere(canary.Start))
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reading the ServiceAccount of the Pod: %w; outside a cluster, set --kubeconfig", err)
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
	byObject := policy.Caches(o.namespace)
	for _, part := range o.parts {
		if part.Scheme != nil {
			utilruntime.Must(part.Scheme(scheme))
		}
		// The kinds of a system that is off need not be there.
		if part.Caches != nil && slices.Contains(o.systems, part.Name) {
			maps.Copy(byObject, part.Caches())
		}
	}
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

// registrable is the part of the gate that depends on all policies together.
func registrable(policies []engine.PolicyInfo, resources *admission.Resources) error {
	_, _, err := registration.Configurations(policies, resources, nil, registration.Settings{})
	return err
}

func newServer(
	mgr manager.Manager, o *options, policies *policy.Policies, products []rules.Product, own func(*admission.Review) bool, tracing bool, logger *slog.Logger,
) (*webhooks.Server, error) {
	counted := webhooks.NewMetrics(metrics.Registry)
	policies.Live.OnChange(func(snapshot *engine.Snapshot) { counted.SnapshotLoaded(snapshot.Digest(), time.Now()) })
	decisions, err := decisionLog(o, logger)
	if err != nil {
		return nil, err
	}
	var tracer trace.Tracer
	if tracing {
		tracer = otel.Tracer("github.com/lintel-policy/lintel/webhooks")
	}
	entries := registration.NewOwnEntries(mgr.GetClient())
	if err := mgr.Add(object.Everywhere(entries.Start)); err != nil {
		return nil, err
	}
	denied, err := addBlocked(mgr, o, policies)
	if err != nil {
		return nil, err
	}
	recorder, err := addRecorder(mgr, &o.record, decisions.Mask, logger)
	if err != nil {
		return nil, err
	}
	handler, err := webhooks.NewHandler(webhooks.HandlerOptions{
		Snapshot:       policies.Live.Snapshot,
		Namespaces:     webhooks.NewNamespaces(mgr.GetClient(), mgr.GetAPIReader()),
		Cluster:        policies.Cluster,
		Scopes:         entries.Lacks,
		Products:       products,
		Own:            own,
		Denied:         denied,
		Metrics:        counted,
		Decisions:      decisions,
		Recorder:       recorder,
		Logger:         logger,
		Tracer:         tracer,
		MaxReviewBytes: o.maxReviewBytes,
	})
	if err != nil {
		return nil, err
	}
	certificate := webhooks.NewCertificate(certificateSource(mgr, o), webhooks.TrustedByConfigurations(mgr.GetClient()), counted, logger)
	if err := mgr.Add(object.Everywhere(certificate.Start)); err != nil {
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
