package zopp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/tracing"
)

const (
	// reloadManager is the field manager for workloads.
	reloadManager = "lintel-zopp-reload"
	// appliedAnnotation records on a workload, as JSON, which change of each Secret its Pods have:
	// the record's Changed by the name of the Secret.
	appliedAnnotation = v1alpha1.GroupName + "/reloaded-for"
)

// reloads restarts the workloads that opt in, once for each change of the values from zopp in a
// Secret that their Pods use. An annotation of the workload records the change that it was
// restarted for, written together with the restart: a crash in between neither loses nor repeats
// a restart.
//
// The caller that fills the Secret passes the change. The record on the Secret is not trusted: a
// user who may edit the Secret may write it, but need not have permission to restart workloads.
//
// Workloads are not watched. Their metadata is listed in the namespace of a Secret that changes:
// before the change, so that workloads without a record get that of the values which their Pods
// have, and after it. So they use no memory, and cost nothing where no Secret is synced. A nil
// reloads does nothing.
type reloads struct {
	client  client.Client
	live    client.Reader
	events  events.EventRecorder
	metrics *metrics
	now     func() time.Time
	// look has the workloads of a namespace looked at.
	look    func(ctx context.Context, namespace string)
	refused sync.Map // the kinds that may not be listed, which was said

	mutex   sync.Mutex
	changed map[types.NamespacedName]int64 // the record's Changed of Secrets, as they were filled
}

// observe records which change a Secret has.
func (r *reloads) observe(ctx context.Context, secret types.NamespacedName, changed int64) {
	if r == nil || !r.learn(secret, changed) {
		return
	}
	r.look(ctx, secret.Namespace)
}

// learn reports whether the change is new.
func (r *reloads) learn(secret types.NamespacedName, changed int64) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	was, known := r.changed[secret]
	if r.changed == nil {
		r.changed = map[types.NamespacedName]int64{}
	}
	r.changed[secret] = changed
	return !known || was != changed
}

// forget drops the record of a deleted Secret.
func (r *reloads) forget(secret types.NamespacedName) {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.changed, secret)
}

// appliedChanges are the changes of Secrets that the Pods of a workload have.
type appliedChanges map[string]int64

func appliedChangesOf(workload client.Object) appliedChanges {
	m := appliedChanges{}
	if json.Unmarshal([]byte(workload.GetAnnotations()[appliedAnnotation]), &m) != nil {
		return appliedChanges{}
	}
	return m
}

// Reconcile implements reconcile.Reconciler: it rolls the workloads of a namespace, whose
// name is that of the request.
func (r *reloads) Reconcile(ctx context.Context, request reconcile.Request) (_ reconcile.Result, err error) {
	ctx, end := tracing.Step(ctx, "reload workloads", request.Name)
	defer func() { end(err) }()
	changes := r.changes(request.Name)
	if len(changes) == 0 {
		return reconcile.Result{}, nil
	}
	return object.Result(0, r.each(ctx, request.Name, func(kind workloadKind, o client.Object) error {
		next, rolls := due(appliedChangesOf(o), changes, referencedSecrets(kind.template(o)).Has)
		return r.apply(ctx, kind, o, next, rolls)
	}))
}

// changes are the last changes of the Secrets of a namespace, by their names.
func (r *reloads) changes(namespace string) appliedChanges {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	changes := appliedChanges{}
	for secret, changed := range r.changed {
		if secret.Namespace == namespace {
			changes[secret.Name] = changed
		}
	}
	return changes
}

// due returns the changes that a workload should record, and the Secrets that it is restarted for. A
// Secret without a recorded change causes no restart: the workload was not seen with another value.
func due(has, changes appliedChanges, uses func(secret string) bool) (next appliedChanges, rolls []string) {
	next = appliedChanges{}
	for secret, change := range has {
		if uses(secret) {
			next[secret] = change
		}
	}
	for secret, change := range changes {
		if !uses(secret) {
			continue
		}
		if before, known := next[secret]; known && before != change {
			rolls = append(rolls, secret)
		}
		next[secret] = change
	}
	slices.Sort(rolls)
	return next, rolls
}

// note records the change on workloads without one of the Secret before the Secret is changed: their Pods
// have its current values.
func (r *reloads) note(ctx context.Context, namespace, secret string, changed int64) error {
	if r == nil {
		return nil
	}
	return r.each(ctx, namespace, func(kind workloadKind, o client.Object) error {
		next := appliedChangesOf(o)
		if _, known := next[secret]; known || !referencedSecrets(kind.template(o)).Has(secret) {
			return nil
		}
		next[secret] = changed
		return r.apply(ctx, kind, o, next, nil)
	})
}

// each calls a function for all workloads of a namespace that opt in.
func (r *reloads) each(ctx context.Context, namespace string, do func(workloadKind, client.Object) error) error {
	for _, kind := range workloads {
		names, err := r.asking(ctx, kind, namespace)
		if err != nil {
			return err
		}
		for _, name := range names {
			o := kind.empty()
			if err := r.live.Get(ctx, name, o); apierrors.IsNotFound(err) {
				continue
			} else if err != nil {
				return fmt.Errorf("reading %s %s: %w", kind.kind.Kind, name, err)
			}
			if err := do(kind, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// asking returns the workloads of a kind that opt in: none without permission to list them.
func (r *reloads) asking(ctx context.Context, kind workloadKind, namespace string) (names []types.NamespacedName, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.kind)
	err = r.live.List(ctx, list, client.InNamespace(namespace))
	if apierrors.IsForbidden(err) {
		if _, reported := r.refused.LoadOrStore(kind.kind.Kind, true); !reported {
			log.FromContext(ctx).Info("no permission to list workloads: "+v1alpha1.ReloadAnnotation+" has no effect; config/rbac/zopp-reload grants it", "kind", kind.kind.Kind, "namespace", namespace)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the %ss of namespace %s: %w", kind.kind.Kind, namespace, err)
	}
	for i := range list.Items {
		if o := &list.Items[i]; o.Annotations[v1alpha1.ReloadAnnotation] == "true" && o.DeletionTimestamp.IsZero() {
			names = append(names, client.ObjectKeyFromObject(o))
		}
	}
	return names, nil
}

// apply writes the changes of a workload together with the restart. A write by another client since
// the workload was read is a conflict, so that two replicas never restart it for one change.
func (r *reloads) apply(ctx context.Context, kind workloadKind, o client.Object, next appliedChanges, rolls []string) error {
	if maps.Equal(next, appliedChangesOf(o)) {
		return nil
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	patch := map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "annotations": map[string]any{appliedAnnotation: string(text)},
	}}
	if len(rolls) > 0 {
		restarted := map[string]any{v1alpha1.RestartedAtAnnotation: r.now().UTC().Format(time.RFC3339Nano)}
		patch["spec"] = map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": restarted}}}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if err := r.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, body), client.FieldOwner(reloadManager)); err != nil {
		return fmt.Errorf("rolling %s %s/%s: %w", kind.kind.Kind, o.GetNamespace(), o.GetName(), gone(err))
	}
	if len(rolls) > 0 {
		r.metrics.reloads.WithLabelValues(kind.kind.Kind).Inc()
		object.Send(r.events, o, "Reload", object.Event{Reason: "Reloaded", Message: "restarted, because the values from zopp changed in Secret " + strings.Join(rolls, ", ")})
	}
	return nil
}
