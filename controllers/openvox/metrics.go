package openvox

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// The names and labels are those of openvox-operator, so that its dashboards and alerts work.
var (
	objectLabels    = []string{"namespace", "name"}
	replicasDesired = prometheus.NewDesc("openvox_server_replicas_desired", "The replicas that a Server wants.", objectLabels, nil)
	replicasReady   = prometheus.NewDesc("openvox_server_replicas_ready", "The replicas of a Server that are ready.", objectLabels, nil)
	expiry          = prometheus.NewDesc("openvox_certificate_expiry_timestamp_seconds", "When the certificate of a Certificate or CertificateAuthority ends; of two with one name, the earlier end.", objectLabels, nil)
)

// What openvox-operator has no metric of.
var (
	objectReady    = prometheus.NewDesc("lintel_openvox_ready", "Whether the spec of an object is carried out: 1 or 0, with the reason of its condition.", []string{"kind", "namespace", "name", "reason"}, nil)
	gatherFailures = prometheus.NewDesc("lintel_openvox_metrics_failures_total", "Scrapes for which objects could not be listed; the metrics of objects have their last values.", []string{"kind"}, nil)
)

// gatherTimeout is how long a scrape waits for a cache that is not filled yet.
const gatherTimeout = time.Second

// objectMetrics are read from the cache at each scrape, so that the series of an object go with it.
// If a kind cannot be listed, its series have their last values. Only the leader has any.
type objectMetrics struct {
	reader  client.Reader
	elected <-chan struct{}

	mutex sync.Mutex
	// last are the series of each kind at the last scrape that listed it.
	last     map[string]series
	failures map[string]float64
}

// series are those of one kind.
type series struct {
	gauges []gauge
	// ends are when certificates end.
	ends map[client.ObjectKey]time.Time
}

type gauge struct {
	description *prometheus.Desc
	value       float64
	labels      []string
}

func newObjectMetrics(reader client.Reader, elected <-chan struct{}) *objectMetrics {
	return &objectMetrics{reader: reader, elected: elected, last: map[string]series{}, failures: map[string]float64{}}
}

// Describe implements prometheus.Collector.
func (m *objectMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{replicasDesired, replicasReady, expiry, objectReady, gatherFailures} {
		descriptions <- one
	}
}

// Collect implements prometheus.Collector.
func (m *objectMetrics) Collect(metrics chan<- prometheus.Metric) {
	select {
	case <-m.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
	defer cancel()
	m.mutex.Lock()
	defer m.mutex.Unlock()
	ends := map[client.ObjectKey]time.Time{}
	for kind, gather := range map[string]func(context.Context, client.Reader) (series, error){
		"Server": serverSeries, "Database": databaseSeries, "Config": configSeries, "Certificate": certificateSeries, "CertificateAuthority": authoritySeries,
	} {
		if now, err := gather(ctx, m.reader); err == nil {
			m.last[kind] = now
		} else {
			m.failures[kind]++
		}
		metrics <- prometheus.MustNewConstMetric(gatherFailures, prometheus.CounterValue, m.failures[kind], kind)
		for _, g := range m.last[kind].gauges {
			metrics <- prometheus.MustNewConstMetric(g.description, prometheus.GaugeValue, g.value, g.labels...)
		}
		// A Certificate and a CertificateAuthority may have one name, and a series has one value.
		for key, at := range m.last[kind].ends {
			if had, ok := ends[key]; !ok || at.Before(had) {
				ends[key] = at
			}
		}
	}
	for key, at := range ends {
		metrics <- prometheus.MustNewConstMetric(expiry, prometheus.GaugeValue, float64(at.Unix()), key.Namespace, key.Name)
	}
}

func (s *series) ready(kind string, o metav1.Object, conditions []metav1.Condition, condition string) {
	if c := meta.FindStatusCondition(conditions, condition); c != nil {
		value := 0.0
		if c.Status == metav1.ConditionTrue {
			value = 1
		}
		s.gauges = append(s.gauges, gauge{objectReady, value, []string{kind, o.GetNamespace(), o.GetName(), c.Reason}})
	}
}

func (s *series) end(o client.Object, at *metav1.Time) {
	if at.IsZero() {
		return
	}
	if s.ends == nil {
		s.ends = map[client.ObjectKey]time.Time{}
	}
	s.ends[client.ObjectKeyFromObject(o)] = at.Time
}

func serverSeries(ctx context.Context, reader client.Reader) (s series, err error) {
	var list v1alpha1.ServerList
	err = reader.List(ctx, &list, client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		server := &list.Items[i]
		labels := []string{server.Namespace, server.Name}
		s.gauges = append(s.gauges, gauge{replicasDesired, float64(server.Status.Desired), labels}, gauge{replicasReady, float64(server.Status.Ready), labels})
		s.ready("Server", server, server.Status.Conditions, v1alpha1.ConditionReady)
	}
	return s, err
}

func databaseSeries(ctx context.Context, reader client.Reader) (s series, err error) {
	var list v1alpha1.DatabaseList
	err = reader.List(ctx, &list, client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		s.ready("Database", &list.Items[i], list.Items[i].Status.Conditions, v1alpha1.ConditionReady)
	}
	return s, err
}

func configSeries(ctx context.Context, reader client.Reader) (s series, err error) {
	var list v1alpha1.ConfigList
	err = reader.List(ctx, &list, client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		s.ready("Config", &list.Items[i], list.Items[i].Status.Conditions, v1alpha1.ConditionConfigReady)
	}
	return s, err
}

func certificateSeries(ctx context.Context, reader client.Reader) (s series, err error) {
	var list v1alpha1.CertificateList
	err = reader.List(ctx, &list, client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		s.end(&list.Items[i], list.Items[i].Status.NotAfter)
	}
	return s, err
}

func authoritySeries(ctx context.Context, reader client.Reader) (s series, err error) {
	var list v1alpha1.CertificateAuthorityList
	err = reader.List(ctx, &list, client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		s.end(&list.Items[i], list.Items[i].Status.NotAfter)
	}
	return s, err
}
