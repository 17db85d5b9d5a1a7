package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	ozv1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/openzro"
)

// originals are the namespaces of TestOpenZroOfTheOriginal, whose grants no other test has.
const originals = "e2e-testopenzrooftheoriginal-*"

// TestOpenZroOfTheOriginal: the features of the original operator in addition to the kinds of
// v1. Services are exposed by an annotation, OZNetworkResources have DNS records, Pods of
// routers a template, and Pods get clients by their labels. All of it is deleted with the
// objects.
func TestOpenZroOfTheOriginal(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	readers := makeAtServer[openzro.Group](t, x, "groups", map[string]any{"name": "e2e original readers"})
	zone := makeAtServer[openzro.Zone](t, x, "dns/zones", map[string]any{"name": "e2e original", "domain": "e2e-original.example", "distribution_groups": []string{readers.ID}})
	t.Cleanup(func() {
		for _, path := range []string{"dns/zones/" + zone.ID, "groups/" + readers.ID} {
			_, _ = management.Send(t.Context(), x.token, http.MethodDelete, path, nil)
		}
	})
	router := map[string]any{"replicas": 1, "dnsZoneRef": map[string]any{"name": zone.Domain}, "podTemplate": map[string]any{"spec": map[string]any{"hostNetwork": true}}}
	require.Contains(t, x.refused(t, "OZRoutingPeer", "router", router), "spec.podTemplate.spec.hostNetwork: this namespace has no grant")
	router["podTemplate"] = map[string]any{"spec": map[string]any{"nodeSelector": map[string]any{"zone": "a"}}}
	x.apply(t, "OZRoutingPeer", "router", router)
	x.reconciledRouter(t, "router")
	require.Equal(t, "a", mustGet(t, "deployment", "router", "-n", x.namespace, "-o", "jsonpath={.spec.template.spec.nodeSelector.zone}"))

	mustKubectl(t, asJSON(map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "web", "namespace": x.namespace, "annotations": map[string]string{ozv1.ExposeAnnotation: "true", ozv1.GroupsAnnotation: "e2e original readers"}},
		"spec":     map[string]any{"selector": map[string]string{"app": "web"}, "ports": []map[string]any{{"port": 80}}},
	}), "apply", "-f", "-")
	eventually(t, func() bool { _, ok := get(t, "ozresource", "web", "-n", x.namespace); return ok }, "the OZResource of the Service")
	x.reconciled(t, "ozresource", "web")
	x.apply(t, "OZNetworkResource", "web", map[string]any{"routingPeerRef": map[string]any{"name": "router"}, "serviceRef": map[string]any{"name": "web"}, "groupIDs": []string{readers.ID}})
	x.reconciled(t, "oznetworkresource", "web")
	records := func() []openzro.Record {
		zones := list[openzro.Zone](t, x, "dns/zones")
		at := slices.IndexFunc(zones, func(z openzro.Zone) bool { return z.ID == zone.ID })
		require.GreaterOrEqual(t, at, 0)
		return zones[at].Records
	}
	require.Len(t, records(), 1)
	require.Equal(t, "web."+x.namespace+"."+zone.Domain, records()[0].Name)
	require.Equal(t, mustGet(t, "service", "web", "-n", x.namespace, "-o", "jsonpath={.spec.clusterIP}"), records()[0].Content)

	x.apply(t, "OZSetupKey", "clients", map[string]any{"name": "e2e original clients"})
	x.apply(t, "OZSidecarProfile", "all", map[string]any{"setupKeyRef": map[string]any{"name": "clients"}})
	x.reconciled(t, "ozsidecarprofile", "all")
	pod := created(t, x.annotatedPod(map[string]any{"name": "selected"}, nil))
	require.Equal(t, "all", pod.Annotations[ozv1.SidecarProfileAnnotation])
	require.Len(t, pod.Spec.InitContainers, 1)
	require.Equal(t, "clients-key", environment(pod.Spec.InitContainers[0])["OZ_SETUP_KEY"].ValueFrom.SecretKeyRef.Name)
	require.Empty(t, created(t, x.annotatedPod(map[string]any{"name": "unwilling"}, map[string]string{ozv1.InjectAnnotation: "false"})).Spec.InitContainers)

	mustKubectl(t, "", "annotate", "service", "web", "-n", x.namespace, ozv1.ExposeAnnotation+"-")
	eventually(t, func() bool { _, ok := get(t, "ozresource", "web", "-n", x.namespace); return !ok }, "the OZResource to go with the annotation")
	mustKubectl(t, "", "delete", "-n", x.namespace, openZroKinds, "--all", "--timeout=90s")
	require.Empty(t, records())
	require.Empty(t, list[openzro.Resource](t, x, "networks/resources"))
}
