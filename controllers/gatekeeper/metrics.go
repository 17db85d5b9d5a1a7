package gatekeeper

import "github.com/prometheus/client_golang/prometheus"

func newMetric() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lintel_gatekeeper_not_enforced",
		Help: "1 for each Gatekeeper object in the cluster that is not enforced in its current version, on the leader with --gatekeeper.",
	}, []string{"kind", "name"})
}

// count sets the metric to the objects that are not enforced now.
func (r *Reconciler) count(problems []problem) {
	r.metric.Reset()
	for _, p := range problems {
		r.metric.WithLabelValues(p.object.GetKind(), p.object.GetName()).Set(1)
	}
}
