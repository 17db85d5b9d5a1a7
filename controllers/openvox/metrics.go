package openvox

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// The names and labels are those of openvox-operator, so that its dashboards and alerts work.
var (
	objectLabels    = []string{"namespace", "name"}
	replicasDesired = prometheus.NewDesc("openvox_server_replicas_desired", "The replicas that a Server wants.", objectLabels, nil)
	replicasReady   = prometheus.NewDesc("openvox_server_replicas_ready", "The replicas of a Server that are ready.", objectLabels, nil)
	expiry          = prometheus.NewDesc("openvox_certificate_expiry_timestamp_seconds", "When the certificate of a Certificate or CertificateAuthority ends.", objectLabels, nil)
)

// gatherTimeout is how long a scrape waits for a cache that is not filled yet.
const gatherTimeout = time.Second

// objectMetrics are read from the cache at each scrape, so that the series of an object go with it.
// Only the leader has any.
type objectMetrics struct {
	reader  client.Reader
	elected <-chan struct{}
}

// Describe implements prometheus.Collector.
func (m objectMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{replicasDesired, replicasReady, expiry} {
		descriptions <- one
	}
}

// Collect implements prometheus.Collector.
func (m objectMetrics) Collect(metrics chan<- prometheus.Metric) {
	select {
	case <-m.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
	defer cancel()
	gauge := func(description *prometheus.Desc, value float64, of metav1.Object) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, of.GetNamespace(), of.GetName())
	}
	var servers v1alpha1.ServerList
	if m.reader.List(ctx, &servers, client.UnsafeDisableDeepCopy) == nil {
		for i := range servers.Items {
			server := &servers.Items[i]
			gauge(replicasDesired, float64(server.Status.Desired), server)
			gauge(replicasReady, float64(server.Status.Ready), server)
		}
	}
	// A Certificate and a CertificateAuthority may have one name, and a series has one value: the
	// end of a CA is also in lintel_openvox_ca_not_after_timestamp_seconds.
	seen := map[client.ObjectKey]bool{}
	ends := func(of client.Object, at *metav1.Time) {
		if key := client.ObjectKeyFromObject(of); !at.IsZero() && !seen[key] {
			seen[key] = true
			gauge(expiry, float64(at.Unix()), of)
		}
	}
	var certificates v1alpha1.CertificateList
	if m.reader.List(ctx, &certificates, client.UnsafeDisableDeepCopy) == nil {
		for i := range certificates.Items {
			ends(&certificates.Items[i], certificates.Items[i].Status.NotAfter)
		}
	}
	var authorities v1alpha1.CertificateAuthorityList
	if m.reader.List(ctx, &authorities, client.UnsafeDisableDeepCopy) == nil {
		for i := range authorities.Items {
			ends(&authorities.Items[i], authorities.Items[i].Status.NotAfter)
		}
	}
}
