package zopp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics tell how far Secrets keep up. They are the leader's, and their labels hold
// neither values nor names of keys.
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
			Name: "lintel_zopp_outcomes_total", Help: "Secrets that have got another outcome, by which."}, []string{"status"}),
		reloads: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_zopp_reloads_total", Help: "Workloads that were rolled because a Secret of theirs has changed."}, []string{"kind"}),
	}
}
