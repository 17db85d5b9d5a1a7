package gatekeeper

import "github.com/prometheus/client_golang/prometheus"

func newMetric() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lintel_gatekeeper_not_enforced",
		Help: "1 for an object of Gatekeeper's in the cluster that is not enforced as it is, on the leader with --gatekeeper.",
	}, []string{"kind", "name"})
}

// count has the metric tell of what is not enforced now.
func (r *Reconciler) count(problems []problem) {
	r.metric.Reset()
	for _, p := range problems {
		r.metric.WithLabelValues(p.object.GetKind(), p.object.GetName()).Set(1)
	}
}
