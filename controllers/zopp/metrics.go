package zopp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics measure the delays and failures of syncs. Only the leader exports them, and their labels
// contain neither values nor names of keys.
type metrics struct {
	lag      prometheus.Histogram
	failures *prometheus.CounterVec
	writes   prometheus.Counter
	outcomes *prometheus.CounterVec
	reloads  *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	r := promauto.With(registry)
	return &metrics{
		lag: r.NewHistogram(prometheus.HistogramOpts{
			Name: "lintel_zopp_lag_seconds", Help: "How long after the event of a change the Secret was written.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		failures: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_zopp_failures_total", Help: "Reads of an environment that failed, by reason."}, []string{"reason"}),
		writes: r.NewCounter(prometheus.CounterOpts{
			Name: "lintel_zopp_writes_total", Help: "Writes of Secrets."}),
		outcomes: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_zopp_outcomes_total", Help: "Changes of the status of Secrets, by the new status."}, []string{"status"}),
		reloads: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_zopp_reloads_total", Help: "Workloads that were restarted because one of their Secrets changed."}, []string{"kind"}),
	}
}
