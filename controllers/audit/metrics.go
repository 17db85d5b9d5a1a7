package audit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/lintel-policy/lintel/policies/audit"
)

// metrics are the metrics of audit. Violations and passes are read at scrape time, so that a leader
// that has stopped leaves no stale value.
type metrics struct {
	evaluations, failures, seconds, writes prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	r := promauto.With(registerer)
	return &metrics{
		evaluations: r.NewCounter(prometheus.CounterOpts{Name: "lintel_audit_evaluations_total", Help: "Evaluations of stored objects."}),
		failures:    r.NewCounter(prometheus.CounterOpts{Name: "lintel_audit_errors_total", Help: "Stored objects that could not be evaluated, and reports that could not be written."}),
		seconds:     r.NewCounter(prometheus.CounterOpts{Name: "lintel_audit_evaluation_seconds_total", Help: "Time of the evaluations of stored objects."}),
		writes:      r.NewCounter(prometheus.CounterOpts{Name: "lintel_audit_report_writes_total", Help: "Writes and deletions of reports."}),
	}
}

var (
	violationsDesc = prometheus.NewDesc("lintel_audit_violations",
		"Violations of stored objects, by source, policy, scope and outcome (fail, warn, error, or skip for those that a PolicyException exempts). The leader reports them.",
		[]string{"source", "policy", "scope", "outcome"}, nil)
	objectsDesc = prometheus.NewDesc("lintel_audit_objects",
		"Stored objects that this replica has evaluated and follows. Each replica has a share of the objects.", nil, nil)
	passDesc = prometheus.NewDesc("lintel_audit_last_full_pass_timestamp_seconds",
		"When all stored objects that a source's policies match were last evaluated completely.", []string{"source"}, nil)
	passSecondsDesc = prometheus.NewDesc("lintel_audit_full_pass_seconds",
		"Duration of the last list and evaluation of a replica's objects of a kind.", []string{"kind"}, nil)
)

// collector reads the state of an auditor, and on the leader the results of all replicas.
type collector struct {
	auditor *auditor
	view    func() *view // nil on other replicas
}

// Describe implements prometheus.Collector.
func (collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{violationsDesc, objectsDesc, passDesc, passSecondsDesc} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(values chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		values <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	progress := c.auditor.progress()
	if progress == nil {
		return
	}
	gauge(objectsDesc, float64(c.auditor.ledger.Len()))
	for kind, of := range progress.kinds {
		if of.Took > 0 {
			gauge(passSecondsDesc, of.Took.Seconds(), kind)
		}
	}
	view := c.view()
	if view == nil {
		return
	}
	for _, info := range view.policies {
		key := audit.PolicyKey{Source: info.Source, Policy: info.Package}
		counts := view.totals[key]
		for _, outcome := range audit.AllOutcomes {
			if outcome == audit.Fail && !view.incomplete[key] || counts[outcome] > 0 {
				gauge(violationsDesc, float64(counts[outcome]), info.Source, info.Package, audit.ScopeName(info.Scope), string(outcome))
			}
		}
	}
	for source, pass := range view.sources {
		if !pass.last.IsZero() {
			gauge(passDesc, float64(pass.last.UnixMilli())/1000, source)
		}
	}
}
