package policy

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/policies/engine"
)

// discoveryInterval is how soon a kind that was added to the cluster is registered
// by its resource's name instead of its whole group.
const discoveryInterval = 30 * time.Second

// ResourceTable keeps the table of kinds what the cluster serves.
type ResourceTable struct {
	discovery discovery.DiscoveryInterface
	live      *engine.Live
	last      []engine.Resource
}

// NewResourceTable makes a ResourceTable and reads the cluster once.
func NewResourceTable(d discovery.DiscoveryInterface, live *engine.Live) (*ResourceTable, error) {
	t := &ResourceTable{discovery: d, live: live}
	return t, t.refresh()
}

// NeedLeaderElection says that every replica has its own table.
func (t *ResourceTable) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (t *ResourceTable) Start(ctx context.Context) error {
	ticker := time.NewTicker(discoveryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := t.refresh(); err != nil {
			log.FromContext(ctx).Error(err, "keeping the table of kinds as it was")
		}
	}
}

func (t *ResourceTable) refresh() error {
	lists, err := t.discovery.ServerPreferredResources()
	// A group whose API server is down is missing; the others are whole.
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("asking the cluster for its kinds: %w", err)
	}
	resources := resourcesOf(lists)
	if reflect.DeepEqual(resources, t.last) {
		return nil
	}
	t.last = resources
	t.live.SetResources(engine.NewResources(resources))
	return nil
}

// resourcesOf leaves out subresources.
func resourcesOf(lists []*metav1.APIResourceList) []engine.Resource {
	var out []engine.Resource
	for _, list := range lists {
		groupVersion, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			out = append(out, engine.Resource{
				Group: groupVersion.Group, Version: groupVersion.Version,
				Kind: resource.Kind, Name: resource.Name, Namespaced: resource.Namespaced,
			})
		}
	}
	return out
}
