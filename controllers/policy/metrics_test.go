package policy

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// TestSourceReadyIsWhatThisReplicaServes: nothing is asked of a leader.
func TestSourceReadyIsWhatThisReplicaServes(t *testing.T) {
	set, err := policyset.Compile(definition.Source{Name: "team", Files: map[string]string{"p.rego": good}})
	require.NoError(t, err)
	ready := func(o *v1alpha1.PolicySource) {
		o.Status.Digest = set.Digest()
		o.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: o.Generation}}
	}
	for name, c := range map[string]struct {
		live   bool
		change func(*v1alpha1.PolicySource)
		want   string
	}{
		"served":                      {true, func(*v1alpha1.PolicySource) {}, "1"},
		"not served here":             {false, func(*v1alpha1.PolicySource) {}, "0"},
		"another revision is":         {true, func(o *v1alpha1.PolicySource) { o.Status.Digest = "sha256:other" }, "0"},
		"nobody evaluated the latest": {true, func(o *v1alpha1.PolicySource) { o.Generation++ }, "0"},
		"nobody is to evaluate it":    {true, func(o *v1alpha1.PolicySource) { o.Generation++; o.Spec.Suspend = true }, "1"},
		"refused":                     {true, func(o *v1alpha1.PolicySource) { o.Status.Conditions[0].Status = metav1.ConditionFalse }, "0"},
		"never evaluated":             {true, func(o *v1alpha1.PolicySource) { o.Status.Conditions = nil }, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			require.NoError(t, v1alpha1.AddToScheme(scheme))
			sources := fake.NewClientBuilder().WithScheme(scheme).WithObjects(makeSource(good, ready, c.change)).Build()
			live := engine.NewLive(admission.BuiltinResources())
			if c.live {
				live.Put(set)
			}
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(sourceMetrics{sources, live})
			require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lintel_source_ready 1 if the latest revision of a source is Ready and this replica serves it, otherwise 0.
# TYPE lintel_source_ready gauge
lintel_source_ready{source="team"} `+c.want+`
`), "lintel_source_ready"))
		})
	}
}

func TestTheRehearsalOfASource(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(sourceMetrics{fake.NewClientBuilder().WithScheme(scheme).WithObjects(makeSource(good, func(o *v1alpha1.PolicySource) {
		o.Status.Rehearsal = &v1alpha1.RehearsalStatus{Result: v1alpha1.RehearsalFailed, NewDenials: 7}
	})).Build(), engine.NewLive(admission.BuiltinResources())})
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lintel_source_rehearsal 1 for the result of the last rehearsal of a source: Running, Passed, Failed, Waiting, Skipped or Approved.
# TYPE lintel_source_rehearsal gauge
lintel_source_rehearsal{result="Failed",source="team"} 1
# HELP lintel_source_rehearsal_new_denials Recorded requests that the last rehearsed revision of a source newly denies.
# TYPE lintel_source_rehearsal_new_denials gauge
lintel_source_rehearsal_new_denials{source="team"} 7
`), "lintel_source_rehearsal", "lintel_source_rehearsal_new_denials"))
}

func TestTheFilesThatAPartialSourceLeavesOut(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(sourceMetrics{fake.NewClientBuilder().WithScheme(scheme).WithObjects(makeSource(good, func(o *v1alpha1.PolicySource) {
		o.Spec.Partial, o.Status.LeftOut = true, 2
	})).Build(), engine.NewLive(admission.BuiltinResources())})
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lintel_source_files_left_out Files of the latest revision of a source with spec.partial that are not in force as they are in the origin.
# TYPE lintel_source_files_left_out gauge
lintel_source_files_left_out{source="team"} 2
`), "lintel_source_files_left_out"))
}

func TestWhatIsServedOfASource(t *testing.T) {
	set, err := policyset.Compile(definition.Source{Name: "team", Revision: "main@sha1:1", Files: map[string]string{"p.rego": good}})
	require.NoError(t, err)
	set.List()[0].Cost.Add(3)
	set.List()[0].Cost.Add(7)
	served := func(digests ...string) func(*v1alpha1.PolicySource) {
		return func(o *v1alpha1.PolicySource) {
			o.Status.Digest = set.Digest()
			for i, digest := range digests {
				o.Status.Replicas = append(o.Status.Replicas, v1alpha1.ReplicaStatus{Name: "m", Digest: digest, Time: metav1.Unix(int64(100+i), 0)})
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.PolicySource)
		since  string
	}{
		"by all replicas": {served(set.Digest(), set.Digest()), "# HELP lintel_source_serving_since_timestamp_seconds When the last replica began to serve the live revision of a source.\n# TYPE lintel_source_serving_since_timestamp_seconds gauge\nlintel_source_serving_since_timestamp_seconds{source=\"team\"} 101\n"},
		"by one of two":   {served(set.Digest(), "old"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			require.NoError(t, v1alpha1.AddToScheme(scheme))
			live := engine.NewLive(admission.BuiltinResources())
			live.Put(set)
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(sourceMetrics{fake.NewClientBuilder().WithScheme(scheme).WithObjects(makeSource(good, c.change)).Build(), live})
			require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lintel_source_info 1 for the revision of a source that this replica serves.
# TYPE lintel_source_info gauge
lintel_source_info{revision="main@sha1:1",source="team"} 1
# HELP lintel_source_policies Policies of a source that this replica serves.
# TYPE lintel_source_policies gauge
lintel_source_policies{source="team"} 1
# HELP lintel_source_rules Rules of a source's policies that this replica serves.
# TYPE lintel_source_rules gauge
lintel_source_rules{source="team"} 1
# HELP lintel_policy_evaluations_total Evaluations of a policy by this replica since it serves the revision.
# TYPE lintel_policy_evaluations_total counter
lintel_policy_evaluations_total{policy="p",source="team"} 2
# HELP lintel_policy_steps_total Steps of all evaluations of a policy by this replica since it serves the revision.
# TYPE lintel_policy_steps_total counter
lintel_policy_steps_total{policy="p",source="team"} 10
# HELP lintel_policy_steps_max The most steps of one evaluation of a policy by this replica since it serves the revision.
# TYPE lintel_policy_steps_max gauge
lintel_policy_steps_max{policy="p",source="team"} 7
# HELP lintel_policy_steps_limit The steps that one evaluation of a policy may take.
# TYPE lintel_policy_steps_limit gauge
lintel_policy_steps_limit{policy="p",source="team"} 1e+06
`+c.since), "lintel_policy_evaluations_total", "lintel_policy_steps_total", "lintel_policy_steps_max", "lintel_policy_steps_limit", "lintel_source_info", "lintel_source_policies", "lintel_source_rules", "lintel_source_serving_since_timestamp_seconds"))
		})
	}
}
