package openzro

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

// zone creates a DNS zone in the dashboard.
func (s *site) zone(domain string) (id string) {
	s.t.Helper()
	group, err := s.other(s.account.Token).Groups.Create(s.t.Context(), management.GroupRequest{Name: "Readers of " + domain})
	require.NoError(s.t, err)
	made, err := s.other(s.account.Token).Zones.Create(s.t.Context(), map[string]any{"name": domain, "domain": domain, "distribution_groups": []string{group.ID}})
	require.NoError(s.t, err)
	return made.ID
}

// records are those of all zones, without their IDs.
func (s *site) records() (all []openzro.Record) {
	for _, zone := range s.account.Zones() {
		for _, record := range zone.Records {
			record.ID = ""
			all = append(all, record)
		}
	}
	return all
}

func makeNetworkResource(namespace, service string) (*v1.OZNetworkResource, *corev1.Service) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: service}
	return &v1.OZNetworkResource{ObjectMeta: meta, Spec: v1.OZNetworkResourceSpec{
		RoutingPeerRef: v1.RoutingPeerReference{Name: "router", Namespace: team}, ServiceRef: v1.LocalReference{Name: service}, Groups: []string{"Servers"},
	}}, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.7"}}
}

func zonePeer(domain string, namespaces ...string) *v1.OZRoutingPeer {
	peer := ozpeer("router")
	peer.Spec.AllowedNamespaces = namespaces
	if domain != "" {
		peer.Spec.DNSZoneRef = &v1.DNSZoneReference{Name: domain}
	}
	return peer
}

// TestDNSRecords checks that records follow their Service and their zone, and are deleted with
// their object.
func TestDNSRecords(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	grafana, service := makeNetworkResource(team, "grafana")
	s.reconcile(zonePeer("Prod.example.com"), service, grafana)
	s.requireReason(grafana, v1.ReasonDependency, "no DNS zone of the domain prod.example.com")
	require.Len(t, s.account.Resources(), 1)
	s.zone("prod.example.com")
	s.zone("other.example.com")
	s.clock = s.clock.Add(time.Minute)
	s.look()
	s.settle()
	s.requireReconciled(grafana)
	require.Equal(t, []openzro.Record{{Name: "grafana.team.prod.example.com", Type: "A", Content: "10.96.0.7", TTL: 300}}, s.records())
	require.Equal(t, "grafana.team.prod.example.com", grafana.Status.DNSName)
	s.atRest()

	service.Spec.ClusterIP = "fd00::7"
	s.reconcile(service)
	require.Equal(t, []openzro.Record{{Name: "grafana.team.prod.example.com", Type: "AAAA", Content: "fd00::7", TTL: 300}}, s.records())
	s.reconcile(zonePeer("other.example.com"))
	require.Equal(t, []openzro.Record{{Name: "grafana.team.other.example.com", Type: "AAAA", Content: "fd00::7", TTL: 300}}, s.records())
	s.reconcile(zonePeer(""))
	require.Empty(t, s.records())
	s.requireReconciled(grafana)
	require.Empty(t, get(s, grafana).Status.DNSZoneID)
	s.reconcile(zonePeer("prod.example.com"))
	require.Len(t, s.records(), 1)
	s.requireDeletion(grafana)
	require.Empty(t, s.records())
	require.Empty(t, s.account.Resources())
}

// TestARecordIsWithdrawn with its grant, and when the zone is another one that does not exist yet,
// also while a group of the resource is missing.
func TestARecordIsWithdrawn(t *testing.T) {
	s := newSite(t)
	s.options.dnsZones = []string{"team=*.example.com"}
	s.restart()
	s.fallback(s.account.Token)
	require.NoError(t, s.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1.APIKeySecret}}))
	s.twoGroups()
	s.zone("prod.example.com")
	grafana, service := makeNetworkResource(team, "grafana")
	s.reconcile(zonePeer("prod.example.com"), service, grafana)
	s.requireReconciled(grafana)
	for name, withdraw := range map[string]func(){
		"another zone": func() { s.apply(zonePeer("missing.example.com")) },
		"the grant":    func() { s.options.dnsZones = nil; s.restart() },
	} {
		require.Len(t, s.records(), 1, name)
		grafana.Spec.Groups = []string{"Missing"}
		s.apply(grafana)
		withdraw()
		s.settle()
		require.Empty(t, s.records(), name)
		s.requireReason(grafana, v1.ReasonGroupNotFound)
		require.Empty(t, grafana.Status.DNSName)
		require.Empty(t, s.account.Resources()[0].Groups, "it is in no group that is not named")
		s.atRest()

		s.options.dnsZones = []string{"team=*.example.com"}
		s.restart()
		grafana.Spec.Groups = []string{"Servers"}
		s.reconcile(zonePeer("prod.example.com"), grafana)
		s.requireReconciled(grafana)
	}
	s.options.dnsZones = nil
	s.restart()
	s.settle()
	s.requireReason(grafana, v1.ReasonNotGranted, "no grant for the DNS zone prod.example.com")
	require.Empty(t, s.records())
	require.Len(t, s.account.Resources(), 1)
}

// TestARecordOfAnother checks that a foreign record is never changed or deleted. Once it is
// gone, the object immediately gets its own.
func TestARecordOfAnother(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	zone := s.zone("prod.example.com")
	byHand := management.RecordRequest{Name: "grafana.team.prod.example.com", Type: "A", Content: "10.9.9.9", TTL: 60}
	made, err := s.other(s.account.Token).Records(zone).Create(t.Context(), byHand)
	require.NoError(t, err)
	before := s.records()
	grafana, service := makeNetworkResource(team, "grafana")
	s.reconcile(zonePeer("prod.example.com"), service, grafana)
	s.requireReason(grafana, v1.ReasonDuplicateName, "zone prod.example.com already has the record grafana.team.prod.example.com")
	require.Equal(t, before, s.records())
	s.requireDeletion(grafana)
	require.Equal(t, before, s.records())

	require.NoError(t, s.other(s.account.Token).Records(zone).Remove(t.Context(), made.ID))
	s.look()
	s.look() // a list that lacks all is confirmed by another one
	grafana, _ = makeNetworkResource(team, "grafana")
	s.reconcile(grafana)
	s.requireReconciled(grafana)
}

// TestARecordWhoseAnswerIsLost is found again, by an object that stays and by one that is
// deleted meanwhile.
func TestARecordWhoseAnswerIsLost(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		s := newSite(t)
		s.twoGroups()
		s.zone("prod.example.com")
		grafana, service := makeNetworkResource(team, "grafana")
		s.reconcile(zonePeer("prod.example.com"), service)
		s.server.Fault(openzro.Call{Method: http.MethodPost, Route: "dns/zones/{zone}/records"}, 1, openzro.LoseAnswer())
		s.apply(grafana)
		require.NoError(t, s.once())
		require.Len(t, s.records(), 1)
		s.restart()
		if deleted {
			s.requireDeletion(grafana)
			require.Empty(t, s.records())
			continue
		}
		s.settle()
		s.requireReconciled(grafana)
		require.Len(t, s.records(), 1)
	}
}

// TestRoutersOfOtherNamespaces are used if their owner permits it, and no longer. DNS zones of
// a shared account need a grant.
func TestRoutersOfOtherNamespaces(t *testing.T) {
	s := newSite(t)
	s.options.interval = time.Hour // no list is old enough for an outage
	s.restart()
	s.twoGroups()
	s.zone("prod.example.com")
	s.key("shop", s.account.AddToken(openzro.RoleAdmin, true))
	web, service := makeNetworkResource("shop", "web")
	web.Spec.Groups = nil
	s.reconcile(service, web)
	s.requireReason(web, v1.ReasonNotGranted, "spec.routingPeerRef: namespace team has no OZRoutingPeer router that permits resources of namespace shop", "spec.allowedNamespaces")
	unknown := get(s, web).Status.Conditions
	s.reconcile(zonePeer("prod.example.com", "other"))
	require.Equal(t, unknown[0].Message, get(s, web).Status.Conditions[0].Message, "whether it exists is not said")
	require.Empty(t, s.account.Resources())

	s.reconcile(zonePeer("prod.example.com", "other", "sh?p"))
	s.requireReason(web, v1.ReasonNotGranted, "namespace team has no grant for the DNS zone prod.example.com", `--openzro-dns-zones="team=prod.example.com"`)
	require.Empty(t, s.records())
	s.options.dnsZones = []string{"team=*.example.com"}
	s.restart()
	s.settle()
	s.requireReconciled(web)
	require.Equal(t, "kind-shop-web", s.account.Resources()[0].Name)
	require.Equal(t, "web.shop.prod.example.com", s.records()[0].Name)
	s.atRest()

	for _, withdraw := range []func(){
		func() { s.apply(zonePeer("prod.example.com")) },
		func() { s.delete(get(s, zonePeer(""))) },
	} {
		withdraw()
		s.wait()
		s.requireReason(web, v1.ReasonNotGranted, "namespace team has no OZRoutingPeer router that permits resources of namespace shop")
		require.Empty(t, s.account.Resources())
		require.Empty(t, s.records())
		s.apply(zonePeer("prod.example.com", "shop"))
		s.wait()
		s.requireReconciled(web)
	}

	// It is deleted before its status names it, by then without a permission.
	s.delete(web)
	s.settle()
	web, _ = makeNetworkResource("shop", "web")
	web.Spec.Groups = nil
	s.apply(web)
	s.crash()
	require.Len(t, s.account.Resources(), 1)
	peer := zonePeer("prod.example.com")
	s.apply(peer)
	s.delete(peer)
	s.delete(web)
	s.wait()
	require.True(t, s.isGone(web))
	require.True(t, s.isGone(peer))
	require.Empty(t, s.account.Networks())
}

// wait lets time pass in which lists that lack all items are confirmed by others.
func (s *site) wait() {
	s.t.Helper()
	for range 4 {
		s.settle()
		s.clock = s.clock.Add(11 * time.Second)
	}
	s.settle()
}

// TestAnotherAccountsRouter: its network is not in the account of the resource.
func TestAnotherAccountsRouter(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	s.key("shop", s.server.AddAccount("umbrella").Token)
	web, service := makeNetworkResource("shop", "web")
	s.reconcile(service, web, zonePeer("", "shop"))
	s.requireReason(web, v1.ReasonDependency, "is in another account")
}

// TestGroupsByID: of resources and setup keys. They need the same grants as names, and those of
// another namespace are refused.
func TestGroupsByID(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	grafana, service := makeNetworkResource(team, "grafana")
	grafana.Spec.Groups, grafana.Spec.GroupIDs = nil, []string{s.groupNamed("Servers").ID, "unknown"}
	key := ozkey("laptops", v1.OZSetupKeySpec{AutoGroups: []string{"Servers"}, AutoGroupIDs: []string{s.groupNamed("Servers").ID, s.groupNamed("Developers").ID}})
	s.reconcile(zonePeer(""), service, grafana, key)
	s.requireReason(grafana, v1.ReasonGroupNotFound, `spec.groupIDs: the server has no group with the ID "unknown"`)
	s.requireReconciled(key)
	require.Len(t, s.keyNamed("laptops").AutoGroups, 2)
	grafana.Spec.GroupIDs = grafana.Spec.GroupIDs[:1]
	s.reconcile(grafana)
	s.requireReconciled(grafana)
	require.Equal(t, "Servers", s.account.Resources()[0].Groups[0].Name)
	s.atRest()

	s.key("shop", s.account.AddToken(openzro.RoleAdmin, true))
	s.reconcile(in("shop", ozgroup("own", "Own")))
	_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Admins"})
	require.NoError(t, err)
	mine := ozkey("mine", v1.OZSetupKeySpec{AutoGroupIDs: []string{s.groupNamed("Own").ID}})
	admins := ozkey("admins", v1.OZSetupKeySpec{AutoGroupIDs: []string{s.groupNamed("Admins").ID}})
	s.reconcile(mine, admins)
	s.requireReason(mine, v1.ReasonGroupNotFound, "another namespace")
	s.requireReason(admins, v1.ReasonNotGranted, `--openzro-auto-groups="team=Admins"`)

	// An identity provider has a group of a granted name.
	admins.Spec.AutoGroupIDs = []string{s.account.AddGroup("Admins", "jwt")}
	s.options.autoGroups = []string{"team=*"}
	s.restart()
	s.reconcile(admins)
	s.requireReason(admins, v1.ReasonNotGranted, "created in the dashboard or by the API")
	admins.Spec.AutoGroupIDs = nil
	admins.Spec.AutoGroups = []string{"Admins"}
	s.reconcile(admins)
	s.requireReconciled(admins)
}

// keyNamed is a setup key of the account, which is there.
func (s *site) keyNamed(name string) openzro.SetupKey {
	s.t.Helper()
	for _, key := range s.account.SetupKeys() {
		if key.Name == name {
			return key
		}
	}
	s.t.Fatalf("the server has no setup key %s", name)
	return openzro.SetupKey{}
}
