package serving

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

var tlsRouteKind = routeKind.WithVersion("v1")

// poolSite is an API server with Pools, that has the Gateway API or not.
type poolSite struct {
	*site
	refused      string
	externalOnly bool
}

func newPoolSite(t *testing.T, kinds []schema.GroupVersionKind, objects ...client.Object) *poolSite {
	t.Helper()
	return &poolSite{site: newSiteOn(t, openvoxtest.NewClientWith(t, kinds, objects...))}
}

func (s *poolSite) run(name string) (status v1alpha1.PoolStatus, said string) {
	s.T.Helper()
	r := &PoolReconciler{
		client: s.Client, applier: s.Applier, events: s.Events, externalOnly: s.externalOnly,
		admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
			return openvoxtest.Verdict(s.refused), nil
		},
	}
	_, err := r.Reconcile(s.T.Context(), object.Request("ns", name)[0])
	require.NoError(s.T, err)
	pool := &v1alpha1.Pool{}
	require.True(s.T, s.Get(name, pool))
	c := pool.Status.Conditions[0]
	return pool.Status, string(c.Status) + " " + c.Reason + ": " + c.Message
}

func (s *poolSite) route(name string) *unstructured.Unstructured {
	s.T.Helper()
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(tlsRouteKind)
	if !s.Get(name, route) {
		return nil
	}
	return route
}

func endpointsOf(service string, ready ...bool) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: service + "-x", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: service}}}
	for i, r := range ready {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(r)}, TargetRef: &corev1.ObjectReference{UID: types.UID(rune('a' + i))},
		})
	}
	return slice
}

// TestPool is a Service, whose fields of others stay.
func TestPool(t *testing.T) {
	pool := openvoxtest.MakePool("puppet")
	pool.Spec.Service = v1alpha1.PoolServiceSpec{
		Type: corev1.ServiceTypeNodePort, Port: 443, NodePort: 30140, ExternalIPs: []string{"10.0.0.9"},
		Annotations: map[string]string{"a": "b"}, Labels: map[string]string{"team": "x"},
	}
	s := newPoolSite(t, nil, pool, endpointsOf("other", true))
	status, said := s.run("puppet")
	require.Equal(t, "False NoEndpoints: no server that names this Pool in spec.poolRefs is ready", said)
	require.Equal(t, "puppet", status.ServiceName)
	service := &corev1.Service{}
	require.True(t, s.Get("puppet", service))
	require.Equal(t, map[string]string{"openvox.voxpupuli.org/pool-puppet": "true"}, service.Spec.Selector)
	require.Equal(t, "x", service.Labels["team"])
	require.EqualValues(t, 443, service.Spec.Ports[0].Port)
	require.EqualValues(t, 8140, service.Spec.Ports[0].TargetPort.IntValue())
	require.EqualValues(t, 30140, service.Spec.Ports[0].NodePort)
	service.Annotations["cloud.example.com/address"], service.Spec.LoadBalancerClass = "kept", new("cloud")
	require.NoError(t, s.Client.Update(t.Context(), service, client.FieldOwner("cloud")))
	require.NoError(t, s.Client.Create(t.Context(), endpointsOf("puppet", true, false, true)))
	status, said = s.run("puppet")
	require.Equal(t, "True Served: servers are reached by Service puppet", said)
	require.EqualValues(t, 2, status.Endpoints)
	s.Writes = 0
	s.run("puppet")
	require.Zero(t, s.Writes, "nothing changed, nothing written")

	require.True(t, s.Get("puppet", pool))
	pool.Spec.Service.Annotations["a"] = "c"
	require.NoError(t, s.Client.Update(t.Context(), pool))
	s.run("puppet")
	require.True(t, s.Get("puppet", service))
	require.Equal(t, map[string]string{"a": "c", "cloud.example.com/address": "kept"}, service.Annotations)
	require.Equal(t, "cloud", *service.Spec.LoadBalancerClass)

	s.refused = "spec: no"
	_, said = s.run("puppet")
	require.Equal(t, "False NotAdmitted: spec: no", said)
	s.refused, s.externalOnly = "", true
	_, said = s.run("puppet")
	require.Contains(t, said, "False ExternalOnly")
	s = newPoolSite(t, nil, openvoxtest.MakePool("puppet"), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "puppet", Namespace: "ns"}})
	_, said = s.run("puppet")
	require.Contains(t, said, "False NotOwned: Service puppet")
}

// TestRoute: a TLSRoute is created only when the cluster has the kind.
func TestRoute(t *testing.T) {
	first, second := openvoxtest.MakeRoutedPool("z", "puppet.example.com", 1), openvoxtest.MakeRoutedPool("a", "Puppet.example.com", 2)
	s := newPoolSite(t, nil, first.DeepCopy())
	_, said := s.run("z")
	require.Equal(t, "False NoGatewayAPI: spec.route: the cluster does not serve TLSRoutes; install the Gateway API to create the route", said)
	require.True(t, s.Get("z", &corev1.Service{}), "the Service is there")

	s = newPoolSite(t, []schema.GroupVersionKind{tlsRouteKind}, first, second, endpointsOf("z", true))
	_, said = s.run("z")
	require.Contains(t, said, "True Served")
	route := s.route("z")
	require.Equal(t, map[string]any{
		"parentRefs": []any{map[string]any{"name": "shared", "namespace": "gateways", "sectionName": "tls"}},
		"hostnames":  []any{"puppet.example.com"},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": "z", "port": int64(8140)}}}},
	}, route.Object["spec"])
	s.Writes = 0
	s.run("z")
	require.Zero(t, s.Writes, "nothing changed, nothing written")

	_, said = s.run("a")
	require.Equal(t, "False HostnameConflict: spec.route.hostname: Pool z has Puppet.example.com already, and is older; take another name", said)
	require.Nil(t, s.route("a"))
	require.NoError(t, unstructured.SetNestedSlice(route.Object, []any{map[string]any{"conditions": []any{
		map[string]any{"type": "Accepted", "status": "False", "reason": "NoMatchingListenerHostname", "message": "no listener"},
	}}}, "status", "parents"))
	require.NoError(t, s.Client.Update(t.Context(), route))
	_, said = s.run("z")
	require.Equal(t, "False RouteNotAccepted: TLSRoute z: the Gateway says NoMatchingListenerHostname: no listener", said)

	require.NoError(t, s.Client.Delete(t.Context(), first))
	s.run("a")
	require.NotNil(t, s.route("a"), "the name is free")
	require.True(t, s.Get("a", second))
	second.Spec.Route.Enabled = false
	require.NoError(t, s.Client.Update(t.Context(), second))
	s.run("a")
	require.Nil(t, s.route("a"))
}

// TestGatewayAPIIsRemoved while the manager still knows the kind from before.
func TestGatewayAPIIsRemoved(t *testing.T) {
	pool := openvoxtest.MakeRoutedPool("z", "puppet.example.com", 1)
	pool.Spec.Route.Enabled = false
	s := newPoolSite(t, []schema.GroupVersionKind{tlsRouteKind}, pool, endpointsOf("z", true))
	_, said := s.run("z")
	require.Contains(t, said, "True Served")
	require.True(t, s.Get("z", pool))
	pool.Spec.Route.Enabled = true
	require.NoError(t, s.Client.Update(t.Context(), pool))
	s.Refuse = apierrors.NewNotFound(schema.GroupResource{Group: tlsRouteKind.Group, Resource: "tlsroutes"}, "")
	_, said = s.run("z")
	require.Contains(t, said, "False NoGatewayAPI")
}
