package orloj

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

// keeper runs the periodic work that no object triggers: it waits for an unavailable store,
// reads the phases that orlojd sets on rows, and compares all rows with the written ones.
type keeper struct {
	reconcilers []*reconciler
	options     options
	outage      *outage
	metrics     *metrics
	// cluster is the identity of this cluster, once prepared is closed.
	cluster  *string
	client   client.Reader
	prepared chan struct{}
}

// Start implements manager.Runnable; it runs on the leader.
func (k *keeper) Start(ctx context.Context) error {
	if err := k.identify(ctx); err != nil {
		return err
	}
	k.prepare(ctx)
	close(k.prepared)
	var all sync.WaitGroup
	for _, loop := range []func(context.Context){k.watchStore, k.watchPhases, k.watchDrift} {
		all.Go(func() { loop(ctx) })
	}
	all.Wait()
	return nil
}

// identify finds the identity of the cluster, without which no row is written.
func (k *keeper) identify(ctx context.Context) error {
	if *k.cluster = k.options.cluster; *k.cluster != "" {
		return nil
	}
	var namespace corev1.Namespace
	if err := k.client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &namespace); err != nil {
		return fmt.Errorf("reading the identity of the cluster, the uid of namespace %s; --orloj-cluster-id gives another one: %w", metav1.NamespaceSystem, err)
	}
	*k.cluster = string(namespace.UID)
	return nil
}

// prepare checks the store before the first object is stored. It returns no error, because the
// objects report store problems in their status, too.
func (k *keeper) prepare(ctx context.Context) {
	if k.options.createTables {
		k.note(ctx, "making tables", k.options.store.CreateTables(ctx))
	}
	k.checkKey(ctx)
}

func (k *keeper) checkKey(ctx context.Context) {
	err := k.options.store.CheckKey(ctx)
	if problem, ok := errors.AsType[*store.Problem](err); ok && (problem.Reason == store.ReasonKeyMissing || problem.Reason == store.ReasonKeyWrong) {
		k.metrics.key.Set(0)
	} else if err == nil {
		k.metrics.key.Set(1)
	}
	k.note(ctx, "checking the encryption key", err)
}

// note logs an error and records an outage.
func (k *keeper) note(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if problem, ok := errors.AsType[*store.Problem](err); ok {
		k.outage.begin(problem)
		if cause := problem.Unwrap(); cause != nil {
			err = errors.Join(problem, cause)
		}
	}
	log.FromContext(ctx).Error(err, what)
}

// every calls do at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	_ = wait.PollUntilContextCancel(ctx, interval, false, func(context.Context) (bool, error) {
		do()
		return false, nil
	})
}

// watchStore pings an unavailable store until it answers.
func (k *keeper) watchStore(ctx context.Context) {
	every(ctx, probeInterval, func() {
		if k.outage.now() == nil || k.options.store.Ping(ctx) != nil {
			return
		}
		k.outage.end()
		k.prepare(ctx)
		log.FromContext(ctx).Info("the store answers again")
	})
}

// watchPhases follows the rows written by any client.
func (k *keeper) watchPhases(ctx context.Context) {
	changes := make([]*store.Changes, len(k.reconcilers))
	for i, r := range k.reconcilers {
		changes[i] = k.options.store.Changes(r.Table)
	}
	every(ctx, k.options.statusInterval, func() {
		for i, r := range k.reconcilers {
			if k.outage.now() != nil || r.ledger.size() == 0 {
				continue
			}
			var rows []store.Summary
			if err := changes[i].Next(ctx, func(row store.Summary) { rows = append(rows, row) }); err != nil {
				k.note(ctx, "reading phases", err)
				continue
			}
			for _, row := range rows {
				r.ledger.recordRow(row)
				r.reportPhase(ctx, row)
			}
		}
	})
}

// reportPhase writes the phase of a row into the status of its object if it has changed.
func (r *reconciler) reportPhase(ctx context.Context, row store.Summary) {
	known := r.ledger.of(types.UID(row.Owner))
	if known.key != row.Key {
		return
	}
	of := r.object()
	if err := r.client.Get(ctx, known.object, of); err != nil || string(of.GetUID()) != row.Owner {
		return
	}
	next := *of.SyncStatus().DeepCopy()
	if next.StoreKey != row.Key {
		return // its first status is about to be written
	}
	storePhase(statusConditions(&next, of), row.Phase, row.LastError)
	if err := r.reporter().Write(ctx, of, report{Status: &next}); err != nil && !object.Passes(err) {
		log.FromContext(ctx).Error(err, "reporting a phase")
	}
}

// watchDrift compares all rows with the written ones, and enqueues the objects whose rows differ
// or are missing.
func (k *keeper) watchDrift(ctx context.Context) {
	scan := 0
	every(ctx, k.options.driftInterval, func() {
		scan++
		for _, r := range k.reconcilers {
			if k.outage.now() != nil {
				return
			}
			if err := k.scan(ctx, r, scan); err != nil {
				k.note(ctx, "looking for drift", err)
			}
		}
		k.checkKey(ctx)
	})
}

func (k *keeper) scan(ctx context.Context, r *reconciler, scan int) error {
	before := r.ledger.keys()
	if len(before) == 0 {
		return nil
	}
	started := time.Now()
	var look []types.NamespacedName
	err := k.options.store.Scan(ctx, r.Table, func(row store.Summary) {
		if name, differs := r.ledger.compareRow(scan, row); differs {
			look = append(look, name)
		}
	})
	if err != nil {
		return err
	}
	k.metrics.scan.WithLabelValues(r.Kind).Set(time.Since(started).Seconds())
	for _, name := range append(look, r.ledger.missing(scan, before)...) {
		if err := r.enqueue(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
