package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheFirstVersionIsPreferred of a kind that is served in several.
func TestTheFirstVersionIsPreferred(t *testing.T) {
	v2 := ServedResource{"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true}
	v1 := v2
	v1.Version = "v1"
	table := NewResources([]ServedResource{v2, v2, v1})
	found, ok := table.ByKind("autoscaling", "HorizontalPodAutoscaler")
	require.True(t, ok)
	require.Equal(t, v2, found)
	found, _ = table.ByName("autoscaling", "horizontalpodautoscalers")
	require.Equal(t, v2, found)
	require.Equal(t, []string{"v2", "v1"}, table.Versions("autoscaling", "HorizontalPodAutoscaler"))
	require.Equal(t, []ServedResource{v2}, table.All())
	_, ok = new(Resources).ByKind("", "Pod")
	require.False(t, ok, "the zero value knows nothing")
}

// TestKindsOfSubresources are those of their parents, as policies name them.
func TestKindsOfSubresources(t *testing.T) {
	scale := GroupVersionKind{"autoscaling", "v1", "Scale"}
	for name, c := range map[string]struct {
		review Review
		want   GroupVersionKind
	}{
		"a Pod":                             {Review{Kind: PodKind, Resource: GroupVersionResource{"", "v1", "pods"}}, PodKind},
		"a scale":                           {Review{Kind: scale, Resource: GroupVersionResource{"apps", "v1", "deployments"}, SubResource: "scale"}, GroupVersionKind{"apps", "v1", "Deployment"}},
		"one of a parent that is not known": {Review{Kind: scale, Resource: GroupVersionResource{"x.example", "v1", "xs"}, SubResource: "scale"}, scale},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, BuiltinResources().KindOf(&c.review)) })
	}
}

func TestSuggestions(t *testing.T) {
	for _, c := range []struct{ group, kind, want string }{
		{"apps", "Deploymnet", `; did you mean kind Deployment in group "apps"?`},
		{"", "Deployment", `; did you mean kind Deployment in group "apps"?`},
		{"", "pods", `; did you mean kind Pod in group ""?`},
		{"", "Podd", `; did you mean kind Pod in group ""?`},
		{"apps", "Podd", ""},
		{"", "Certificates", `; did you mean kind Certificate in group "cert-manager.io"?`},
		{"", "Widget", ""},
	} {
		require.Equal(t, c.want, BuiltinResources().Suggest(c.group, c.kind), "%s in %q", c.kind, c.group)
	}
	require.Equal(t, "deny", Nearest("denny", []string{"warn", "deny", "defaults"}))
	require.Equal(t, "deny", Nearest("denx", []string{"deny", "dens"}), "the first of those that are as near")
	require.Empty(t, Nearest("enforce", []string{"deny"}))
}
