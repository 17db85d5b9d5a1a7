package openclaw

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// deploymentOf is a Deployment of two gateways with revision p.
func deploymentOf(observed int64, updated, total, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "production-gateway", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: podRunning("", "p").Spec}},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: observed, UpdatedReplicas: updated, Replicas: total, ReadyReplicas: ready},
	}
}

// podRunning is a Pod of a revision that is ready.
func podRunning(name, revision string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: gatewayLabels("production")}}
	if revision != "" {
		pod.Spec.Containers = []corev1.Container{{Name: sidecarContainer, Args: sidecarArguments(signedSample(revision))}}
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

func notReady(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Conditions = nil
	return pod
}

// running are facts of a Deployment and of Pods, where a revision is wanted.
func running(d *appsv1.Deployment, wanted string, pods ...*corev1.Pod) instanceFacts {
	f := instanceFacts{rollout: rollout{deployment: d, signed: signedSample(wanted)}, wanted: wanted}
	for _, pod := range pods {
		f.pods = append(f.pods, *pod)
	}
	return f
}

func with(f instanceFacts, change func(f *instanceFacts)) instanceFacts {
	change(&f)
	return f
}

func deleted(d *appsv1.Deployment) *appsv1.Deployment {
	d.DeletionTimestamp, d.Finalizers = new(metav1.Now()), []string{"foregroundDeletion"}
	return d
}

func withCondition(d *appsv1.Deployment, kind, status, reason string) *appsv1.Deployment {
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentConditionType(kind), Status: corev1.ConditionStatus(status), Reason: reason, Message: "words"}}
	return d
}

func TestInstanceStatus(t *testing.T) {
	missing := []*problem{{ReasonSecretNotFound, "Secret x does not exist"}}
	tooLarge := []*problem{{ReasonTooLarge, "not in force here: team policies of PolicyBundle a (1)"}}
	broken := func(problems []*problem) func(f *instanceFacts) {
		return func(f *instanceFacts) { f.problems = problems }
	}
	one, two, old := podRunning("one", "p"), podRunning("two", "p"), podRunning("old", "q")
	both := running(deploymentOf(2, 2, 2, 2), "p", one, two)
	for name, c := range map[string]struct {
		facts                        instanceFacts
		phase                        v1.Phase
		ready, progressing, degraded string
	}{
		"nothing yet":                       {instanceFacts{}, v1.PhasePending, "False Pending", "True Pending", "False AsExpected"},
		"running":                           {both, v1.PhaseRunning, "True Reconciled", "False RolledOut", "False AsExpected"},
		"not seen yet":                      {running(deploymentOf(1, 2, 2, 2), "p", one, two), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"old ones are ready":                {running(deploymentOf(2, 1, 2, 2), "p", one, old), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"old ones are left":                 {running(deploymentOf(2, 2, 3, 2), "p", one, two, old), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"not ready":                         {running(deploymentOf(2, 2, 2, 1), "p", one, notReady(podRunning("two", "p"))), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"another Pod is behind":             {running(deploymentOf(2, 2, 2, 2), "p", one, two, old), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"a foreign Pod":                     {running(deploymentOf(2, 2, 2, 2), "p", one, two, podRunning("else", "")), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"a Pod is not seen yet":             {running(deploymentOf(2, 2, 2, 2), "p", one), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"no Secret":                         {instanceFacts{problems: missing}, v1.PhasePending, "False SecretNotFound", "False SecretNotFound", "True SecretNotFound"},
		"the Secret is gone":                {with(both, broken(missing)), v1.PhaseRunning, "False SecretNotFound", "False RolledOut", "True SecretNotFound"},
		"no Secret for the latest policies": {with(running(deploymentOf(2, 2, 2, 2), "q", one, two), broken(missing)), v1.PhaseProgressing, "False SecretNotFound", "False SecretNotFound", "True SecretNotFound"},
		"policies left out":                 {with(both, func(f *instanceFacts) { f.problems, f.partial = tooLarge, true }), v1.PhaseProgressing, "False TooLarge", "False TooLarge", "True TooLarge"},
		"other policies wanted":             {running(deploymentOf(2, 2, 2, 2), "q", one, two), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
		"being deleted":                     {running(deleted(deploymentOf(2, 2, 2, 2)), "p", one, two), v1.PhaseRunning, "False BeingDeleted", "False RolledOut", "True BeingDeleted"},
		"waiting":                           {instanceFacts{awaits: "PolicyBundle b has not been read yet"}, v1.PhasePending, "False Pending", "True Pending", "False AsExpected"},
		"denied":                            {instanceFacts{answered: true, denied: &problem{ReasonNotAdmitted, "no"}}, v1.PhasePending, "False NotAdmitted", "False NotAdmitted", "True NotAdmitted"},
		"deadline":                          {running(withCondition(deploymentOf(2, 1, 3, 2), "Progressing", "False", "ProgressDeadlineExceeded"), "p", one), v1.PhaseProgressing, "False ProgressDeadlineExceeded", "False ProgressDeadlineExceeded", "True ProgressDeadlineExceeded"},
		"Pods refused":                      {running(withCondition(deploymentOf(2, 0, 0, 0), "ReplicaFailure", "True", "FailedCreate"), "p"), v1.PhaseProgressing, "False FailedCreate", "False FailedCreate", "True FailedCreate"},
		"no ReplicaSet":                     {running(withCondition(deploymentOf(1, 1, 3, 2), "Progressing", "False", "ReplicaSetCreateError"), "p", one), v1.PhaseProgressing, "False ReplicaSetCreateError", "False ReplicaSetCreateError", "True ReplicaSetCreateError"},
		"a deadline of the past":            {running(withCondition(deploymentOf(1, 1, 3, 2), "Progressing", "False", "ProgressDeadlineExceeded"), "p", one), v1.PhaseProgressing, "False RollingOut", "True RollingOut", "False AsExpected"},
	} {
		t.Run(name, func(t *testing.T) {
			instance := sampleInstance(t)
			instance.Generation = 7
			status := instanceStatus(instance, c.facts)
			require.Equal(t, c.phase, status.Phase)
			require.EqualValues(t, 7, status.ObservedGeneration)
			if c.facts.deployment != nil {
				require.Equal(t, c.facts.deployment.Status.ReadyReplicas, status.ReadyReplicas)
			}
			require.Equal(t, c.ready, says(t, status.Conditions, v1.ConditionReady))
			require.Equal(t, c.progressing, says(t, status.Conditions, v1.ConditionProgressing))
			require.Equal(t, c.degraded, says(t, status.Conditions, v1.ConditionDegraded))
			require.Equal(t, c.facts.answered, meta.FindStatusCondition(status.Conditions, v1.ConditionAdmitted) != nil)

			instance.Status = status
			require.True(t, equality.Semantic.DeepEqual(status, instanceStatus(instance, c.facts)), "nothing changed: nothing to write")
		})
	}
}

func TestConditionsRecover(t *testing.T) {
	instance := sampleInstance(t)
	instance.Status = instanceStatus(instance, instanceFacts{problems: []*problem{{ReasonSecretNotFound, "x"}}})
	then := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	for i := range instance.Status.Conditions {
		instance.Status.Conditions[i].LastTransitionTime = then
	}
	again := instanceStatus(instance, instanceFacts{problems: []*problem{{ReasonSecretNotFound, "y"}}})
	require.Equal(t, then, meta.FindStatusCondition(again.Conditions, v1.ConditionDegraded).LastTransitionTime, "it was True before")
	healed := instanceStatus(instance, running(deploymentOf(2, 2, 2, 2), "p", podRunning("one", "p"), podRunning("two", "p")))
	require.Equal(t, "False AsExpected", says(t, healed.Conditions, v1.ConditionDegraded))
	require.NotEqual(t, then, meta.FindStatusCondition(healed.Conditions, v1.ConditionDegraded).LastTransitionTime)
}

func says(t *testing.T, conditions []metav1.Condition, kind string) string {
	t.Helper()
	c := meta.FindStatusCondition(conditions, kind)
	require.NotNil(t, c, kind)
	return string(c.Status) + " " + c.Reason
}

func TestBundleStatus(t *testing.T) {
	bundle := sampleBundle(t)
	start := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	steps := []struct {
		name          string
		generation    int64
		facts         bundleFacts
		ready, synced string
		applied       int32
		reload        int // minute of the last reload; -1 for never
	}{
		{"no gateway", 1, bundleFacts{kept: 5}, "True Valid", "True NoGateways", 5, -1},
		{"the first gateway", 1, bundleFacts{kept: 5, gateways: 1}, "True Valid", "False RollingOut", 5, -1},
		{"loaded", 1, bundleFacts{kept: 5, gateways: 1, synced: 1}, "True Valid", "True PoliciesApplied", 5, 2},
		{"nothing new", 1, bundleFacts{kept: 5, gateways: 1, synced: 1}, "True Valid", "True PoliciesApplied", 5, 2},
		{"another bundle rolls the gateways", 1, bundleFacts{kept: 5, gateways: 2, synced: 1}, "True Valid", "False GatewaysRollingOut", 5, 2},
		{"which changes nothing here", 1, bundleFacts{kept: 5, gateways: 2, synced: 2}, "True Valid", "True PoliciesApplied", 5, 2},
		{"a bad edit", 2, bundleFacts{invalid: &problem{ReasonValidationFailed, "x"}, kept: 4, gateways: 2, synced: 2}, "False ValidationFailed", "False ValidationFailed", 4, 2},
		{"a good edit", 3, bundleFacts{kept: 5, gateways: 2, synced: 1}, "True Valid", "False RollingOut", 4, 2},
		{"on its way", 3, bundleFacts{kept: 5, gateways: 2, synced: 1}, "True Valid", "False RollingOut", 4, 2},
		{"loaded again", 3, bundleFacts{kept: 5, gateways: 2, synced: 2}, "True Valid", "True PoliciesApplied", 5, 9},
		{"denied as it runs", 3, bundleFacts{answered: true, denied: &problem{ReasonNotAdmitted, "no"}, kept: 5, gateways: 2, synced: 2}, "False NotAdmitted", "True PoliciesApplied", 5, 9},
		{"one more edit", 4, bundleFacts{kept: 5, gateways: 2, synced: 1}, "True Valid", "False RollingOut", 5, 9},
		{"a gateway is frozen", 4, bundleFacts{kept: 5, gateways: 2, synced: 1, notInForce: []notInForce{{"ns/a", &problem{ReasonSecretNotFound, "x"}}}}, "True Valid", "False NotInForce", 5, 9},
		{"some policies are left out", 4, bundleFacts{kept: 5, gateways: 2, synced: 1, left: 2, notInForce: []notInForce{{"ns/a", &problem{ReasonTooLarge, "x"}}}}, "True Valid", "False NotInForce", 3, 9},
		{"its ConfigMap is taken", 5, bundleFacts{stored: &problem{ReasonNotOwned, "x"}, kept: 5, gateways: 2}, "True Valid", "False NotOwned", 3, 9},
	}
	for i, step := range steps {
		bundle.Generation = step.generation
		now := start.Add(time.Duration(i) * time.Minute)
		bundle.Status = bundleStatus(bundle, step.facts, now)
		require.Equal(t, step.ready, says(t, bundle.Status.Conditions, v1.ConditionPolicyReady), step.name)
		require.Equal(t, step.synced, says(t, bundle.Status.Conditions, v1.ConditionPolicySynced), step.name)
		require.Equal(t, step.applied, bundle.Status.Applied, step.name)
		require.EqualValues(t, 5, bundle.Status.Total, step.name)
		require.Equal(t, step.generation, bundle.Status.ObservedGeneration, step.name)
		if step.reload < 0 {
			require.Nil(t, bundle.Status.LastReloadTime, step.name)
		} else {
			require.Equal(t, start.Add(time.Duration(step.reload)*time.Minute).Unix(), bundle.Status.LastReloadTime.Unix(), step.name)
		}
		require.True(t, equality.Semantic.DeepEqual(bundle.Status, bundleStatus(bundle, step.facts, now.Add(time.Hour))), "%s: nothing changed: nothing to write", step.name)
	}
}

func TestNotInForceMessage(t *testing.T) {
	facts := bundleFacts{gateways: 9, synced: 2}
	for i := range 6 {
		facts.notInForce = append(facts.notInForce, notInForce{fmt.Sprint("ns/", i), &problem{ReasonSecretNotFound, strings.Repeat("x", 300)}})
	}
	facts.notInForce = append(facts.notInForce, notInForce{"ns/worst", &problem{ReasonPoliciesOutdated, "line\n\"quote\""}})
	message := facts.notInForceMessage()
	require.True(t, strings.HasPrefix(message,
		`7 of 9 instances do not run all policies that bind them: at OpenClawInstance ns/worst: PoliciesOutdated: "line\n\"quote\""; at OpenClawInstance ns/0: SecretNotFound: "xxx`), message)
	require.True(t, strings.HasSuffix(message, `xxx…"; and at 2 more`), message)
	require.Less(t, len(message), 1200)
}
