package policy

import (
	"context"
	"fmt"
	"reflect"
	"strings"
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
	groups, lists, err := t.discovery.ServerGroupsAndResources()
	// A group whose API server is down is missing; the others are whole.
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("asking the cluster for its kinds: %w", err)
	}
	resources := resourcesOf(groups, lists)
	if reflect.DeepEqual(resources, t.last) {
		return nil
	}
	t.last = resources
	t.live.SetResources(engine.NewResources(resources))
	return nil
}

// resourcesOf lists every version, the preferred one of each group first, and leaves
// out subresources.
func resourcesOf(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []engine.Resource {
	preferred := map[string]bool{}
	for _, group := range groups {
		preferred[group.PreferredVersion.GroupVersion] = true
	}
	var first, others []engine.Resource
	for _, list := range lists {
		groupVersion, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") {
				continue
			}
			one := engine.Resource{
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
