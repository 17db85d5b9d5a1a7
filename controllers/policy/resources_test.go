package policy

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// discoveryOf is a cluster that serves what serves says.
type discoveryOf struct {
	discovery.DiscoveryInterface
	serves func() []*metav1.APIResourceList
}

func (d discoveryOf) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, d.serves(), nil
}

// handlersOf are informers of which the test makes the events.
type handlersOf struct {
	cache.Informers
	cache.Informer
	wanted   schema.GroupVersionKind
	handlers chan toolscache.ResourceEventHandler
}

func (h handlersOf) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if object.GetObjectKind().GroupVersionKind() == h.wanted {
		return h, nil
	}
	return handlersOf{handlers: make(chan toolscache.ResourceEventHandler, 1)}, nil
}

func (h handlersOf) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	h.handlers <- handler
	return nil, nil
}

// TestANewKindIsNoticedAtOnce has the API server list a kind a while after the object
// that adds it.
func TestANewKindIsNoticedAtOnce(t *testing.T) {
	for _, kind := range kindSources {
		t.Run(kind.Kind, func(t *testing.T) {
			var asked atomic.Int32
			listed := func() []*metav1.APIResourceList {
				if asked.Add(1) < 3 {
					return nil
				}
				return []*metav1.APIResourceList{{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget"}}}}
			}
			informers := handlersOf{wanted: kind, handlers: make(chan toolscache.ResourceEventHandler, 1)}
			live := engine.NewLive(admission.BuiltinResources())
			table, err := newResourceTable(discoveryOf{serves: listed}, live, informers)
			require.NoError(t, err)
			table.interval = 24 * time.Hour // the update must happen immediately, not at the next interval
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- table.Start(ctx) }()

			select {
			case handler := <-informers.handlers:
				handler.OnAdd(object.MetadataOf(kind), false)
			case <-time.After(2 * time.Minute):
				require.Fail(t, "the kind is not watched")
			}
			require.Eventually(t, func() bool {
				_, known := live.Resources().ByKind("example.com", "Widget")
				return known
			}, 2*time.Minute, 10*time.Millisecond)
			cancel()
			require.NoError(t, <-ended)
		})
	}
}

func TestResourcesListThePreferredVersionFirst(t *testing.T) {
	served := func(groupVersion string, names ...string) *metav1.APIResourceList {
		list := &metav1.APIResourceList{GroupVersion: groupVersion}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: "Kind-" + name})
		}
		return list
	}
	table := admission.NewResources(resourcesOf(
		[]*metav1.APIGroup{{Name: "example.com", PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v1"}}},
		[]*metav1.APIResourceList{
			served("example.com/v2beta1", "widgets", "widgets/status", "novelties"),
			served("example.com/v1", "widgets"),
		}))
	resource, known := table.ByName("example.com", "widgets")
	require.True(t, known)
	require.Equal(t, "v1", resource.Version)
	require.Equal(t, []string{"v1", "v2beta1"}, table.Versions("example.com", "Kind-widgets"))
	require.Equal(t, []string{"v2beta1"}, table.Versions("example.com", "Kind-novelties"))
	_, known = table.ByName("example.com", "widgets/status")
	require.False(t, known)
}
