package openzro

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/openzro"
)

func exposedService(annotations map[string]string) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "web", UID: "web-service", Annotations: map[string]string{v1.ExposeAnnotation: "true"}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{
			{Port: 443, Protocol: corev1.ProtocolTCP}, {Port: 80}, {Port: 53, Protocol: corev1.ProtocolUDP}, {Port: 9, Protocol: corev1.ProtocolSCTP},
		}},
	}
	for key, value := range annotations {
		service.Annotations[key] = value
	}
	return service
}

func TestExposedSpec(t *testing.T) {
	t.Parallel()
	const host = "web.team.svc.cluster.local"
	for name, c := range map[string]struct {
		annotations map[string]string
		grants      []string
		spec        *v1.OZResourceSpec
		refused     string
	}{
		"its own group":    {grants: []string{"te*=Servers"}, spec: &v1.OZResourceSpec{Name: "team-web", Address: host, Groups: []string{"kind-team-web"}}},
		"not asked":        {annotations: map[string]string{v1.ExposeAnnotation: "false"}, grants: []string{"*=*"}},
		"without a grant":  {grants: []string{"other=*"}, refused: `metadata.annotations[openzro.io/expose]: namespace team has no grant to expose Services: write an OZResource or OZNetworkResource, or have the administrator start the manager with --openzro-expose="team=*"`},
		"another group":    {annotations: map[string]string{v1.GroupsAnnotation: "kind-team-web, Admins"}, grants: []string{"team=Servers"}, refused: `metadata.annotations[openzro.io/groups]: namespace team has no grant for the group "Admins"`},
		"groups and names": {annotations: map[string]string{v1.GroupsAnnotation: "Servers, Web ,", v1.ResourceNameAnnotation: " shop "}, grants: []string{"team=Servers", "team=W*", "team=sh?p"}, spec: &v1.OZResourceSpec{Name: "shop", Address: host, Groups: []string{"Servers", "Web"}}},
		"its own name":     {annotations: map[string]string{v1.ResourceNameAnnotation: "kind-team-shop"}, grants: []string{"team=x"}, spec: &v1.OZResourceSpec{Name: "kind-team-shop", Address: host, Groups: []string{"kind-team-web"}}},
		"the default name": {annotations: map[string]string{v1.ResourceNameAnnotation: "team-web"}, grants: []string{"team=x"}, spec: &v1.OZResourceSpec{Name: "team-web", Address: host, Groups: []string{"kind-team-web"}}},
		"another name":     {annotations: map[string]string{v1.ResourceNameAnnotation: "other-web"}, grants: []string{"team=x", "other=*"}, refused: `metadata.annotations[openzro.io/resource-name]: Invalid value "other-web": names are unique in an account: begin it with "kind-team-", or have the administrator start the manager with --openzro-expose="team=other-web"`},
		"all ports": {
			annotations: map[string]string{v1.PolicyAnnotation: "a, b"}, grants: []string{"team=x"},
			spec: &v1.OZResourceSpec{Name: "team-web", Address: host, Groups: []string{"kind-team-web"}, PolicyName: "a,b", TCPPorts: []int32{80, 443}, UDPPorts: []int32{53}},
		},
		"some ports": {
			annotations: map[string]string{v1.PolicyAnnotation: "a", v1.PolicyPortsAnnotation: "80, 53,81", v1.PolicyProtocolAnnotation: "TCP"}, grants: []string{"team=x"},
			spec: &v1.OZResourceSpec{Name: "team-web", Address: host, Groups: []string{"kind-team-web"}, PolicyName: "a", TCPPorts: []int32{80}},
		},
		"not a port":     {annotations: map[string]string{v1.PolicyAnnotation: "a", v1.PolicyPortsAnnotation: "80,http"}, grants: []string{"team=x"}, refused: `metadata.annotations[openzro.io/policy-ports]: Invalid value "http"`},
		"port 0":         {annotations: map[string]string{v1.PolicyAnnotation: "a", v1.PolicyPortsAnnotation: "0"}, grants: []string{"team=x"}, refused: `metadata.annotations[openzro.io/policy-ports]: Invalid value "0"`},
		"not a protocol": {annotations: map[string]string{v1.PolicyAnnotation: "a", v1.PolicyProtocolAnnotation: "icmp"}, grants: []string{"team=x"}, refused: `metadata.annotations[openzro.io/policy-protocol]: Invalid value "icmp": must be tcp or udp`},
	} {
		t.Run(name, func(t *testing.T) {
			spec, refused := exposedSpec(exposedService(c.annotations), c.grants, "kind", "svc.cluster.local")
			require.Equal(t, c.spec, spec)
			if c.refused == "" {
				require.Nil(t, refused)
				return
			}
			require.Contains(t, refused.message, c.refused)
		})
	}
	// The author of such a Service decides what its name resolves to.
	for _, change := range []func(*corev1.ServiceSpec){
		func(s *corev1.ServiceSpec) {
			s.Type, s.ExternalName = corev1.ServiceTypeExternalName, "metadata.google.internal"
		},
		func(s *corev1.ServiceSpec) { s.Selector = nil },
	} {
		service := exposedService(nil)
		change(&service.Spec)
		spec, refused := exposedSpec(service, []string{"*=*"}, "kind", "svc.cluster.local")
		require.Nil(t, spec)
		require.Contains(t, refused.message, "only Services with spec.selector, and not of type ExternalName, can be exposed")
	}
	api := exposedService(nil)
	api.Namespace, api.Name = "default", "kubernetes"
	spec, refused := exposedSpec(api, []string{"*=*"}, "kind", "svc.cluster.local")
	require.Nil(t, spec)
	require.Nil(t, refused)
}

// expose looks at a Service, and at all objects after it.
func (s *site) expose(service *corev1.Service) {
	s.t.Helper()
	_, err := s.exposer.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(service)})
	require.NoError(s.t, err)
	s.settle()
}

func TestAnExposedService(t *testing.T) {
	s := newSite(t)
	s.options.expose = []string{"team=none"}
	s.restart()
	s.twoGroups()
	service := exposedService(map[string]string{v1.PolicyAnnotation: "web"})
	policy := web(22)
	policy.Spec.DestinationGroups = []string{"Servers"}
	s.apply(service, policy)
	s.expose(service)
	require.Contains(t, s.reported(), "NotExposed namespace team has no OZRoutingPeer router")
	s.reconcile(ozpeer("router"))

	// The ports of a Service are opened only if the policy accepts Services.
	s.expose(service)
	require.Contains(t, s.reported(), `NotExposed metadata.annotations[openzro.io/policy]: OZPolicy "web" does not accept Services: annotate it with openzro.io/accept-services=true`)
	resource := &v1.OZResource{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	s.requireReconciled(resource)
	require.Empty(t, resource.Spec.PolicyName)
	require.Equal(t, []string{"22"}, s.policy("web TCP").Rules[0].Ports)
	s.annotate([]v1.Object{policy}, map[string]string{v1.AcceptServicesAnnotation: "true"})
	s.expose(service)
	s.requireReconciled(resource, policy)
	require.Equal(t, []string{"22", "80", "443"}, s.policy("web TCP").Rules[0].Ports)
	require.Len(t, s.account.Resources(), 1)
	require.Equal(t, "web.team.svc.cluster.local", s.account.Resources()[0].Address)
	require.Empty(t, s.reported())
	s.server.ForgetCalls()
	statuses := s.statuses.Load()
	s.expose(service)
	require.Zero(t, s.server.Writes(openzro.Call{}))
	require.Equal(t, statuses, s.statuses.Load())

	// Consent that is withdrawn closes the ports again.
	s.annotate([]v1.Object{policy}, nil)
	s.expose(service)
	require.Equal(t, []string{"22"}, s.policy("web TCP").Rules[0].Ports)

	// So does a grant.
	s.options.expose = nil
	s.restart()
	s.expose(service)
	require.Contains(t, s.reported(), "NotExposed metadata.annotations[openzro.io/expose]: namespace team has no grant")
	require.True(t, s.isGone(resource))
	require.Empty(t, s.account.Resources())
}

// TestTheDefaultGroupIsCreatedForTheService: one of its name that was created in the dashboard, by
// an identity provider or for a routing peer needs a grant. A Service that is in such a group
// leaves it.
func TestTheDefaultGroupIsCreatedForTheService(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(s *site)
		granted bool
	}{
		"by hand":                 {func(s *site) { s.account.AddGroup("kind-team-web", "api") }, true},
		"by an identity provider": {func(s *site) { s.account.AddGroup("kind-team-web", "jwt") }, false},
		"for a routing peer":      {func(s *site) { s.apply(ozpeer("web")) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.options.expose = []string{"team=none"}
			s.restart()
			c.before(s)
			resource := &v1.OZResource{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			s.reconcile(exposedService(nil), ozpeer("router"))
			s.expose(exposedService(nil))
			s.requireReason(resource, v1.ReasonNotGranted, `the server already has the group "kind-team-web", which was not created for this Service`)
			require.Empty(t, s.account.Resources())
			s.reported()
			s.expose(exposedService(nil))
			require.Contains(t, s.reported(), "NotExposed OZResource web: the server already has the group")

			s.options.expose = []string{"te*=kind-team-*"}
			s.restart()
			s.expose(exposedService(nil))
			if !c.granted {
				s.requireReason(resource, v1.ReasonNotGranted)
				return
			}
			s.requireReconciled(resource)
			require.Len(t, s.groupNamed("kind-team-web").Resources, 1)
			s.options.expose = []string{"team=none"}
			s.restart()
			s.expose(exposedService(nil))
			s.requireReason(resource, v1.ReasonNotGranted)
			require.Empty(t, s.groupNamed("kind-team-web").Resources)
		})
	}
}

// TestAServiceLeavesAnOZResourceAlone that a user has created under its name, when it is
// exposed and when it is not.
func TestAServiceLeavesAnOZResourceAlone(t *testing.T) {
	s := newSite(t)
	s.options.expose = []string{"team=*"}
	s.restart()
	s.twoGroups()
	s.reconcile(ozresource("web", s.network("office"), "10.0.0.1", "Servers"), ozpeer("router"), exposedService(nil))
	s.expose(exposedService(nil))
	require.Contains(t, s.reported(), "NotExposed OZResource web does not belong to this object")
	hidden := exposedService(map[string]string{v1.ExposeAnnotation: "false"})
	s.apply(hidden)
	s.expose(hidden)
	require.Len(t, s.account.Resources(), 1)
	require.Equal(t, "10.0.0.1/32", s.account.Resources()[0].Address)
}
