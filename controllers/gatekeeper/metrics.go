package gatekeeper

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

var notEnforcedDesc = prometheus.NewDesc("lintel_gatekeeper_not_enforced",
	"1 for an object of Gatekeeper's in the cluster that is not enforced as it is, on the leader with --gatekeeper.", []string{"kind", "name"}, nil)

// notEnforced collects what is not enforced now.
type notEnforced struct {
	mu   sync.Mutex
	list []problem
}

func (n *notEnforced) set(list []problem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = list
}

// Describe implements prometheus.Collector.
func (*notEnforced) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- notEnforcedDesc }

// Collect implements prometheus.Collector.
func (n *notEnforced) Collect(metrics chan<- prometheus.Metric) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.list {
		metrics <- prometheus.MustNewConstMetric(notEnforcedDesc, prometheus.GaugeValue, 1, p.object.GetKind(), p.object.GetName())
	}
}
