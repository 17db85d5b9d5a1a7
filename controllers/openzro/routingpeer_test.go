package openzro

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

func ozpeer(name string) *v1.OZRoutingPeer {
	return &v1.OZRoutingPeer{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func (s *site) deploymentOf(name string) *appsv1.Deployment {
	s.t.Helper()
	return get(s, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func TestARoutingPeer(t *testing.T) {
	s := newSite(t)
	router := ozpeer("router")
	s.reconcile(router)
	s.requireReconciled(router)
	require.Len(t, s.account.Networks(), 1)
	require.Equal(t, "kind-team", s.account.Networks()[0].Name)
	require.Equal(t, router.Status.NetworkID, s.account.Networks()[0].ID)
	group := s.groupNamed("kind-team-router")
	require.Len(t, s.account.Routers(), 1)
	made := s.account.Routers()[0]
	require.Equal(t, router.Status.RouterID, made.ID)
	require.Equal(t, []string{group.ID}, made.PeerGroups)
	require.True(t, made.Enabled && made.Masquerade)
	require.Equal(t, 9999, made.Metric)
	require.Equal(t, []string{group.ID}, s.account.Settings().AdmissionExemptGroups)
	key := s.account.SetupKeys()[0]
	require.Equal(t, []string{group.ID}, key.AutoGroups)
	require.Equal(t, router.Status.SetupKeyID, key.ID)
	env := s.deploymentOf("router").Spec.Template.Spec.Containers[0].Env
	require.Equal(t, "OZ_SETUP_KEY", env[0].Name)
	require.True(t, isKey(s.stored(env[0].ValueFrom.SecretKeyRef.Name, env[0].ValueFrom.SecretKeyRef.Key)))
	require.Equal(t, s.server.URL, env[1].Value)
	s.atRest()
	s.look()
	require.Zero(t, s.server.Writes(openzro.Call{}))

	before := s.account.Settings()
	s.look()
	router.Spec.ExemptFromAdmission = new(false)
	s.reconcile(router)
	require.Empty(t, s.account.Settings().AdmissionExemptGroups)
	before.AdmissionExemptGroups = s.account.Settings().AdmissionExemptGroups
	require.Equal(t, before, s.account.Settings(), "Z25: no other setting")

	s.deleteWithChildren(router)
	require.Equal(t, []string{"All"}, s.groupNames())
	require.Empty(t, s.account.Networks())
	require.Empty(t, s.account.SetupKeys())
	require.Empty(t, s.account.Routers())
}

// deleteWithChildren deletes an object and its dependents, as the garbage collector does.
func (s *site) deleteWithChildren(peers ...*v1.OZRoutingPeer) {
	s.t.Helper()
	for _, peer := range peers {
		s.delete(peer)
	}
	s.settle()
	for _, peer := range peers {
		require.True(s.t, s.isGone(peer))
	}
	s.deleteChildren(peers...)
}

// deleteChildren deletes the existing dependents of an object.
func (s *site) deleteChildren(peers ...*v1.OZRoutingPeer) {
	s.t.Helper()
	for _, peer := range peers {
		for _, child := range []client.Object{
			&v1.OZSetupKey{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: childName(peer)}},
			&v1.OZGroup{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: childName(peer)}},
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: peer.Name}},
		} {
			require.NoError(s.t, client.IgnoreNotFound(s.client.Delete(s.t.Context(), child)))
		}
	}
	for range 3 {
		require.NoError(s.t, s.once())
	}
}

// TestTwoRoutingPeers is Z11 and Z12: one network, and each touches its own only.
func TestTwoRoutingPeers(t *testing.T) {
	s := newSite(t)
	one, two := ozpeer("one"), ozpeer("two")
	s.reconcile(one, two)
	s.requireReconciled(one, two)
	require.Equal(t, one.Status.NetworkID, two.Status.NetworkID)
	require.NotEqual(t, one.Status.RouterID, two.Status.RouterID)
	require.NotEqual(t, s.deploymentOf("one").Spec.Selector, s.deploymentOf("two").Spec.Selector)
	other := s.other(s.account.Token)
	theirs, err := other.Routers(one.Status.NetworkID).Create(t.Context(), management.RouterRequest{Enabled: true, Metric: 5, PeerGroups: []string{s.groupNamed("All").ID}})
	require.NoError(t, err)
	s.look()
	s.settle()

	s.deleteWithChildren(one)
	s.requireReconciled(two)
	require.Len(t, s.account.Networks(), 1)
	ids := names(s.account.Routers(), func(r openzro.Router) string { return r.ID })
	require.ElementsMatch(t, []string{theirs.ID, two.Status.RouterID}, ids)

	s.delete(two)
	require.NoError(t, s.once())
	s.requireReason(two, v1.ReasonStillLinked, "1 other routers")
	require.NoError(t, other.Routers(two.Status.NetworkID).Delete(t.Context(), theirs.ID))
	s.look()
	s.look() // it was the only one, which another list confirms
	s.settle()
	require.True(t, s.isGone(two))
	require.Empty(t, s.account.Networks())
}

// TestANetworkWithResources stays until they are gone, and says which they are; resources of
// other networks do not matter.
func TestANetworkWithResources(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	elsewhere := s.network("office")
	s.look()
	router := ozpeer("router")
	s.reconcile(router, ozresource("far", elsewhere, "10.0.0.9", "Servers"))
	s.reconcile(ozresource("db", get(s, router).Status.NetworkID, "10.0.0.1", "Servers"))
	s.delete(router)
	require.NoError(t, s.once())
	s.requireReason(router, v1.ReasonStillLinked, "the resources db")
	s.delete(&v1.OZResource{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "db"}})
	s.settle()
	require.True(t, s.isGone(router))
	require.Len(t, s.account.Networks(), 1)
	require.Len(t, s.account.Resources(), 1)
}

// TestAForeignNetworkIsUsed is Z18: a foreign network keeps its description, and stays with its
// contents.
func TestAForeignNetworkIsUsed(t *testing.T) {
	s := newSite(t)
	id := s.network("kind-team")
	router := adopting(ozpeer("router"))
	s.reconcile(router)
	s.requireReconciled(router)
	require.True(t, router.Status.Adopted)
	require.Equal(t, id, router.Status.NetworkID)
	require.NotContains(t, s.account.Networks()[0].Description, recordPrefix)
	s.deleteWithChildren(router)
	require.Len(t, s.account.Networks(), 1)
	require.Empty(t, s.account.Routers())
}

func TestANetworkIsMadeOnce(t *testing.T) {
	s := newSite(t)
	router := ozpeer("router")
	s.apply(router)
	s.crash()
	s.settle()
	s.requireReconciled(router)
	require.False(t, router.Status.Adopted)
	require.Len(t, s.account.Networks(), 1)
	require.Len(t, s.account.Routers(), 1)
}

// TestWhatVanishesOfARoutingPeer checks that deleted items are created again.
func TestWhatVanishesOfARoutingPeer(t *testing.T) {
	s := newSite(t)
	router := ozpeer("router")
	s.reconcile(router)
	other := s.other(s.account.Token)
	require.NoError(t, other.Networks.Delete(t.Context(), get(s, router).Status.NetworkID))
	key := router.Status.SetupKeyID
	require.NoError(t, other.SetupKeys.Delete(t.Context(), key))
	s.look()
	s.look() // they were the only ones, which another list confirms
	s.settle()
	s.requireReconciled(router)
	require.Len(t, s.account.Networks(), 1)
	require.Len(t, s.account.Routers(), 1)
	require.NotEqual(t, key, router.Status.SetupKeyID)
}

// TestOverridesOfARoutingPeer is Z13, too: the override of one peer does not affect another.
func TestOverridesOfARoutingPeer(t *testing.T) {
	plain, err := deployment(ozpeer("plain"), "client:1", "https://a", corev1.SecretKeySelector{})
	require.NoError(t, err)
	require.EqualValues(t, 3, *plain.Spec.Replicas)
	full := ozpeer("full")
	full.Spec = v1.OZRoutingPeerSpec{
		Replicas: new(int32(0)), Labels: map[string]string{"team": "net", "app.kubernetes.io/instance": "mine"}, Annotations: map[string]string{"a": "b"},
		NodeSelector: map[string]string{"zone": "x"}, Tolerations: []corev1.Toleration{{Key: "gpu"}}, Privileged: new(true),
		Volumes: []corev1.Volume{{Name: "v"}}, VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}},
	}
	built, err := deployment(full, "client:1", "https://a", corev1.SecretKeySelector{})
	require.NoError(t, err)
	require.Zero(t, *built.Spec.Replicas)
	pod := built.Spec.Template
	require.Equal(t, "net", pod.Labels["team"])
	require.Equal(t, "full", pod.Labels["app.kubernetes.io/instance"], "the selector matches in any case")
	require.Equal(t, map[string]string{"a": "b"}, pod.Annotations)
	require.Equal(t, map[string]string{"zone": "x"}, pod.Spec.NodeSelector)
	require.Len(t, pod.Spec.Tolerations, 1)
	require.Len(t, pod.Spec.Volumes, 1)
	container := pod.Spec.Containers[0]
	require.Len(t, container.VolumeMounts, 1)
	require.True(t, *container.SecurityContext.Privileged)
	require.Equal(t, corev1.Capability("NET_ADMIN"), container.SecurityContext.Capabilities.Add[0])
	require.Equal(t, "1", container.Resources.Limits.Cpu().String())
	require.Contains(t, container.StartupProbe.Exec.Command[2], "openzro status --check startup")
	require.Contains(t, container.ReadinessProbe.Exec.Command[2], "openzro status --check ready")
	again, err := deployment(ozpeer("plain"), "client:1", "https://a", corev1.SecretKeySelector{})
	require.NoError(t, err)
	require.Equal(t, plain, again)
	require.Len(t, full.Spec.Labels, 2)
}

// TestADeploymentThatIsSomebodysElse is left alone.
func TestADeploymentThatIsSomebodysElse(t *testing.T) {
	s := newSite(t)
	theirs := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "router"}}
	s.apply(theirs)
	router := ozpeer("router")
	s.reconcile(router)
	s.requireReason(router, v1.ReasonDuplicateName, "Deployment router does not belong to this object")
	require.Empty(t, s.deploymentOf("router").Spec.Template.Spec.Containers)
}

func TestANetworkResource(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	grafana := &v1.OZNetworkResource{ObjectMeta: metav1.ObjectMeta{Name: "grafana"}, Spec: v1.OZNetworkResourceSpec{
		RoutingPeerRef: v1.RoutingPeerReference{Name: "router"}, ServiceRef: v1.LocalReference{Name: "grafana"}, Groups: []string{"Servers"},
	}}
	s.reconcile(grafana)
	s.requireReason(grafana, v1.ReasonDependency, "no OZRoutingPeer router")
	s.reconcile(ozpeer("router"))
	s.requireReason(grafana, v1.ReasonDependency, "no Service grafana")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "grafana"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}}
	s.reconcile(service)
	s.requireReason(grafana, v1.ReasonDependency, "headless")
	service.Spec.ClusterIP = "10.96.0.7"
	s.reconcile(service)
	s.requireReconciled(grafana)
	require.Len(t, s.account.Resources(), 1)
	made := s.account.Resources()[0]
	require.Equal(t, "kind-team-grafana", made.Name)
	require.Equal(t, "10.96.0.7/32", made.Address)
	require.Equal(t, "Servers", made.Groups[0].Name)
	s.atRest()
	// The address may be another Service's from now on.
	service.Spec.ClusterIP = "None"
	s.reconcile(service)
	s.requireReason(grafana, v1.ReasonDependency, "headless")
	require.Empty(t, s.account.Resources())
	service.Spec.ClusterIP = "10.96.0.8"
	s.reconcile(service)
	s.requireReconciled(grafana)
	require.Len(t, s.account.Resources(), 1)
	s.requireDeletion(grafana)
	require.Empty(t, s.account.Resources())
}

// TestAnHTTPRoute says what the server lacks, and asks once an hour.
func TestAnHTTPRoute(t *testing.T) {
	s := newSite(t)
	route := &v1.OZHTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Spec: v1.OZHTTPRouteSpec{Domain: "app.example.com"}}
	s.reconcile(route)
	s.requireReason(route, v1.ReasonNotSupportedByServer, "/api/services")
	s.atRest()
	s.requireDeletion(route)
}

// TestRoutingPeersOfTwoNamespacesWithOneName: team and x-y, and team-x and y, are both
// kind-team-x-y in an account that two namespaces have. Neither's peers route for the other.
func TestRoutingPeersOfTwoNamespacesWithOneName(t *testing.T) {
	s := newSite(t)
	s.key("team-x", s.account.Token)
	first, second := ozpeer("x-y"), in("team-x", ozpeer("y"))
	s.reconcile(first)
	s.requireReconciled(first)
	s.reconcile(second)
	s.requireReason(second, v1.ReasonDuplicateName, "kind-team-x-y", "another namespace")
	require.Len(t, s.account.Routers(), 1)
	require.Len(t, s.account.SetupKeys(), 1)
	s.requireDeletion(second)
	require.Equal(t, []string{get(s, first).Status.GroupID}, s.account.Settings().AdmissionExemptGroups)
	s.requireReconciled(first)
}

// TestAPodTemplate is merged into the Pods, but for what the Deployment needs.
func TestAPodTemplate(t *testing.T) {
	t.Parallel()
	key := corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "k"}, Key: "setupKey"}
	with := func(text string) (*appsv1.Deployment, error) {
		peer := ozpeer("router")
		peer.Namespace, peer.Spec.PodTemplate = team, &runtime.RawExtension{Raw: []byte(text)}
		return deployment(peer, "client:1", "https://openzro.example", key)
	}
	plain, err := deployment(ozpeer("router"), "client:1", "https://openzro.example", key)
	require.NoError(t, err)
	merged, err := with(`{"metadata":{"labels":{"app.kubernetes.io/instance":"x","team":"a"}},"spec":{"nodeSelector":{"zone":"a"},"containers":[{"name":"openzro","resources":{"requests":{"cpu":"1"}},"env":[{"name":"A","value":"b"}]}]}}`)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"app.kubernetes.io/name": "openzro-router", "app.kubernetes.io/instance": "router", "team": "a"}, merged.Spec.Template.Labels)
	require.Equal(t, map[string]string{"zone": "a"}, merged.Spec.Template.Spec.NodeSelector)
	require.Len(t, merged.Spec.Template.Spec.Containers, 1)
	client := merged.Spec.Template.Spec.Containers[0]
	require.Equal(t, "client:1", client.Image)
	require.Equal(t, "1", client.Resources.Requests.Cpu().String())
	require.ElementsMatch(t, append(plain.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "A", Value: "b"}), client.Env)
	require.Equal(t, plain.Spec.Template.Spec.Containers[0].StartupProbe, client.StartupProbe)
	for text, why := range map[string]string{
		`{"spec":{"containers":[{"name":"openzro","$patch":"delete"}]}}`: "it removes the container openzro",
		`{"spec":{"hostNetwrok":true}}`:                                  `unknown field "hostNetwrok"`,
		`[]`:                                                             "spec.podTemplate: it cannot be merged",
	} {
		_, err := with(text)
		require.ErrorContains(t, err, why)
	}
}
