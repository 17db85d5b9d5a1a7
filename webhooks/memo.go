package webhooks

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lintel-policy/lintel/policies/engine"
)

// RegisterMemo registers the metrics of a decision memo; of a nil one all are 0.
func RegisterMemo(registerer prometheus.Registerer, memo *engine.Memo) error {
	counter := func(name, help string, of func(engine.MemoStats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(of(memo.Stats())) })
	}
	gauge := func(name, help string, of func(engine.MemoStats) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(of(memo.Stats())) })
	}
	for _, collector := range []prometheus.Collector{
		counter("lintel_decision_memo_hits_total", "Policies not evaluated, because they are known to have nothing to say.", func(s engine.MemoStats) uint64 { return s.Hits }),
		counter("lintel_decision_memo_misses_total", "Policies evaluated whose verdict could have been known.", func(s engine.MemoStats) uint64 { return s.Misses }),
		counter("lintel_decision_memo_evictions_total", "Verdicts forgotten to make room for others.", func(s engine.MemoStats) uint64 { return s.Evictions }),
		counter("lintel_decision_memo_differences_total", "Verdicts that were evaluated all the same, and found to be wrong: a sample, or all with --decision-memo=check.", func(s engine.MemoStats) uint64 { return s.Differences }),
		gauge("lintel_decision_memo_bytes", "Bytes of the verdicts that are known.", func(s engine.MemoStats) int { return s.Bytes }),
		gauge("lintel_decision_memo_entries", "Verdicts that are known.", func(s engine.MemoStats) int { return s.Entries }),
	} {
		if err := registerer.Register(collector); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	return nil
}
