package openvox

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/test/certificates"
)

// TestObjectMetrics: series have the names of openvox-operator's, and go with their objects.
func TestObjectMetrics(t *testing.T) {
	t.Parallel()
	server, certificate, ca, same := openvoxtest.MakeServer("catalogs"), certificates.MakeCertificate("web", "web").Obj(), openvoxtest.MakeCA("main"), openvoxtest.MakeCA("web")
	server.Status.Desired, server.Status.Ready = 3, 2
	certificate.Status.NotAfter, ca.Status.NotAfter, same.Status.NotAfter = new(metav1.Unix(100, 0)), new(metav1.Unix(200, 0)), new(metav1.Unix(300, 0))
	site := openvoxtest.NewSite(t, server, certificate, ca, same)
	elected := make(chan struct{})
	metrics := objectMetrics{reader: site.Client, elected: elected}
	require.Zero(t, testutil.CollectAndCount(metrics), "the leader's only")
	close(elected)
	require.NoError(t, testutil.CollectAndCompare(metrics, strings.NewReader(`
# HELP openvox_certificate_expiry_timestamp_seconds When the certificate of a Certificate or CertificateAuthority ends.
# TYPE openvox_certificate_expiry_timestamp_seconds gauge
openvox_certificate_expiry_timestamp_seconds{name="main",namespace="ns"} 200
openvox_certificate_expiry_timestamp_seconds{name="web",namespace="ns"} 100
# HELP openvox_server_replicas_desired The replicas that a Server wants.
# TYPE openvox_server_replicas_desired gauge
openvox_server_replicas_desired{name="catalogs",namespace="ns"} 3
# HELP openvox_server_replicas_ready The replicas of a Server that are ready.
# TYPE openvox_server_replicas_ready gauge
openvox_server_replicas_ready{name="catalogs",namespace="ns"} 2
`)))
	require.NoError(t, site.Client.Delete(t.Context(), server))
	require.NoError(t, site.Client.Delete(t.Context(), certificate))
	require.Equal(t, 2, testutil.CollectAndCount(metrics), "those of the CAs")
}
