package policy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lintel-policy/lintel/policies/engine"
)

// Metrics of the PolicyExceptions in this replica.
var (
	exceptionsDesc = prometheus.NewDesc("lintel_policy_exceptions",
		"PolicyExceptions from a policy that are in force in this replica.", []string{"source", "policy"}, nil)
	exceptionExpiryDesc = prometheus.NewDesc("lintel_policy_exception_expiry_timestamp_seconds",
		"Unix time at which a PolicyException that is in force in this replica expires.", []string{"exception", "source", "policy"}, nil)
)

// exceptionMetrics collects the metrics of exceptions. Values are read at scrape time, so an
// exception that has expired leaves no stale value behind.
type exceptionMetrics struct{ live *engine.Live }

// Describe implements prometheus.Collector.
func (exceptionMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- exceptionsDesc
	descriptions <- exceptionExpiryDesc
}

// Collect implements prometheus.Collector.
func (e exceptionMetrics) Collect(metrics chan<- prometheus.Metric) {
	snapshot := e.live.Snapshot()
	if snapshot == nil {
		return
	}
	type policy struct{ source, name string }
	counts := map[policy]int{}
	for _, one := range snapshot.ExceptionsInForce(time.Now()) {
		counts[policy{one.Source, one.Policy}]++
		metrics <- prometheus.MustNewConstMetric(exceptionExpiryDesc, prometheus.GaugeValue, float64(one.Expires.Unix()), one.Name, one.Source, one.Policy)
	}
	for of, count := range counts {
		metrics <- prometheus.MustNewConstMetric(exceptionsDesc, prometheus.GaugeValue, float64(count), of.source, of.name)
	}
}
