package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/engine"
)

func TestResourcesListThePreferredVersionFirst(t *testing.T) {
	served := func(groupVersion string, names ...string) *metav1.APIResourceList {
		list := &metav1.APIResourceList{GroupVersion: groupVersion}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: "Kind-" + name})
		}
		return list
	}
	table := engine.NewResources(resourcesOf(
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
