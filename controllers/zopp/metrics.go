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

// follow registers the metrics about the hub.
func (m *metrics) follow(registry prometheus.Registerer, h *hub) {
	r := promauto.With(registry)
	of := func(name, help string, of func(*follower) int) {
		r.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(h.sum(of)) })
	}
	of("lintel_zopp_environments", "Environments that are in use.", func(*follower) int { return 1 })
	of("lintel_zopp_streams", "Streams that are open: as many as environments are in use, when all is well.", func(f *follower) int {
		return count(f.streaming.Load())
	})
	of("lintel_zopp_environments_failing", "Environments in use that cannot be read at present.", func(f *follower) int {
		s := f.latest.Load()
		return count(f.failed.Load() > 0 || s != nil && s.failure != nil)
	})
	of("lintel_zopp_undecryptable_values", "Values of environments in use that cannot be decrypted.", func(f *follower) int {
		return f.latest.Load().unreadable()
	})
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
