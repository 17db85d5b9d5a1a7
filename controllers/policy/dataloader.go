package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/tracing"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/external"
)

// dataLoader loads the data of DataSources, by the digests in their status. It runs on every
// replica.
type dataLoader struct {
	client    client.Client
	live      *engine.Live
	namespace string
	// loaded is called after each attempt to load data.
	loaded func(context.Context) error

	mu sync.Mutex // guards attempts
	// attempts are the errors of the last attempts to load, by DataSource: nil after a success.
	attempts map[string]error
}

func newDataLoader(c client.Client, live *engine.Live, namespace string) *dataLoader {
	return &dataLoader{client: c, live: live, namespace: namespace, attempts: map[string]error{}}
}

// setUp registers the controller.
func (l *dataLoader) setUp(mgr manager.Manager) error {
	everywhere := false
	return builder.ControllerManagedBy(mgr).
		Named("lintel-data-loader").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		For(&v1alpha1.DataSource{}).
		// The status may arrive before the artifact does.
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(dataArtifacts.toOwner)).
		Complete(l)
}

// Reconcile implements reconcile.Reconciler.
func (l *dataLoader) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var source v1alpha1.DataSource
	err := l.client.Get(ctx, request.NamespacedName, &source)
	if apierrors.IsNotFound(err) {
		if l.live.External()[request.Name] != nil {
			l.live.RemoveExternal(request.Name)
		}
		l.forget(request.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if source.Status.Digest == "" {
		return reconcile.Result{}, nil // it never had data
	}
	failure := l.load(ctx, &source)
	l.note(source.Name, failure)
	if err := l.loaded(ctx); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, failure
}

// load makes the data in status.digest live. If that is not possible, the earlier data stays.
func (l *dataLoader) load(ctx context.Context, source *v1alpha1.DataSource) (err error) {
	if live := l.live.External()[source.Name]; live != nil && live.Digest == source.Status.Digest {
		return nil
	}
	ctx, end := tracing.Step(ctx, "load data", source.Name)
	defer func() { end(err) }()
	data, err := LoadData(ctx, l.client, l.namespace, source)
	if err != nil {
		return err
	}
	l.live.PutExternal(data)
	log.FromContext(ctx).Info("external data is live", "dataSource", source.Name, "revision", data.Revision, "bytes", data.Bytes)
	return nil
}

// LoadData reads the data in force of a DataSource and verifies its digest.
func LoadData(ctx context.Context, c client.Reader, namespace string, source *v1alpha1.DataSource) (*external.Data, error) {
	files, err := dataArtifacts.load(ctx, c, namespace, source.Name, source.Status.Digest)
	if err != nil {
		return nil, err
	}
	return external.FromFiles(source.Name, source.Status.Revision, files)
}

func (l *dataLoader) note(name string, failure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts[name] = failure
}

func (l *dataLoader) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.attempts, name)
}

// failures are the errors of the last attempts to load, by DataSource.
func (l *dataLoader) failures() map[string]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.attempts)
}

// pending returns a DataSource whose data exists, but that this replica has not tried to load yet:
// "" for none. names selects DataSources; nil selects all. A failed attempt does not count: a broken artifact must not keep a replica from
// answering. Policies that read the data are then not evaluated, and the failure policy applies.
func (l *dataLoader) pending(ctx context.Context, names []string) (string, error) {
	var list v1alpha1.DataSourceList
	if err := l.client.List(ctx, &list); err != nil {
		return "", fmt.Errorf("listing the DataSources: %w", err)
	}
	attempts := l.failures()
	for i := range list.Items {
		name := list.Items[i].Name
		if _, attempted := attempts[name]; !attempted && list.Items[i].Status.Digest != "" && (names == nil || slices.Contains(names, name)) {
			return name, nil
		}
	}
	return "", nil
}
