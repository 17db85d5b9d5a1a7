package serving

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
)

// TestOneChangeOneRollout: a change by which the certificate is issued again replaces Pods once,
// after the certificate is stored.
func TestOneChangeOneRollout(t *testing.T) {
	injecting := func(name, host string) *v1alpha1.Pool {
		pool := openvoxtest.MakeRoutedPool(name, host, 1)
		pool.Spec.Route.InjectDNSAltName = true
		return pool
	}
	for name, c := range map[string]struct {
		change func(*serverSite)
		names  []string
	}{
		"poolRefs names a Pool": {func(s *serverSite) {
			require.NoError(s.T, s.Client.Create(s.T.Context(), injecting("edge", "edge.example.com")))
			s.change(func(spec *v1alpha1.ServerSpec) { spec.PoolRefs = []string{"puppet", "edge"} })
		}, []string{"edge.example.com"}},
		"a Pool gets a host name while the image changes": {func(s *serverSite) {
			require.NoError(s.T, s.Client.Create(s.T.Context(), injecting("puppet", "puppet.example.com")))
			s.change(func(spec *v1alpha1.ServerSpec) { spec.Image.Tag = "9" })
		}, []string{"puppet.example.com"}},
		"two Pools get a host name": {func(s *serverSite) {
			require.NoError(s.T, s.Client.Create(s.T.Context(), injecting("puppet", "puppet.example.com")))
			require.NoError(s.T, s.Client.Create(s.T.Context(), injecting("edge", "edge.example.com")))
			s.change(func(spec *v1alpha1.ServerSpec) { spec.PoolRefs = []string{"puppet", "edge"} })
		}, []string{"edge.example.com", "puppet.example.com"}},
		"dnsAltNames of the Certificate change with the Server": {func(s *serverSite) {
			s.updateCertificate(func(c *v1alpha1.Certificate) { c.Spec.DNSAltNames, c.Generation = []string{"next"}, 2 })
			s.change(func(spec *v1alpha1.ServerSpec) { spec.JavaArgs = "-Xmx600m" })
		}, []string{"next"}},
	} {
		s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
		require.Contains(t, s.run(), "RollingOut", name)
		before := s.deployment().Spec.Template
		c.change(s)
		require.Contains(t, s.run(), "False WaitingForCertificate: Certificate web is issued again: its DNS names are []; changes wait for it", name)
		require.Equal(t, before, s.deployment().Spec.Template, name)
		if len(c.names) > 1 {
			s.reissue(c.names[:1]...)
			require.Contains(t, s.run(), "WaitingForCertificate", "the first of two names replaces no Pods")
			require.Equal(t, before, s.deployment().Spec.Template, name)
		}
		s.reissue(c.names...)
		require.Contains(t, s.run(), "RollingOut", name)
		after := s.deployment().Spec.Template
		require.NotEqual(t, before.Annotations[certificateHash], after.Annotations[certificateHash], name)
		require.NotEqual(t, before, after, name)
		s.run()
		require.Equal(t, after, s.deployment().Spec.Template, name)
	}
}

// TestAFailedCertificateKeepsNothingWaiting: changes are carried out with the certificate that is
// stored.
func TestAFailedCertificateKeepsNothingWaiting(t *testing.T) {
	for name, hinder := range map[string]func(*serverSite){
		"the CA signs nothing": func(s *serverSite) {
			s.reportCertificate(func(c *v1alpha1.Certificate) {
				object.Conditions{List: &c.Status.Conditions, Generation: c.Generation}.Set(v1alpha1.ConditionCertSigned, false, "RenewalFailed", "no")
			})
		},
		"the Certificate is paused": func(s *serverSite) {
			s.updateCertificate(func(c *v1alpha1.Certificate) { c.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"} })
		},
	} {
		s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
		s.run()
		s.updateCertificate(func(c *v1alpha1.Certificate) { c.Spec.DNSAltNames = []string{"next"} })
		hinder(s)
		s.change(func(spec *v1alpha1.ServerSpec) { spec.JavaArgs = "-Xmx600m" })
		require.Contains(t, s.run(), "RollingOut", name)
		require.Contains(t, s.deployment().Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "JAVA_ARGS", Value: "-Xmx600m"}, name)
	}

	// A failure of an earlier spec says nothing of this one.
	s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
	s.reportCertificate(func(c *v1alpha1.Certificate) {
		object.Conditions{List: &c.Status.Conditions, Generation: c.Generation}.Set(v1alpha1.ConditionCertSigned, false, "NotAdmitted", "no")
	})
	s.updateCertificate(func(c *v1alpha1.Certificate) { c.Spec.DNSAltNames, c.Generation = []string{"next"}, 2 })
	require.Contains(t, s.run(), "WaitingForCertificate")

	// The CA's server waits only while it runs, because it issues the certificate.
	server := openvoxtest.MakeCAServer()
	server.Spec.CertificateRef = "web"
	s = newServerSite(t, server)
	ca := &v1alpha1.CertificateAuthority{}
	require.True(t, s.Get("main", ca))
	ca.Status.ServerCertificateName = "web"
	require.NoError(t, s.Client.Status().Update(t.Context(), ca))
	require.Contains(t, s.run(), "RollingOut", "its certificate lacks the name of the CA's Service")
	s.become(appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1})
	require.Contains(t, s.run(), "Running False WaitingForCertificate: Certificate web is issued again")
	s.reissue("main-internal.ns.svc")
	require.Contains(t, s.run(), "Running True Running")
}

// TestPoolsThatComeLater: a Server that is applied before its Pools is not started without them.
func TestPoolsThatComeLater(t *testing.T) {
	server := openvoxtest.MakeServer("catalogs")
	server.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	s := newServerSite(t, server)
	s.Now = server.CreationTimestamp.Add(3 * time.Second)
	require.Equal(t, "Pending False WaitingForPool: spec.poolRefs: there is no Pool puppet; the servers are started or changed without it after 10s", s.run())
	require.Nil(t, s.deployment())
	s.Now = server.CreationTimestamp.Add(poolPatience)
	require.Contains(t, s.run(), "RollingOut", "without it")
	s.Now = server.CreationTimestamp.Add(time.Second)
	require.Contains(t, s.run(), "RollingOut", "the Pods have its label already")

	written := metav1.NewTime(server.CreationTimestamp.Add(time.Hour))
	server.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: &written}, {Subresource: "status", Time: new(metav1.NewTime(written.Add(time.Hour)))}}
	require.Equal(t, written.Time, lastWritten(server))
}

func (s *serverSite) updateCertificate(change func(*v1alpha1.Certificate)) {
	s.T.Helper()
	certificate := &v1alpha1.Certificate{}
	require.True(s.T, s.Get("web", certificate))
	change(certificate)
	require.NoError(s.T, s.Client.Update(s.T.Context(), certificate))
}

func (s *serverSite) reportCertificate(change func(*v1alpha1.Certificate)) {
	s.T.Helper()
	certificate := &v1alpha1.Certificate{}
	require.True(s.T, s.Get("web", certificate))
	change(certificate)
	require.NoError(s.T, s.Client.Status().Update(s.T.Context(), certificate))
}

// reissue stores another pair for the Server, with further names.
func (s *serverSite) reissue(names ...string) {
	s.T.Helper()
	secret := &corev1.Secret{}
	require.True(s.T, s.Get(layout.TLSSecret("web"), secret))
	secret.Data = openvoxtest.NewPair(s.T, s.fake, &x509.Certificate{Subject: pkix.Name{CommonName: "web.example.com"}, DNSNames: names})
	require.NoError(s.T, s.Client.Update(s.T.Context(), secret))
}
