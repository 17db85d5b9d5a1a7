package openvox

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/test/certificates"
)

// TestObjectMetrics: series have the names of openvox-operator's, and go with their objects.
func TestObjectMetrics(t *testing.T) {
	t.Parallel()
	server, certificate, ca, same := openvoxtest.MakeServer("catalogs"), certificates.MakeCertificate("web", "web").Obj(), openvoxtest.MakeCA("main"), openvoxtest.MakeCA("web")
	server.Status.Desired, server.Status.Ready = 3, 2
	object.Conditions{List: &server.Status.Conditions}.Set(v1alpha1.ConditionReady, false, "NotAdmitted", "no")
	certificate.Status.NotAfter, ca.Status.NotAfter, same.Status.NotAfter = new(metav1.Unix(100, 0)), new(metav1.Unix(200, 0)), new(metav1.Unix(50, 0))
	site := openvoxtest.NewSite(t, server, certificate, ca, same)
	elected := make(chan struct{})
	broken := false
	metrics := newObjectMetrics(interceptor.NewClient(openvoxtest.NewClient(t), interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if broken {
				return errors.New("the cache is not filled")
			}
			return site.Client.List(ctx, list, options...)
		},
	}), elected)
	require.Zero(t, testutil.CollectAndCount(metrics), "the leader's only")
	close(elected)
	values := `
# HELP lintel_openvox_ready Whether the spec of an object is carried out: 1 or 0, with the reason of its condition.
# TYPE lintel_openvox_ready gauge
lintel_openvox_ready{kind="Server",name="catalogs",namespace="ns",reason="NotAdmitted"} 0
# HELP openvox_certificate_expiry_timestamp_seconds When the certificate of a Certificate or CertificateAuthority ends; of two with one name, the earlier end.
# TYPE openvox_certificate_expiry_timestamp_seconds gauge
openvox_certificate_expiry_timestamp_seconds{name="main",namespace="ns"} 200
openvox_certificate_expiry_timestamp_seconds{name="web",namespace="ns"} 50
# HELP openvox_server_replicas_desired The replicas that a Server wants.
# TYPE openvox_server_replicas_desired gauge
openvox_server_replicas_desired{name="catalogs",namespace="ns"} 3
# HELP openvox_server_replicas_ready The replicas of a Server that are ready.
# TYPE openvox_server_replicas_ready gauge
openvox_server_replicas_ready{name="catalogs",namespace="ns"} 2
`
	names := []string{"lintel_openvox_ready", "openvox_certificate_expiry_timestamp_seconds", "openvox_server_replicas_desired", "openvox_server_replicas_ready"}
	require.NoError(t, testutil.CollectAndCompare(metrics, strings.NewReader(values), names...))
	broken = true
	require.NoError(t, testutil.CollectAndCompare(metrics, strings.NewReader(values), names...), "the last values")
	require.NoError(t, testutil.CollectAndCompare(metrics, strings.NewReader(`
# HELP lintel_openvox_metrics_failures_total Scrapes for which objects could not be listed; the metrics of objects have their last values.
# TYPE lintel_openvox_metrics_failures_total counter
lintel_openvox_metrics_failures_total{kind="Certificate"} 2
lintel_openvox_metrics_failures_total{kind="CertificateAuthority"} 2
lintel_openvox_metrics_failures_total{kind="Config"} 2
lintel_openvox_metrics_failures_total{kind="Database"} 2
lintel_openvox_metrics_failures_total{kind="Server"} 2
`), "lintel_openvox_metrics_failures_total"))
	broken = false
	require.NoError(t, site.Client.Delete(t.Context(), server))
	require.NoError(t, site.Client.Delete(t.Context(), certificate))
	require.Equal(t, 2, testutil.CollectAndCount(metrics, names...), "those of the CAs")
}
