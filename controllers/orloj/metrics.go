package orloj

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics tell how the store is.
type metrics struct {
	up, key  prometheus.Gauge
	writes   *prometheus.CounterVec
	problems *prometheus.CounterVec
	drift    *prometheus.CounterVec
	scan     *prometheus.GaugeVec
}

// transactions is a metric of how many there were.
func transactions(count func() int64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "lintel_orloj_transactions_total", Help: "Transactions that were begun, reads of all rows left out.",
	}, func() float64 { return float64(count()) })
}

func newMetrics(registry prometheus.Registerer, begun func() int64) (*metrics, error) {
	m := &metrics{
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lintel_orloj_store_up", Help: "1 while PostgreSQL answers, 0 while it does not."}),
		key: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lintel_orloj_encryption_key_ok", Help: "1 where the encryption key fits what is stored, 0 where Secrets cannot be written."}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_orloj_writes_total", Help: "Rows that were created, updated or removed."}, []string{"kind", "operation"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_orloj_problems_total", Help: "Tries to write a row that failed, by reason."}, []string{"kind", "reason"}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_orloj_drift_repaired_total", Help: "Rows that somebody else had changed or deleted, and that were written again."}, []string{"kind"}),
		scan: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lintel_orloj_scan_seconds", Help: "How long the last look over all rows of a kind took."}, []string{"kind"}),
	}
	m.up.Set(1)
	m.key.Set(1)
	for _, collector := range []prometheus.Collector{m.up, m.key, m.writes, m.problems, m.drift, m.scan, transactions(begun)} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}
