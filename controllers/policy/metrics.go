package policy

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
)

// Metrics are about sources and their policies.
type Metrics struct {
	ready *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them; what is in quarantine is read
// from live when it is asked for.
func NewMetrics(registerer prometheus.Registerer, live *engine.Live) (*Metrics, error) {
	m := &Metrics{ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lintel_source_ready",
		Help: "1 where every replica serves the latest revision of a source, else 0. The leader reports it.",
	}, []string{"source"})}
	for _, collector := range []prometheus.Collector{m.ready, quarantined{live}} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) observe(object *v1alpha1.PolicySource) {
	value := 0.0
	if meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionReady) {
		value = 1
	}
	m.ready.WithLabelValues(object.Name).Set(value)
}

func (m *Metrics) forget(source string) { m.ready.DeleteLabelValues(source) }

var quarantinedDesc = prometheus.NewDesc("lintel_policy_quarantined",
	"1 for a policy that is not asked any more, because it did not stop at its deadline.", []string{"source", "policy"}, nil)

// quarantined collects the policies in quarantine.
type quarantined struct{ live *engine.Live }

// Describe implements prometheus.Collector.
func (quarantined) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- quarantinedDesc }

// Collect implements prometheus.Collector.
func (q quarantined) Collect(metrics chan<- prometheus.Metric) {
	snapshot := q.live.Snapshot()
	if snapshot == nil {
		return
	}
	for _, p := range snapshot.Quarantined() {
		metrics <- prometheus.MustNewConstMetric(quarantinedDesc, prometheus.GaugeValue, 1, p.Source, p.Package)
	}
}
