package zopp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// registerGauges registers the metrics about the hub.
func registerGauges(registry prometheus.Registerer, h *hub) {
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
