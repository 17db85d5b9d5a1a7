package audit

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// summaryLabel is the label of the ConfigMaps of summaries, and summaryKey their key.
	summaryLabel = "lintel.dev/audit-summary"
	summaryKey   = "summary"
	// summaryInterval is how often a replica compares its summary with the one that it wrote.
	// summaryEvery and summaryBurst bound its writes. summaryRefresh restores a summary that was
	// edited or deleted.
	summaryInterval = time.Second
	summaryEvery    = 5 * time.Second
	summaryBurst    = 10
	summaryRefresh  = time.Minute
)

var configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// publisher writes the summary of a replica that does not lead into a ConfigMap.
type publisher struct {
	objects dynamic.ResourceInterface // the ConfigMaps of the manager's namespace
	// summary is nil before audit has started, and while the replica leads or may not write.
	summary func() *summary
	replica string
	podUID  string
	limiter *rate.Limiter
	now     func() time.Time

	written   []byte
	refreshed time.Time
}

// Start implements manager.Runnable on every replica.
func (p *publisher) Start(ctx context.Context) error {
	ticker := time.NewTicker(summaryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return p.withdraw()
		case <-ticker.C:
		}
		if err := p.publish(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "reporting the results of audit to the leader")
		}
	}
}

func (p *publisher) name() string { return "lintel-audit-" + p.replica }

// publish writes the summary if it has changed.
func (p *publisher) publish(ctx context.Context) error {
	s := p.summary()
	if s == nil {
		return nil
	}
	text, err := s.encode()
	if err != nil {
		return err
	}
	now := p.now()
	if bytes.Equal(text, p.written) && now.Sub(p.refreshed) < summaryRefresh || !p.limiter.AllowN(now, 1) {
		return nil
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"binaryData": map[string]any{summaryKey: base64.StdEncoding.EncodeToString(text)},
	}}
	object.SetName(p.name())
	object.SetLabels(map[string]string{summaryLabel: "true"})
	if p.podUID != "" { // the summary is deleted with the Pod
		owner := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": p.replica, "uid": p.podUID}
		if err := unstructured.SetNestedSlice(object.Object, []any{owner}, "metadata", "ownerReferences"); err != nil {
			return fmt.Errorf("writing the summary of audit: %w", err)
		}
	}
	if _, err := p.objects.Apply(ctx, p.name(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return fmt.Errorf("applying ConfigMap %s: %w", p.name(), err)
	}
	p.written, p.refreshed = text, now
	return nil
}

// withdraw deletes the summary of a replica that ends.
func (p *publisher) withdraw() error {
	if p.written == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// Without its Lease, a summary has no effect.
	_ = p.objects.Delete(ctx, p.name(), metav1.DeleteOptions{})
	return nil
}

// summaryStore holds the summaries of the other replicas, on the leader.
type summaryStore struct {
	objects dynamic.ResourceInterface

	mu        sync.Mutex          // over the field below
	summaries map[string]*summary // by ConfigMap
}

// Start implements manager.Runnable, on the leader.
func (s *summaryStore) Start(ctx context.Context) error {
	selected := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector = summaryLabel
		return options
	}
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return s.objects.List(ctx, selected(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return s.objects.Watch(ctx, selected(options))
		},
	}, &unstructured.Unstructured{}, s, cache.ReflectorOptions{Name: "audit summaries"})
	reflector.RunWithContext(ctx)
	return nil
}

// of returns the summary of a replica: nil if there is none.
func (s *summaryStore) of(replica string) *summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.summaries[(&publisher{replica: replica}).name()]
	if found == nil || found.Replica != replica {
		return nil
	}
	return found
}

// Add implements cache.ReflectorStore. A summary that cannot be read counts as missing.
func (s *summaryStore) Add(object any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(object)
	return nil
}

// add stores a summary. The caller holds the mutex.
func (s *summaryStore) add(object any) {
	found, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	delete(s.summaries, found.GetName())
	encoded, _, err := unstructured.NestedString(found.Object, "binaryData", summaryKey)
	if err != nil {
		return
	}
	compressed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return
	}
	if read, err := decodeSummary(compressed); err == nil {
		s.summaries[found.GetName()] = read
	}
}

// Update implements cache.ReflectorStore.
func (s *summaryStore) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s *summaryStore) Delete(object any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := object.(*unstructured.Unstructured); ok {
		delete(s.summaries, found.GetName())
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *summaryStore) Replace(list []any, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summaries = map[string]*summary{}
	for _, object := range list {
		s.add(object)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *summaryStore) Resync() error { return nil }
