package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
)

// informer watches the objects of one kind. It is client-go's reflector without the indexer of a
// shared informer, which would store every object a second time and cannot be stopped
// separately.
type informer struct {
	kind     admission.GroupVersionKind
	resource admission.ServedResource
	fields   *clusterdata.Fields // to store of each object
	cancel   context.CancelFunc

	// failure is the error of the last attempt to list or watch, and failing the time since
	// which no attempt has succeeded. The mutex of the clusterObjectLoader guards both.
	failure error
	failing time.Time
}

// startInformer starts an informer, which ends with its context. The caller holds c.mu.
func (c *clusterObjectLoader) startInformer(ctx context.Context, kind admission.GroupVersionKind, resource admission.ServedResource, fields *clusterdata.Fields) *informer {
	ctx, cancel := context.WithCancel(ctx)
	started := &informer{kind: kind, resource: resource, fields: fields, cancel: cancel}
	retry := retryBackoff()
	reflector := cache.NewReflectorWithOptions(c.listWatch(resource), &unstructured.Unstructured{},
		&objectStore{objects: c, informer: started},
		cache.ReflectorOptions{Name: "cluster objects", TypeDescription: kind.String(), Backoff: &retry})
	c.running.Go(func() {
		defer cancel()
		c.follow(ctx, started, reflector)
	})
	return started
}

func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 5 * time.Second}
}

// follow lists and watches until the context ends. It restarts after an error, so that a
// permission granted later is noticed.
func (c *clusterObjectLoader) follow(ctx context.Context, i *informer, reflector *cache.Reflector) {
	retry := retryBackoff()
	for {
		start := time.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		c.ended(ctx, i, err)
		if time.Since(start) > time.Minute {
			retry = retryBackoff()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry.Step()):
		}
	}
}

// ended records the result of an attempt. The end of a watch without an error is normal.
func (c *clusterObjectLoader) ended(ctx context.Context, i *informer, err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	first := i.failure == nil
	if first {
		i.failing = time.Now()
	}
	i.failure = err
	c.mu.Unlock()
	if first {
		log.FromContext(ctx).Error(err, "reading the cluster objects that policies require", "kind", i.kind.String())
	}
	c.notify()
}

// final reports whether an error is permanent.
func final(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// objectStore receives objects from a reflector: it forwards changes and stores nothing.
type objectStore struct {
	objects  *clusterObjectLoader
	informer *informer
}

// Transformer reduces objects to the fields that policies read as they arrive, instead of after
// the whole list. An object that cannot be read is left to Replace, which then fails: policies
// must not treat an unreadable object as absent.
func (s *objectStore) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if made, err := clusterObject(object, s.informer.fields); err == nil {
			return made, nil
		}
		return object, nil
	}
}

// Add implements cache.ReflectorStore.
func (s *objectStore) Add(object any) error {
	made, err := clusterObject(object, s.informer.fields)
	if err != nil {
		return err
	}
	s.record(false, map[clusterdata.Key]*clusterdata.DecodedObject{made.Key(): made})
	return nil
}

// Update implements cache.ReflectorStore.
func (s *objectStore) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s *objectStore) Delete(object any) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("reading a deleted object: %w", err)
	}
	key := clusterdata.Key{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
	s.record(false, map[clusterdata.Key]*clusterdata.DecodedObject{key: nil})
	return nil
}

// Replace implements cache.ReflectorStore: the list contains all objects.
func (s *objectStore) Replace(list []any, _ string) error {
	all := make(map[clusterdata.Key]*clusterdata.DecodedObject, len(list))
	for _, object := range list {
		made, err := clusterObject(object, s.informer.fields)
		if err != nil {
			return err
		}
		all[made.Key()] = made
	}
	s.record(true, all)
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *objectStore) Resync() error { return nil }

// record ignores a stopped informer, whose last events may arrive late.
func (s *objectStore) record(reset bool, objects map[clusterdata.Key]*clusterdata.DecodedObject) {
	c := s.objects
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.informers[s.informer.kind] != s.informer {
		return
	}
	s.informer.failure = nil
	c.record(clusterdata.Change{Kind: s.informer.kind, Reset: reset, Fields: s.informer.fields, Objects: objects})
}

// clusterObject converts an object that the client decoded, or one converted before, to the form
// that policies read.
func clusterObject(object any, fields *clusterdata.Fields) (*clusterdata.DecodedObject, error) {
	if made, ok := object.(*clusterdata.DecodedObject); ok {
		return made, nil
	}
	decoded, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("reading a cluster object: it is a %T", object)
	}
	name := decoded.GetNamespace() + "/" + decoded.GetName()
	unstructured.RemoveNestedField(decoded.Object, "metadata", "managedFields")
	raw, err := json.Marshal(decoded.Object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", decoded.GetKind(), name, err)
	}
	made, err := clusterdata.NewProjectedObject(raw, fields)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", decoded.GetKind(), name, err)
	}
	return made, nil
}
