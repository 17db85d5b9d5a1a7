package openclaw

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// TestOverdue: a revision is outdated since the one after it was signed, however many more
// were signed since.
func TestOverdue(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	instance := sampleInstance(t)
	var signed []*signedPolicies
	for i, revision := range []string{"first revision", "second revision", "third revision"} {
		var before *signedPolicies
		if i > 0 {
			before = signed[i-1]
		}
		next, err := sign(instance, &composition{revision: revision}, before, at(50*i))
		require.NoError(t, err)
		signed = append(signed, next)
	}
	pod := func(name string, of *signedPolicies) corev1.Pod {
		pod := *podRunning(name, "")
		if of != nil {
			pod.Spec.Containers = []corev1.Container{{Name: sidecarContainer, Args: sidecarArguments(of)}}
		}
		return pod
	}
	r := rollout{signed: signed[2], pods: []corev1.Pod{pod("first", signed[0]), pod("second", signed[1]), pod("third", signed[2])}}
	for _, c := range []struct {
		seconds int
		overdue []string
		next    int
	}{
		{100, nil, 110},
		{110, []string{"first"}, 160},
		{160, []string{"first", "second"}, 0},
	} {
		pods, next := r.overdue(time.Minute, at(c.seconds))
		var names []string
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		require.Equal(t, c.overdue, names, c.seconds)
		if c.next == 0 {
			require.Zero(t, next)
		} else {
			require.Equal(t, at(c.next), next)
		}
	}

	// A Pod with an unknown key has been outdated since the first revision, and one that only
	// says that it has the key is outdated, too.
	impostor := pod("impostor", signed[2])
	impostor.Spec.Containers[0].Args = []string{"--set=bundles.policies.signing.keyid=" + signed[2].KeyID, "--set=keys." + signed[2].KeyID + ".key=another"}
	r.pods = []corev1.Pod{pod("foreign", nil), impostor}
	pods, _ := r.overdue(time.Minute, at(60))
	require.Len(t, pods, 2)

	require.NotEqual(t, signed[0].ConfigMap, signed[1].ConfigMap)
	renamed := signed[0].renamed(instance, start).renamed(instance, start)
	require.Equal(t, signed[0].ConfigMap+"-2", renamed.ConfigMap)
	require.Equal(t, signed[0].KeyID, renamed.KeyID)
}

// TestStatusNamesPods: up to five, and what each of them runs.
func TestStatusNamesPods(t *testing.T) {
	t.Parallel()
	f := running(deploymentOf(2, 1, 2, 2), "p", podRunning("a", "p"), notReady(podRunning("b", "p")), podRunning("c", "q"), podRunning("d", "r"), podRunning("e", ""))
	f.signed.Former = []formerRevision{{KeyID: "key-q", Revision: "0123456789abcdef"}}
	ending := podRunning("f", "q")
	ending.DeletionTimestamp = new(metav1.Now())
	f.pods = append(f.pods, *ending, *podRunning("g", "r"))
	ready := meta.FindStatusCondition(instanceStatus(sampleInstance(t), f).Conditions, v1.ConditionReady)
	require.Equal(t, "gateways are being started or replaced; revision p of the policies is wanted: "+
		"Pod b runs revision p and is not ready, Pod c runs revision 0123456789, Pod d runs revision unknown, Pod e runs no signed policies, "+
		"Pod f runs revision 0123456789 and is being deleted, and 1 more", ready.Message)
}

// TestDeletedInstanceIsNotReady, even while its gateways still run.
func TestDeletedInstanceIsNotReady(t *testing.T) {
	t.Parallel()
	instance := sampleInstance(t)
	instance.DeletionTimestamp, instance.Finalizers = new(metav1.Now()), []string{"example.com/stay"}
	status := instanceStatus(instance, running(deploymentOf(2, 2, 2, 2), "p", podRunning("one", "p"), podRunning("two", "p")))
	require.Equal(t, "False Deleting", says(t, status.Conditions, v1.ConditionReady))
	require.Contains(t, meta.FindStatusCondition(status.Conditions, v1.ConditionReady).Message, "Pod one runs revision p")
	status = instanceStatus(instance, instanceFacts{})
	require.Equal(t, "its gateways are gone; it waits for its finalizers example.com/stay", meta.FindStatusCondition(status.Conditions, v1.ConditionReady).Message)
}

// TestSlimPod: what caches keep is enough to tell what a Pod runs.
func TestSlimPod(t *testing.T) {
	t.Parallel()
	signed := signedSample("p")
	pod := podRunning("one", "p")
	pod.Labels["pod-template-hash"] = "x"
	pod.Annotations = map[string]string{"a": "b"}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "gateway", Env: []corev1.EnvVar{{Name: "A"}}})
	slim, err := slimPod(pod)
	require.NoError(t, err)
	require.True(t, signed.runsKey(&slim.(*corev1.Pod).Spec))
	require.True(t, podReady(slim.(*corev1.Pod)))
	require.Equal(t, gatewayLabels("production"), slim.(*corev1.Pod).Labels)
	require.Empty(t, slim.(*corev1.Pod).Annotations)
	require.Len(t, slim.(*corev1.Pod).Spec.Containers, 1)
}

// TestMayHaveMountedAnother: only a Pod that is not ready and older than its mounted object.
func TestMayHaveMountedAnother(t *testing.T) {
	t.Parallel()
	signed := signedSample("p")
	start := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	stored := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: signed.ConfigMap, CreationTimestamp: metav1.NewTime(start)}}
	mounting := func(pod *corev1.Pod, name string, seconds int) *corev1.Pod {
		pod.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
		pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}}
		return pod
	}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"older and not ready":       {mounting(notReady(podRunning("a", "p")), signed.ConfigMap, -1), true},
		"older and ready":           {mounting(podRunning("a", "p"), signed.ConfigMap, -1), false},
		"as old":                    {mounting(notReady(podRunning("a", "p")), signed.ConfigMap, 0), false},
		"of another revision":       {mounting(notReady(podRunning("a", "q")), signed.ConfigMap, -1), false},
		"with the ConfigMap before": {mounting(notReady(podRunning("a", "p")), "before", -1), false},
	} {
		require.Equal(t, c.want, signed.mayHaveMountedAnother([]corev1.Pod{*c.pod}, stored), name)
	}
}

// TestAStuckPodHoldsUpNoRollout: while an overdue Pod of a lost node does not end, gateways
// are replaced one by one all the same.
func TestAStuckPodHoldsUpNoRollout(t *testing.T) {
	ends := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := rollout{signed: &signedPolicies{}, pods: []corev1.Pod{{}}}
	r.signed.KeyID, r.signed.Began = "latest", metav1.NewTime(ends.Add(-time.Hour)).Time
	require.True(t, r.recreates(time.Minute, ends), "it can still end")
	r.pods[0].DeletionTimestamp = &metav1.Time{Time: ends}
	require.True(t, r.recreates(time.Minute, ends.Add(stuckAfter)))
	require.False(t, r.recreates(time.Minute, ends.Add(stuckAfter+time.Second)))
	r.pods = append(r.pods, corev1.Pod{})
	require.True(t, r.recreates(time.Minute, ends.Add(time.Hour)), "another one can")
}
