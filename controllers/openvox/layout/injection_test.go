package layout_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/test/certificates"
)

// TestInjectedNames: certificates of a Pool's servers include its host name, and no other
// certificate does.
func TestInjectedNames(t *testing.T) {
	pool := openvoxtest.MakeRoutedPool("puppet", "puppet.example.com", 1)
	server := openvoxtest.MakeServer("catalogs")
	c := openvoxtest.NewClient(t, pool, openvoxtest.MakeRoutedPool("later", "puppet.example.com", 2), server,
		certificates.MakeCertificate("web", "web").DNSNames("a").Obj(), certificates.MakeCertificate("other", "other").Obj())
	names := func() map[string][]string {
		all, err := layout.CertificatesIn(t.Context(), c, "ns")
		require.NoError(t, err)
		found := map[string][]string{}
		for _, certificate := range all {
			found[certificate.Name] = certificate.Spec.DNSAltNames
		}
		return found
	}
	require.Equal(t, map[string][]string{"web": {"a"}, "other": nil}, names())
	pool.Spec.Route.InjectDNSAltName = true
	require.NoError(t, c.Update(t.Context(), pool))
	require.Equal(t, map[string][]string{"web": {"a", "puppet.example.com"}, "other": nil}, names())
	stored := &v1alpha1.Certificate{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web"}, stored))
	require.Equal(t, []string{"a"}, stored.Spec.DNSAltNames, "what is written by people stays")
	all, err := layout.CertificatesIn(t.Context(), c, "ns")
	require.NoError(t, err)
	rendered := rules.Render(openvoxtest.MakeCA("main"), nil, all, nil)
	require.Contains(t, rendered.Reserved, "puppet.example.com")
	server.Spec.PoolRefs = []string{"later"}
	require.NoError(t, c.Update(t.Context(), server))
	require.Equal(t, map[string][]string{"web": {"a"}, "other": nil}, names(), "the host name is another Pool's")

	// A Database adds its name to its Certificate, unless that Certificate belongs to the CA.
	db := &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "ns"}, Spec: v1alpha1.DatabaseSpec{CertificateRef: "db"}}
	c = openvoxtest.NewClient(t, openvoxtest.MakeCA("main"), db)
	hosts, err := layout.InjectedNames(t.Context(), c, "ns")
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"db": {"db.ns.svc"}}, hosts)
	for _, administers := range []string{"main-server", "main-operator-signing", "later-operator-standby"} {
		db.Spec.CertificateRef = administers
		require.NoError(t, c.Update(t.Context(), db))
		hosts, err = layout.InjectedNames(t.Context(), c, "ns")
		require.NoError(t, err)
		require.Empty(t, hosts, "the CA's own pair is not issued again for a Database that does not get it")
	}

	// Nor is it for a Pool.
	pool, server = openvoxtest.MakeRoutedPool("puppet", "puppet.example.com", 1), openvoxtest.MakeServer("web")
	pool.Spec.Route.InjectDNSAltName, server.Spec.CertificateRef = true, "main-operator-standby"
	hosts, err = layout.InjectedNames(t.Context(), openvoxtest.NewClient(t, openvoxtest.MakeCA("main"), pool, server), "ns")
	require.NoError(t, err)
	require.Empty(t, hosts)
}
