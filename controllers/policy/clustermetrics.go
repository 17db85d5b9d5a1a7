package policy

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lintel-policy/lintel/policies/clusterdata"
)

var (
	clusterObjectCount = prometheus.NewDesc("lintel_cluster_data_objects",
		"Cluster objects that are held for policies with requires, by kind.", []string{"kind"}, nil)
	clusterObjectBytes = prometheus.NewDesc("lintel_cluster_data_bytes",
		"Size of these objects as JSON, by kind; in memory they take about ten times that.", []string{"kind"}, nil)
)

// clusterMetrics collects metrics of the cached cluster objects. It has one series for each kind
// that a live source requires, and drops the series of kinds that are no longer required.
type clusterMetrics struct{ current func() *clusterdata.Objects }

// Describe implements prometheus.Collector.
func (clusterMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- clusterObjectCount
	descriptions <- clusterObjectBytes
}

// Collect implements prometheus.Collector.
func (m clusterMetrics) Collect(metrics chan<- prometheus.Metric) {
	for _, size := range m.current().Sizes() {
		kind := size.Kind.String()
		metrics <- prometheus.MustNewConstMetric(clusterObjectCount, prometheus.GaugeValue, float64(size.Objects), kind)
		metrics <- prometheus.MustNewConstMetric(clusterObjectBytes, prometheus.GaugeValue, float64(size.Bytes), kind)
	}
}
