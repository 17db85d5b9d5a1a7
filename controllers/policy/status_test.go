package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

// makeSource is a PolicySource with one inline file.
func makeSource(rego string, change ...func(*v1alpha1.PolicySource)) *v1alpha1.PolicySource {
	object := &v1alpha1.PolicySource{
		ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "1", Generation: 3},
		Spec:       v1alpha1.PolicySourceSpec{Inline: &v1alpha1.InlineOrigin{Files: map[string]string{"p.rego": rego}}},
	}
	for _, apply := range change {
		apply(object)
	}
	return object
}

const good = "package p\ndeny contains \"no\""

// pass is what the gate says of a good revision.
func pass(t *testing.T, object *v1alpha1.PolicySource) source.Verdict {
	t.Helper()
	set, err := policyset.Compile(source.FromPolicySource(object, object.Spec.Inline.Files, ""))
	require.NoError(t, err)
	return source.Verdict{Set: set}
}

func TestStatus(t *testing.T) {
	object := makeSource(good)
	verdict := pass(t, object)
	digest := verdict.Set.Digest()
	serves := func(digests ...string) (out []v1alpha1.ReplicaStatus) {
		for i, digest := range digests {
			out = append(out, v1alpha1.ReplicaStatus{Name: fmt.Sprint("m", i), Digest: digest})
		}
		return out
	}
	conflict := verdict
	conflict.Reason, conflict.Message, conflict.OutsideScope = scope.ReasonPackageConflict, "source z has it", true
	for name, c := range map[string]struct {
		facts  facts
		ready  metav1.ConditionStatus
		reason string
		digest string
	}{
		"served":                   {facts{verdict: &verdict, replicas: serves(digest, digest)}, metav1.ConditionTrue, ReasonServing, digest},
		"one replica is behind":    {facts{verdict: &verdict, replicas: serves(digest, "old")}, metav1.ConditionFalse, ReasonProgressing, digest},
		"no replica has reported":  {facts{verdict: &verdict}, metav1.ConditionFalse, ReasonProgressing, digest},
		"not registered yet":       {facts{verdict: &verdict, replicas: serves(digest), unregistered: "soon"}, metav1.ConditionFalse, ReasonProgressing, digest},
		"registered no longer":     {facts{verdict: &verdict, replicas: serves(digest), unregistered: "deleted", lost: true}, metav1.ConditionFalse, ReasonNotRegistered, digest},
		"not called":               {facts{verdict: &verdict, replicas: serves(digest), notCalled: "no answer"}, metav1.ConditionFalse, ReasonNotCalled, digest},
		"another source's package": {facts{verdict: &conflict, replicas: serves(digest)}, metav1.ConditionFalse, scope.ReasonPackageConflict, digest},
		"conflict, not called":     {facts{verdict: &conflict, replicas: serves(digest), notCalled: "no answer"}, metav1.ConditionFalse, ReasonNotCalled, digest},
		"the artifact is not kept": {facts{verdict: &verdict, stored: errors.New("forbidden")}, metav1.ConditionFalse, ReasonArtifactFailed, ""},
		"requires may not be read": {facts{verdict: &verdict, unmet: &unmet{ReasonRequiresForbidden, "kubectl"}}, metav1.ConditionFalse, ReasonRequiresForbidden, ""},
		"refused":                  {facts{verdict: &source.Verdict{Reason: source.ReasonCompileFailed, Message: "bad"}}, metav1.ConditionFalse, source.ReasonCompileFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.facts.object = object
			next := status(c.facts)
			ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
			require.Equal(t, c.ready, ready.Status)
			require.Equal(t, c.reason, ready.Reason)
			require.NotContains(t, ready.Message, "bind nothing")
			require.Equal(t, int64(3), ready.ObservedGeneration)
			require.Equal(t, c.digest, next.Digest)
			require.Equal(t, int64(3), next.ObservedGeneration)
			again := c.facts
			again.object = object.DeepCopy()
			again.object.Status = next
			require.True(t, equality.Semantic.DeepEqual(next, status(again)), "nothing changes when nothing changed")
		})
	}
}

// TestStatusSaysWhatIsLeftOut: a source made from the cluster's own objects is not Ready
// while one of them is not in force.
func TestStatusSaysWhatIsLeftOut(t *testing.T) {
	object := makeSource(good, func(object *v1alpha1.PolicySource) {
		object.Annotations = map[string]string{v1alpha1.NotEnforcedAnnotation: "not enforced: 1 of the cluster's objects: X/a: wrong"}
	})
	verdict := pass(t, object)
	served := facts{object: object, verdict: &verdict, replicas: []v1alpha1.ReplicaStatus{{Name: "m", Digest: verdict.Set.Digest()}}}
	ready := meta.FindStatusCondition(status(served).Conditions, v1alpha1.ConditionReady)
	require.Equal(t, metav1.ConditionFalse, ready.Status)
	require.Equal(t, ReasonNotEnforced, ready.Reason)
	require.Equal(t, "policies: 1, rules: 1, served by 1 of 1 replicas; not enforced: 1 of the cluster's objects: X/a: wrong", ready.Message)
	require.Equal(t, verdict.Set.Digest(), status(served).Digest, "the rest is in force")
}

func TestARefusedRevisionKeepsTheLastGoodOne(t *testing.T) {
	object := makeSource(good)
	object.Status = status(facts{object: object, verdict: new(pass(t, object))})
	lastGood := object.Status.Revision
	var errs definition.CompileErrorList
	for i := range 30 {
		errs = append(errs, definition.CompileError{File: "p.rego", Line: i + 1, Column: 2, Message: "wrong"})
	}
	next := status(facts{object: object, verdict: &source.Verdict{Reason: source.ReasonCompileFailed, Message: strings.Repeat("x", 5000), Errors: errs}})
	require.Equal(t, lastGood, next.Revision)
	require.Equal(t, int32(1), next.Policies)
	require.Len(t, next.Errors, v1alpha1.MaxPolicyErrors)
	require.Equal(t, v1alpha1.PolicyError{File: "p.rego", Line: 1, Column: 2, Message: "wrong"}, next.Errors[0])
	for _, condition := range next.Conditions {
		require.LessOrEqual(t, len(condition.Message), 32<<10)
	}

	object.Status = next
	require.Empty(t, status(facts{object: object, verdict: new(pass(t, object))}).Errors, "errors go with their cause")
}

func TestStatusSaysWhatIsWaitedFor(t *testing.T) {
	object := makeSource(good)
	next := status(facts{object: object, verdict: new(pass(t, object)), missing: &missingError{Kind: serviceKind, Err: errors.New("the server is down")}})
	ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	require.Equal(t, ReasonProgressing, ready.Reason)
	require.Equal(t, "0 of 0 replicas serve this revision; the cluster's objects of kind Service are missing: the server is down", ready.Message)
}

func TestServingFoldsLiveReports(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before := metav1.NewTime(now.Add(-time.Hour))
	reports := []replicaReport{
		{replica: "b", digests: map[string]string{"team": "new"}, renewed: now.Add(-time.Second)},
		{replica: "a", digests: map[string]string{"team": "old", "other": "x"}, renewed: now.Add(-20 * time.Second)},
		{replica: "gone", digests: map[string]string{"team": "old"}, renewed: now.Add(-time.Minute)},
		{replica: "fresh", digests: map[string]string{}, renewed: now},
	}
	previous := []v1alpha1.ReplicaStatus{{Name: "a", Digest: "old", Time: before}, {Name: "b", Digest: "old", Time: before}}
	require.Equal(t, []v1alpha1.ReplicaStatus{
		{Name: "a", Digest: "old", Time: before},
		{Name: "b", Digest: "new", Time: metav1.NewTime(now)},
		{Name: "fresh", Digest: "", Time: metav1.NewTime(now)},
	}, serving("team", reports, previous, now, func(one replicaReport) map[string]string { return one.digests }))
}

func TestLimitsAreAConditionAndTheSourceStaysReady(t *testing.T) {
	now := time.Now()
	reports := []replicaReport{
		{replica: "a", limits: map[string][]string{"team": {"p: timeout"}, "other": {"q: steps"}}, renewed: now},
		{replica: "b", limits: map[string][]string{"team": {"p: timeout", "r: steps"}}, renewed: now},
		{replica: "gone", limits: map[string][]string{"team": {"x: steps"}}, renewed: now.Add(-time.Hour)},
	}
	limits := limitsOf("team", reports, now)
	require.Equal(t, []string{"p: timeout", "r: steps"}, limits)

	object := makeSource(good)
	verdict := pass(t, object)
	next := status(facts{
		object: object, verdict: &verdict, limits: limits,
		replicas: []v1alpha1.ReplicaStatus{{Name: "a", Digest: verdict.Set.Digest()}},
	})
	require.True(t, meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionReady))
	condition := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionWithinLimits)
	require.Equal(t, metav1.ConditionFalse, condition.Status)
	require.Contains(t, condition.Message, "p: timeout, r: steps")
}

func TestStatusOfOrigins(t *testing.T) {
	object := makeSource(good)
	verdict := pass(t, object)
	object.Spec.Inline = nil
	object.Spec.Git = &v1alpha1.GitOrigin{URL: "https://git.example.com/p", Verify: &v1alpha1.GitVerification{}}
	digest := verdict.Set.Digest()
	live := []v1alpha1.ReplicaStatus{{Name: "a", Digest: digest}}
	found := &look{done: true, handled: "noon", answer: &origin.Answer{Revision: "main@sha1:1", Signature: "signed by ada"}}
	ready := func(s v1alpha1.PolicySourceStatus) metav1.Condition {
		return *meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	}
	verified := func(s v1alpha1.PolicySourceStatus) *metav1.Condition {
		return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSourceVerified)
	}

	first := status(facts{object: object, origin: &look{}})
	require.Equal(t, ReasonProgressing, ready(first).Reason)
	require.Equal(t, "the origin is being fetched", ready(first).Message)

	served := status(facts{object: object, origin: found, verdict: &verdict, replicas: live})
	require.Equal(t, ReasonServing, ready(served).Reason)
	require.Equal(t, "noon", served.LastHandledReconcileAt)
	require.Equal(t, "signed by ada", verified(served).Message)
	object.Status = served

	t.Run("a manager that has only begun says what was said", func(t *testing.T) {
		require.Equal(t, served, status(facts{object: object, origin: &look{}, replicas: live}))
	})
	t.Run("an origin that cannot be reached", func(t *testing.T) {
		failed := &look{done: true, handled: "noon", failure: &origin.Error{Reason: origin.ReasonFetchFailed, Message: "refused"}}
		next := status(facts{object: object, origin: failed, replicas: live})
		require.Equal(t, metav1.ConditionFalse, ready(next).Status)
		require.Equal(t, origin.ReasonFetchFailed, ready(next).Reason)
		require.Equal(t, "refused; the last good revision "+served.Revision+" stays live", ready(next).Message)
		require.Equal(t, digest, next.Digest)
		require.Equal(t, metav1.ConditionTrue, verified(next).Status, "of the revision that is live")
	})
	t.Run("a signature that is wrong", func(t *testing.T) {
		failed := &look{done: true, answer: found.answer, failure: &origin.Error{Reason: origin.ReasonVerificationFailed, Message: "unsigned"}}
		next := status(facts{object: object, origin: failed, verdict: &verdict, replicas: live})
		require.Equal(t, origin.ReasonVerificationFailed, ready(next).Reason)
		require.Equal(t, metav1.ConditionFalse, verified(next).Status)
		require.Equal(t, digest, next.Digest)
	})
	t.Run("a revision that is refused is named", func(t *testing.T) {
		bad := &look{done: true, answer: &origin.Answer{Revision: "main@sha1:2"}}
		next := status(facts{object: object, origin: bad, verdict: &source.Verdict{Reason: source.ReasonCompileFailed, Message: "bad"}})
		require.Equal(t, "revision main@sha1:2: bad; the last good revision "+served.Revision+" stays live", ready(next).Message)
	})
	t.Run("verification that is not asked for any more", func(t *testing.T) {
		without := object.DeepCopy()
		without.Spec.Git.Verify = nil
		require.Nil(t, verified(status(facts{object: without, origin: &look{done: true, answer: &origin.Answer{}}, verdict: &verdict})))
	})
	t.Run("suspended", func(t *testing.T) {
		suspended := object.DeepCopy()
		suspended.Spec.Suspend = true
		next := status(facts{object: suspended, replicas: live})
		require.Equal(t, metav1.ConditionTrue, ready(next).Status)
		require.Equal(t, ReasonSuspended, ready(next).Reason)
		behind := status(facts{object: suspended, replicas: []v1alpha1.ReplicaStatus{{Name: "a", Digest: "old"}}})
		require.Equal(t, ReasonProgressing, ready(behind).Reason)
		suspended.Status = v1alpha1.PolicySourceStatus{}
		require.Equal(t, metav1.ConditionFalse, ready(status(facts{object: suspended})).Status)
	})
}

// TestReplicasThatServeOtherSettingsAreBehind: parameters, the scope and the failure
// policy may change while the files stay.
func TestReplicasThatServeOtherSettingsAreBehind(t *testing.T) {
	object := makeSource(good)
	verdict := pass(t, object)
	replicas := []v1alpha1.ReplicaStatus{{Name: "a", Digest: verdict.Set.Digest()}}
	ready := func(verdict source.Verdict, settings map[string]string) bool {
		next := status(facts{object: object, verdict: &verdict, replicas: replicas, settings: settings})
		return meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionReady)
	}
	live := engine.NewLive(admission.BuiltinResources())
	live.Put(verdict.Set)
	require.True(t, ready(verdict, map[string]string{"a": live.Settings()[object.Name]}))
	object.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(`{"replicas":3}`)}
	changed := pass(t, object)
	require.False(t, ready(changed, map[string]string{"a": live.Settings()[object.Name]}))
	require.True(t, ready(changed, nil), "a replica of an earlier version does not say")
	live.Put(changed.Set)
	require.True(t, ready(changed, map[string]string{"a": live.Settings()[object.Name]}))
}
