package webhooks

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// The outcomes of a request, as metric labels.
const (
	outcomeAllowed = "allowed"
	outcomeDenied  = "denied"
	outcomeMutated = "mutated"
	outcomeError   = "error"
)

// Metrics are the webhooks' Prometheus metrics. The values of labels are names of installed
// entries, sources and policies, and never taken from a request.
type Metrics struct {
	requests          *prometheus.CounterVec
	duration          *prometheus.HistogramVec
	panics            *prometheus.CounterVec
	evaluationErrors  *prometheus.CounterVec
	limits            *prometheus.CounterVec
	exempted          *prometheus.CounterVec
	snapshotInfo      *prometheus.GaugeVec
	snapshotTimestamp prometheus.Gauge
	certificateExpiry *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	r := promauto.With(registerer)
	return &Metrics{
		requests: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_admission_requests_total",
			Help: "Admission requests answered, by entry, operation and outcome (allowed, denied, mutated, error).",
		}, []string{"entry", "operation", "outcome"}),
		duration: r.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lintel_admission_duration_seconds",
			Help:    "Time from the first byte of an admission request to its answer.",
			Buckets: []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
		}, []string{"entry", "outcome"}),
		panics: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_admission_panics_total",
			Help: "Panics recovered while answering admission requests.",
		}, []string{"entry"}),
		evaluationErrors: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_policy_evaluation_errors_total",
			Help: "Policy evaluations that ended in an error, a timeout or a limit.",
		}, []string{"source", "policy"}),
		limits: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_policy_limit_total",
			Help: "Policy evaluations that reached a limit (steps, bytes, timeout, function, result).",
		}, []string{"source", "policy", "limit"}),
		exempted: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_policy_exempted_requests_total",
			Help: "Admission requests in which a PolicyException exempted the object from a policy.",
		}, []string{"source", "policy"}),
		snapshotInfo: r.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lintel_snapshot_info",
			Help: "1 for the digest of the policies that are served.",
		}, []string{"digest"}),
		snapshotTimestamp: r.NewGauge(prometheus.GaugeOpts{
			Name: "lintel_snapshot_timestamp_seconds",
			Help: "Unix time at which the served policies were loaded.",
		}),
		certificateExpiry: r.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lintel_certificate_expiry_timestamp_seconds",
			Help: "Unix time at which the serving certificate (leaf) and its authority (ca) expire.",
		}, []string{"certificate"}),
	}
}

// SnapshotLoaded records which policies are served from now on.
func (m *Metrics) SnapshotLoaded(digest string, at time.Time) {
	m.snapshotInfo.Reset()
	m.snapshotInfo.WithLabelValues(digest).Set(1)
	m.snapshotTimestamp.Set(seconds(at))
}

func (m *Metrics) certificatesLoaded(leaf, authority time.Time) {
	m.certificateExpiry.WithLabelValues("leaf").Set(seconds(leaf))
	if !authority.IsZero() {
		m.certificateExpiry.WithLabelValues("ca").Set(seconds(authority))
	}
}

// observe counts one answered request. The operation is one of the API's four, or
// unknown where the review could not be read.
func (m *Metrics) observe(entry string, review *admission.Review, a *answer, took time.Duration) {
	operation := "unknown"
	if review != nil {
		operation = review.Operation
	}
	m.requests.WithLabelValues(entry, operation, a.outcome()).Inc()
	m.duration.WithLabelValues(entry, a.outcome()).Observe(took.Seconds())
	m.countExempted(a.exempted)
	for _, findings := range [][]engine.Finding{a.denials, a.warnings, a.audits} {
		for _, finding := range findings {
			if finding.Error {
				m.evaluationErrors.WithLabelValues(finding.Source, finding.Policy).Inc()
			}
			if finding.Limit != "" {
				m.limits.WithLabelValues(finding.Source, finding.Policy, finding.Limit).Inc()
			}
		}
	}
}

func (m *Metrics) countExempted(exempted []engine.Finding) {
	type policy struct{ source, name string }
	counted := map[policy]bool{}
	for _, finding := range exempted {
		if of := (policy{finding.Source, finding.Policy}); !counted[of] {
			counted[of] = true
			m.exempted.WithLabelValues(of.source, of.name).Inc()
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / float64(time.Second) }
