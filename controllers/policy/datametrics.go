package policy

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
)

// Metrics of a DataSource.
var (
	dataReadyDesc = prometheus.NewDesc("lintel_data_source_ready",
		"1 if a DataSource is Ready and this replica serves its data, otherwise 0.", []string{"data_source"}, nil)
	dataStaleDesc = prometheus.NewDesc("lintel_data_source_stale",
		"1 if the origin of a DataSource was not checked without an error within staleAfter, otherwise 0.", []string{"data_source"}, nil)
	dataSuccessDesc = prometheus.NewDesc("lintel_data_source_last_success_timestamp_seconds",
		"When the origin of a DataSource was last checked without an error. It may be behind by a quarter of staleAfter.", []string{"data_source"}, nil)
	dataBytesDesc = prometheus.NewDesc("lintel_data_source_bytes",
		"Bytes, in JSON, of the data of a DataSource that this replica serves.", []string{"data_source"}, nil)
	dataInfoDesc = prometheus.NewDesc("lintel_data_source_info",
		"1 for the revision of the data of a DataSource that this replica serves.", []string{"data_source", "revision"}, nil)
)

// countDataFetches registers the metric of checks of the origins of DataSources, and returns a
// function that counts them.
func countDataFetches(registerer prometheus.Registerer) func(source, result string, at time.Time) {
	total := promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "lintel_data_source_fetches_total",
		Help: "Checks of the origins of DataSources, by their result: success, or the reason.",
	}, []string{"data_source", "result"})
	return func(source, result string, _ time.Time) { total.WithLabelValues(source, result).Inc() }
}

// dataMetrics collects the metrics of DataSources. Values are read at scrape time, so that a deleted
// DataSource leaves no stale value behind.
type dataMetrics struct {
	sources client.Reader
	live    *engine.Live
}

// Describe implements prometheus.Collector.
func (dataMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{dataReadyDesc, dataStaleDesc, dataSuccessDesc, dataBytesDesc, dataInfoDesc} {
		descriptions <- one
	}
}

// Collect implements prometheus.Collector.
func (d dataMetrics) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	var list v1alpha1.DataSourceList
	if err := d.sources.List(ctx, &list); err != nil {
		return // the replica has only begun, and is not ready itself
	}
	live := d.live.External()
	for i := range list.Items {
		object := &list.Items[i]
		gauge := func(description *prometheus.Desc, value float64, labels ...string) {
			metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, append([]string{object.Name}, labels...)...)
		}
		one := map[bool]float64{true: 1}
		served := live[object.Name]
		ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
		current := ready != nil && (ready.ObservedGeneration == object.Generation || object.Spec.Suspend)
		gauge(dataReadyDesc, one[current && ready.Status == "True" && served != nil && served.Digest == object.Status.Digest])
		gauge(dataStaleDesc, one[meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionStale)])
		if at := object.Status.LastSuccess; at != nil {
			gauge(dataSuccessDesc, float64(at.Unix()))
		}
		if served != nil {
			gauge(dataBytesDesc, float64(served.Bytes))
			gauge(dataInfoDesc, 1, served.Revision)
		}
	}
}
