package orloj

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics describe the state of the store.
type metrics struct {
	up, key  prometheus.Gauge
	writes   *prometheus.CounterVec
	problems *prometheus.CounterVec
	drift    *prometheus.CounterVec
	scan     *prometheus.GaugeVec
}

// newMetrics registers the metrics. begun returns the number of transactions.
func newMetrics(registry prometheus.Registerer, begun func() int64) *metrics {
	r := promauto.With(registry)
	m := &metrics{
		up: r.NewGauge(prometheus.GaugeOpts{
			Name: "lintel_orloj_store_up", Help: "1 while PostgreSQL answers, 0 while it does not."}),
		key: r.NewGauge(prometheus.GaugeOpts{
			Name: "lintel_orloj_encryption_key_ok", Help: "1 if the encryption key decrypts the stored Secrets, 0 if Secrets cannot be written."}),
		writes: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_orloj_writes_total", Help: "Rows that were created, updated or removed."}, []string{"kind", "operation"}),
		problems: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_orloj_problems_total", Help: "Tries to write a row that failed, by reason."}, []string{"kind", "reason"}),
		drift: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_orloj_drift_repaired_total", Help: "Rows that were changed or deleted outside Lintel and written again."}, []string{"kind"}),
		scan: r.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lintel_orloj_scan_seconds", Help: "How long the last look over all rows of a kind took."}, []string{"kind"}),
	}
	r.NewCounterFunc(prometheus.CounterOpts{
		Name: "lintel_orloj_transactions_total", Help: "Transactions that were begun, reads of all rows left out.",
	}, func() float64 { return float64(begun()) })
	m.up.Set(1)
	m.key.Set(1)
	return m
}
