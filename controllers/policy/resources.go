package policy

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// discoveryInterval is the interval of discovery without signs of a change.
const discoveryInterval = 30 * time.Second

// discoveryDelays are the delays of discovery after a change: the first merges many
// changes into one, the others exist because the API server lists a kind some time after
// it has accepted it.
var discoveryDelays = []time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second}

// kindSources are the kinds whose objects add kinds to the API server. Only their metadata is
// read.
var kindSources = []schema.GroupVersionKind{
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
}

// Caches configures a manager's cache for package policy: artifacts and reports only in the
// platform's namespace, and only the metadata of objects that add kinds.
func Caches(namespace string) map[client.Object]cache.ByObject {
	labelled := func(label string) cache.ByObject {
		selector, err := labels.Parse(label)
		utilruntime.Must(err)
		return cache.ByObject{Namespaces: map[string]cache.Config{namespace: {LabelSelector: selector}}}
	}
	byObject := map[client.Object]cache.ByObject{&corev1.ConfigMap{}: labelled(sourceLabel), &coordinationv1.Lease{}: labelled(replicaLabel)}
	for _, kind := range kindSources {
		byObject[object.MetadataOf(kind)] = cache.ByObject{Transform: object.IdentityOnly}
	}
	return byObject
}

// resourceTable keeps the table of kinds in sync with the cluster.
type resourceTable struct {
	discovery discovery.DiscoveryInterface
	live      *engine.Live
	informers cache.Informers
	changed   chan struct{}
	last      []admission.ServedResource
	interval  time.Duration
}

// newResourceTable returns a resourceTable after reading the cluster once.
func newResourceTable(d discovery.DiscoveryInterface, live *engine.Live, informers cache.Informers) (*resourceTable, error) {
	t := &resourceTable{discovery: d, live: live, informers: informers, changed: make(chan struct{}, 1), interval: discoveryInterval}
	return t, t.refresh()
}

// Start implements manager.Runnable: every replica has its own table.
func (t *resourceTable) Start(ctx context.Context) error {
	for _, kind := range kindSources {
		if err := t.watch(ctx, kind); err != nil {
			return err
		}
	}
	tries := len(discoveryDelays) // discoveries since the last change
	timer := time.NewTimer(t.interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.changed:
			if tries == 0 {
				continue // discovery is already scheduled
			}
			tries = 0
		case <-timer.C:
			tries++
			if err := t.refresh(); err != nil {
				log.FromContext(ctx).Error(err, "keeping the table of kinds as it was")
			}
		}
		if tries < len(discoveryDelays) {
			timer.Reset(discoveryDelays[tries])
		} else {
			timer.Reset(t.interval)
		}
	}
}

// watch records changes of the objects of a kind. It does not wait for the first list: a missing
// permission must not prevent the manager from serving.
func (t *resourceTable) watch(ctx context.Context, kind schema.GroupVersionKind) error {
	informer, err := t.informers.GetInformer(ctx, object.MetadataOf(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %s: %w", kind.Kind, err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { t.noteChange() },
		UpdateFunc: func(any, any) { t.noteChange() },
		DeleteFunc: func(any) { t.noteChange() },
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", kind.Kind, err)
	}
	return nil
}

// noteChange never blocks: one pending note is enough for any number of changes.
func (t *resourceTable) noteChange() { signal(t.changed, struct{}{}) }

// ReadResources reads the kinds of a cluster. It omits groups whose API server is down.
func ReadResources(d discovery.ServerResourcesInterface) ([]admission.ServedResource, error) {
	groups, lists, err := d.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("asking the cluster for its kinds: %w", err)
	}
	return resourcesOf(groups, lists), nil
}

func (t *resourceTable) refresh() error {
	resources, err := ReadResources(t.discovery)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(resources, t.last) {
		return nil
	}
	t.last = resources
	t.live.SetResources(admission.NewResources(resources))
	return nil
}

// resourcesOf lists every version, the preferred one of each group first, without subresources.
func resourcesOf(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []admission.ServedResource {
	preferred := map[string]bool{}
	for _, group := range groups {
		preferred[group.PreferredVersion.GroupVersion] = true
	}
	var first, others []admission.ServedResource
	for _, list := range lists {
		groupVersion, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") {
				continue
			}
			one := admission.ServedResource{
				Group: groupVersion.Group, Version: groupVersion.Version,
				Kind: resource.Kind, Name: resource.Name, Namespaced: resource.Namespaced,
			}
			if preferred[list.GroupVersion] {
				first = append(first, one)
			} else {
				others = append(others, one)
			}
		}
	}
	return append(first, others...)
}
