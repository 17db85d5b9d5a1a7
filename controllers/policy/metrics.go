package policy

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
)

// countFetches registers the metrics of checks of origins, and returns a function that counts
// them. The status of a source does not contain the time of the last check, because every check
// would write it.
func countFetches(registerer prometheus.Registerer) func(source, result string, at time.Time) {
	r := promauto.With(registerer)
	total := r.NewCounterVec(prometheus.CounterOpts{
		Name: "lintel_source_fetches_total",
		Help: "Looks at the origins of sources, by how they ended: success, or the reason.",
	}, []string{"source", "result"})
	last := r.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lintel_source_last_fetch_timestamp_seconds",
		Help: "When the origin of a source was last looked at without an error.",
	}, []string{"source"})
	return func(source, result string, at time.Time) {
		total.WithLabelValues(source, result).Inc()
		if result == fetched {
			last.WithLabelValues(source).Set(float64(at.UnixMilli()) / 1000)
		}
	}
}

var sourceReadyDesc = prometheus.NewDesc("lintel_source_ready",
	"1 if the latest revision of a source is Ready and this replica serves it, otherwise 0.", []string{"source"}, nil)

// Metrics of a source in this replica.
var (
	sourceInfoDesc = prometheus.NewDesc("lintel_source_info",
		"1 for the revision of a source that this replica serves.", []string{"source", "revision"}, nil)
	sourcePoliciesDesc = prometheus.NewDesc("lintel_source_policies",
		"Policies of a source that this replica serves.", []string{"source"}, nil)
	sourceRulesDesc = prometheus.NewDesc("lintel_source_rules",
		"Rules of a source's policies that this replica serves.", []string{"source"}, nil)
	sourceLeftOutDesc = prometheus.NewDesc("lintel_source_files_left_out",
		"Files of the latest revision of a source with spec.partial that are not in force as they are in the origin.", []string{"source"}, nil)
	sourceSinceDesc = prometheus.NewDesc("lintel_source_serving_since_timestamp_seconds",
		"When the last replica began to serve the live revision of a source.", []string{"source"}, nil)
)

// Metrics of the last rehearsal of a source, from its status.
var (
	sourceRehearsalDesc = prometheus.NewDesc("lintel_source_rehearsal",
		"1 for the result of the last rehearsal of a source: Running, Passed, Failed, Waiting, Skipped or Approved.", []string{"source", "result"}, nil)
	sourceNewDenialsDesc = prometheus.NewDesc("lintel_source_rehearsal_new_denials",
		"Recorded requests that the last rehearsed revision of a source newly denies.", []string{"source"}, nil)
)

// Metrics of a policy in this replica, since it serves the revision.
var (
	policyEvaluationsDesc = prometheus.NewDesc("lintel_policy_evaluations_total",
		"Evaluations of a policy by this replica since it serves the revision.", []string{"source", "policy"}, nil)
	policyStepsDesc = prometheus.NewDesc("lintel_policy_steps_total",
		"Steps of all evaluations of a policy by this replica since it serves the revision.", []string{"source", "policy"}, nil)
	policyMostStepsDesc = prometheus.NewDesc("lintel_policy_steps_max",
		"The most steps of one evaluation of a policy by this replica since it serves the revision.", []string{"source", "policy"}, nil)
	policyStepLimitDesc = prometheus.NewDesc("lintel_policy_steps_limit",
		"The steps that one evaluation of a policy may take.", []string{"source", "policy"}, nil)
)

// listTimeout bounds reading the sources from a cache that is not synced yet.
const listTimeout = time.Second

// sourceMetrics collects the metrics of sources and their policies. Values are read at scrape
// time, and each replica reports the revision that it serves, so a leader that has ended leaves
// no stale value behind.
type sourceMetrics struct {
	sources client.Reader
	live    *engine.Live
}

// Describe implements prometheus.Collector.
func (sourceMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{
		sourceRehearsalDesc, sourceNewDenialsDesc,
		sourceReadyDesc, sourceInfoDesc, sourcePoliciesDesc, sourceRulesDesc, sourceLeftOutDesc, sourceSinceDesc,
		policyEvaluationsDesc, policyStepsDesc, policyMostStepsDesc, policyStepLimitDesc,
	} {
		descriptions <- one
	}
}

// Collect implements prometheus.Collector.
func (s sourceMetrics) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	var list v1alpha1.PolicySourceList
	if err := s.sources.List(ctx, &list); err != nil {
		return // the replica has only begun, and is not ready itself
	}
	for i := range list.Items {
		value := 0.0
		if s.ready(&list.Items[i]) {
			value = 1
		}
		gauge := func(description *prometheus.Desc, value float64, labels ...string) {
			metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, append([]string{list.Items[i].Name}, labels...)...)
		}
		gauge(sourceReadyDesc, value)
		if list.Items[i].Spec.Partial {
			gauge(sourceLeftOutDesc, float64(list.Items[i].Status.LeftOut))
		}
		if set, ok := s.live.Get(list.Items[i].Name); ok {
			gauge(sourceInfoDesc, 1, set.Revision())
			gauge(sourcePoliciesDesc, float64(set.Policies()))
			gauge(sourceRulesDesc, float64(set.Rules()))
			collectCosts(set, metrics)
		}
		if rehearsal := list.Items[i].Status.Rehearsal; rehearsal != nil {
			gauge(sourceRehearsalDesc, 1, string(rehearsal.Result))
			gauge(sourceNewDenialsDesc, float64(rehearsal.NewDenials))
		}
		if since := servingSince(&list.Items[i]); !since.IsZero() {
			gauge(sourceSinceDesc, float64(since.Unix()))
		}
	}
}

// collectCosts collects the work of the policies of a source.
func collectCosts(set *engine.PolicySet, metrics chan<- prometheus.Metric) {
	for _, p := range set.List() {
		evaluations, steps, most := p.Cost.Load()
		emit := func(description *prometheus.Desc, kind prometheus.ValueType, value int64) {
			metrics <- prometheus.MustNewConstMetric(description, kind, float64(value), set.Name(), p.Name)
		}
		emit(policyEvaluationsDesc, prometheus.CounterValue, evaluations)
		emit(policyStepsDesc, prometheus.CounterValue, steps)
		emit(policyMostStepsDesc, prometheus.GaugeValue, most)
		emit(policyStepLimitDesc, prometheus.GaugeValue, p.Meta.Steps())
	}
}

// servingSince is when the last replica began to serve the live revision: the zero time if not
// all replicas do.
func servingSince(object *v1alpha1.PolicySource) (since time.Time) {
	for _, replica := range object.Status.Replicas {
		if replica.Digest != object.Status.Digest {
			return time.Time{}
		}
		if replica.Time.After(since) {
			since = replica.Time.Time
		}
	}
	return since
}

// ready reports whether a source is ready. A status of an earlier generation counts only if the
// source is suspended, because later generations are not reconciled then.
func (s sourceMetrics) ready(object *v1alpha1.PolicySource) bool {
	condition := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return false
	}
	if condition.ObservedGeneration != object.Generation && !object.Spec.Suspend {
		return false
	}
	set, ok := s.live.Get(object.Name)
	return ok && set.Digest() == object.Status.Digest
}
