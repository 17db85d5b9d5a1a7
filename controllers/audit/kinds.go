package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
)

// pageSize is the number of objects in a page where the API server cannot stream a list.
const pageSize = 500

// kind follows the objects of one resource. Each object is evaluated as it arrives, and only its
// name goes on to the reflector.
type kind struct {
	target   audit.Target
	evaluate func(context.Context, admission.ServedResource, *unstructured.Unstructured) error
	ledger   *audit.Ledger
	changed  func()
	cancel   context.CancelFunc
	restart  chan struct{} // list again

	// The auditor's mutex guards the fields below. failure is the error of the last attempt
	// to list or watch, or of an evaluation since the last list.
	failure error
	listed  time.Time // when the last complete list was evaluated
	took    time.Duration
	// generation counts the lists that were wanted.
	generation int
	guard      func(func())
}

// run lists and watches until the context ends. After an error, it tries again.
func (k *kind) run(ctx context.Context, lists func(admission.ServedResource) cache.ListerWatcher) {
	retry := retryBackoff()
	for ctx.Err() == nil {
		started := time.Now()
		err := k.follow(ctx, lists)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			retry = retryBackoff()
			continue // asked to list again, or the watch ended
		}
		k.guard(func() {
			if k.failure == nil {
				log.FromContext(ctx).Info("a kind cannot be audited", "kind", k.target.Kind().String(), "reason", err.Error())
			}
			k.failure = err
		})
		k.changed()
		if time.Since(started) > time.Minute {
			retry = retryBackoff()
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry.Step()):
		}
	}
}

func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: time.Minute}
}

// follow lists once and watches until the watch ends or a new list is wanted.
func (k *kind) follow(ctx context.Context, lists func(admission.ServedResource) cache.ListerWatcher) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	sink := &sink{kind: k, started: time.Now()}
	k.guard(func() { sink.generation = k.generation })
	reflector := cache.NewReflectorWithOptions(k.arriving(lists(k.target.Resource)), &unstructured.Unstructured{}, sink,
		cache.ReflectorOptions{Name: "audit", TypeDescription: k.target.Kind().String()})
	reflector.WatchListPageSize = pageSize
	go func() { ended <- reflector.ListAndWatchWithContext(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-k.restart:
		cancel()
		<-ended
		return nil
	}
}

// arriving evaluates the objects of lists and watches, and replaces them by their names.
func (k *kind) arriving(from cache.ListerWatcher) cache.ListerWatcher {
	inner := cache.ToListerWatcherWithContext(from)
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := inner.ListWithContext(ctx, options)
			if found, ok := list.(*unstructured.UnstructuredList); ok && err == nil {
				for i := range found.Items {
					k.arrive(ctx, &found.Items[i])
				}
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := inner.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
				if object, ok := event.Object.(*unstructured.Unstructured); ok && (event.Type == watch.Added || event.Type == watch.Modified) {
					k.arrive(ctx, object)
				}
				return event, true
			}), nil
		},
	}
	return cache.ToListWatcherWithWatchListSemantics(lists, from)
}

// arrive evaluates an object and reduces it to its name. An object that cannot be evaluated now
// is evaluated with the next list.
func (k *kind) arrive(ctx context.Context, object *unstructured.Unstructured) {
	if err := k.evaluate(ctx, k.target.Resource, object); err != nil && ctx.Err() == nil {
		k.guard(func() { k.failure = err })
		k.changed()
	}
	reduced := map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()}
	name := &unstructured.Unstructured{Object: reduced}
	name.SetNamespace(object.GetNamespace())
	name.SetName(object.GetName())
	name.SetUID(object.GetUID())
	name.SetResourceVersion(object.GetResourceVersion())
	object.Object = name.Object
}

// object names an object of the kind.
func (k *kind) object(of metav1.Object) audit.Object {
	return audit.Object{Kind: k.target.Kind(), Namespace: of.GetNamespace(), Name: of.GetName(), UID: string(of.GetUID())}
}

// sink receives the names of evaluated objects from the reflector.
type sink struct {
	kind       *kind
	started    time.Time
	generation int
}

// Add implements cache.ReflectorStore: the object was evaluated as it arrived.
func (s *sink) Add(any) error { return nil }

// Update implements cache.ReflectorStore.
func (s *sink) Update(any) error { return nil }

// Resync implements cache.ReflectorStore.
func (s *sink) Resync() error { return nil }

// Delete implements cache.ReflectorStore.
func (s *sink) Delete(object any) error {
	if name, ok := object.(*unstructured.Unstructured); ok {
		s.kind.ledger.Remove(s.kind.object(name))
		s.kind.changed()
	}
	return nil
}

// Transformer implements cache.TransformingStore: while a list is streamed, the reflector keeps only
// the key of each object.
func (s *sink) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return keyOf(object) }
}

func keyOf(object any) (cache.ExplicitKey, error) {
	key, err := cache.MetaNamespaceKeyFunc(object)
	return cache.ExplicitKey(key), err
}

// Replace implements cache.ReflectorStore: the list contains the keys of all objects, or their names
// if the API server sent pages.
func (s *sink) Replace(list []any, _ string) error {
	for i, object := range list {
		if _, isKey := object.(cache.ExplicitKey); isKey {
			continue
		}
		key, err := keyOf(object)
		if err != nil {
			return err
		}
		list[i] = key
	}
	// The list is searched instead of a map of it, which would take as much memory again.
	slices.SortFunc(list, func(a, b any) int {
		return strings.Compare(string(a.(cache.ExplicitKey)), string(b.(cache.ExplicitKey)))
	})
	of := s.kind.target.Kind().WithoutVersion()
	s.kind.ledger.Retain(func(object audit.Object) bool {
		if object.Kind.WithoutVersion() != of {
			return true
		}
		_, present := slices.BinarySearchFunc(list, cache.NewObjectName(object.Namespace, object.Name).String(), func(listed any, name string) int {
			return strings.Compare(string(listed.(cache.ExplicitKey)), name)
		})
		return present
	})
	s.kind.guard(func() {
		if !isEvaluationError(s.kind.failure) || s.kind.failureBefore(s.started) {
			s.kind.failure = nil
		}
		if s.generation == s.kind.generation { // otherwise, objects that it must evaluate may be missing
			s.kind.listed, s.kind.took = time.Now(), time.Since(s.started)
		}
	})
	s.kind.changed()
	return nil
}

// failureBefore reports whether the failure is older than a list.
func (k *kind) failureBefore(started time.Time) bool {
	failure, ok := errors.AsType[*evaluationError](k.failure)
	return ok && failure.at.Before(started)
}

func isEvaluationError(err error) bool {
	_, ok := errors.AsType[*evaluationError](err)
	return ok
}

// evaluationError is why an object could not be evaluated.
type evaluationError struct {
	object string
	at     time.Time
	err    error
}

// Error implements error.
func (e *evaluationError) Error() string { return fmt.Sprintf("evaluating %s: %v", e.object, e.err) }

// Unwrap returns the cause.
func (e *evaluationError) Unwrap() error { return e.err }

// notListable reports whether a resource has no stored objects, such as the review kinds.
func notListable(err error) bool { return apierrors.IsMethodNotSupported(err) }

// contentOf returns the JSON of an object as it would be created, without the fields that the API
// server adds when it stores the object. The digest ignores writes that change only those fields.
func contentOf(object *unstructured.Unstructured) ([]byte, error) {
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
	version := object.GetResourceVersion()
	unstructured.RemoveNestedField(object.Object, "metadata", "resourceVersion")
	text, err := json.Marshal(object.Object)
	object.SetResourceVersion(version)
	return text, err
}
