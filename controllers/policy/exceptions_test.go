package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
	exceptionrules "github.com/lintel-policy/lintel/policies/rules/exceptions"
	"github.com/lintel-policy/lintel/policies/scope"
)

var friday = time.Date(2026, 12, 4, 17, 0, 0, 0, time.UTC)

// makeException is an exception from the policy team.labels of the team shop, until friday.
func makeException(change func(*v1alpha1.PolicyException)) *v1alpha1.PolicyException {
	one := &v1alpha1.PolicyException{
		ObjectMeta: metav1.ObjectMeta{Name: "friday", Generation: 1},
		Spec: v1alpha1.PolicyExceptionSpec{
			Scope: v1alpha1.ExceptionScope{Level: v1alpha1.ScopeLevelTeam, Name: "shop"}, Source: "team", Policy: "team.labels",
			Match: v1alpha1.ExceptionMatch{Namespaces: []string{"shop"}}, Reason: "the migration of the shop", ExpiresAt: metav1.NewTime(friday),
		},
	}
	change(one)
	return one
}

func asIs(*v1alpha1.PolicyException) {}

// liveTeam has a policy of the enterprise and two of the team shop.
func liveTeam(t *testing.T) *engine.Live {
	t.Helper()
	live := engine.NewLive(admission.BuiltinResources())
	for _, source := range []definition.Source{
		{Name: "all", Files: map[string]string{"p.rego": "package all\nimport rego.v1\ndeny contains \"no\""}},
		{Name: "team", Scope: hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop", "shop-*"}}, Files: map[string]string{
			"p.rego": "package team.labels\nimport rego.v1\ndeny contains \"no\"",
			"q.rego": "# METADATA\n# custom:\n#   exceptions: {maxDuration: 1h}\npackage team.short\nimport rego.v1\ndeny contains {\"msg\": \"no\", \"field\": \"spec\"}",
		}},
	} {
		set, err := policyset.Compile(source)
		require.NoError(t, err)
		live.Put(set)
	}
	live.Publish()
	return live
}

func exceptionScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return scheme
}

func TestExceptionState(t *testing.T) {
	t.Parallel()
	live := liveTeam(t)
	set, _ := live.Get("team")
	for name, test := range map[string]struct {
		change func(*v1alpha1.PolicyException)
		now    time.Time
		want   string
	}{
		"active":                 {asIs, friday.Add(-time.Hour), ReasonActive},
		"its last moment":        {asIs, friday.Add(-time.Nanosecond), ReasonActive},
		"expired":                {asIs, friday, ReasonExpired},
		"expired, no policy":     {func(e *v1alpha1.PolicyException) { e.Spec.Policy = "gone" }, friday, ReasonExpired},
		"no policy":              {func(e *v1alpha1.PolicyException) { e.Spec.Policy = "gone" }, friday.Add(-time.Hour), engine.ReasonPolicyNotFound},
		"no source":              {func(e *v1alpha1.PolicyException) { e.Spec.Source = "gone" }, friday.Add(-time.Hour), engine.ReasonSourceNotFound},
		"another scope":          {func(e *v1alpha1.PolicyException) { e.Spec.Source, e.Spec.Policy = "all", "all" }, friday.Add(-time.Hour), engine.ReasonScopeMismatch},
		"too long":               {func(e *v1alpha1.PolicyException) { e.Spec.Policy = "team.short" }, friday.Add(-2 * time.Hour), engine.ReasonNotPermitted},
		"namespaces of others":   {func(e *v1alpha1.PolicyException) { e.Spec.Match.Namespaces = []string{"shop", "sh*"} }, friday.Add(-time.Hour), ReasonActive},
		"containers, no field":   {func(e *v1alpha1.PolicyException) { e.Spec.Containers = []string{"*"} }, friday.Add(-time.Hour), scope.ReasonNoField},
		"containers and a field": {func(e *v1alpha1.PolicyException) { e.Spec.Policy, e.Spec.Containers = "team.short", []string{"*"} }, friday.Add(-time.Minute), ReasonActive},
		"no match":               {func(e *v1alpha1.PolicyException) { e.Spec.Match.Namespaces = nil }, friday.Add(-time.Hour), ReasonInvalid},
		"an operator that is none": {func(e *v1alpha1.PolicyException) {
			e.Spec.Match.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
		}, friday.Add(-time.Hour), ReasonInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason, message := exceptionState(makeException(test.change), live.Snapshot(), set, test.now)
			assert.Equal(t, test.want, reason, message)
			assert.NotEmpty(t, message)
		})
	}
}

// The status is written once for each change, and the Events announce the last week and the end.
func TestExceptionReconciler(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(exceptionScheme(t)).WithStatusSubresource(&v1alpha1.PolicyException{}).WithObjects(makeException(asIs)).Build()
	recorder := events.NewFakeRecorder(10)
	now := friday.Add(-8 * 24 * time.Hour)
	r := &exceptionReconciler{client: c, live: liveTeam(t), events: recorder, now: func() time.Time { return now }}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "friday"}}
	reconciled := func() (*v1alpha1.PolicyException, time.Duration) {
		t.Helper()
		_, err := r.Reconcile(t.Context(), request)
		require.NoError(t, err)
		result, err := r.Reconcile(t.Context(), request)
		require.NoError(t, err)
		var object v1alpha1.PolicyException
		require.NoError(t, c.Get(t.Context(), request.NamespacedName, &object))
		return &object, result.RequeueAfter
	}
	event := func() string {
		select {
		case text := <-recorder.Events:
			return text
		default:
			return ""
		}
	}
	object, again := reconciled()
	assert.True(t, meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionReady))
	assert.True(t, meta.IsStatusConditionFalse(object.Status.Conditions, v1alpha1.ConditionExpiresSoon))
	assert.Equal(t, exceptionInterval, again)
	assert.Contains(t, event(), "Normal Active exempts objects from policy team.labels until 2026-12-04T17:00:00Z")
	assert.Empty(t, event())

	now = friday.Add(-7*24*time.Hour - time.Second)
	_, again = reconciled()
	assert.Equal(t, time.Second, again, "the notice is on time")
	assert.Empty(t, event())
	now = friday.Add(-7 * 24 * time.Hour)
	object, _ = reconciled()
	assert.True(t, meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionExpiresSoon))
	assert.Contains(t, event(), "Warning ExpiresSoon expires at 2026-12-04T17:00:00Z")
	assert.Empty(t, event())

	now = friday.Add(-time.Second)
	_, again = reconciled()
	assert.Equal(t, time.Second, again, "the end is on time")
	now = friday
	object, _ = reconciled()
	assert.True(t, meta.IsStatusConditionFalse(object.Status.Conditions, v1alpha1.ConditionReady))
	assert.Nil(t, meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionExpiresSoon))
	assert.Contains(t, event(), "Warning Expired expired at 2026-12-04T17:00:00Z")
	assert.Empty(t, event())
	version := object.ResourceVersion
	object, _ = reconciled()
	assert.Equal(t, version, object.ResourceVersion, "nothing is written when nothing changed")
}

func TestExceptionLoader(t *testing.T) {
	t.Parallel()
	invalid := makeException(func(e *v1alpha1.PolicyException) { e.Name, e.Spec.Match.Namespaces = "invalid", nil })
	c := fake.NewClientBuilder().WithScheme(exceptionScheme(t)).WithObjects(makeException(asIs), invalid).Build()
	live := liveTeam(t)
	loader := &exceptionLoader{client: c, live: live}
	require.NoError(t, loader.load(t.Context()))
	require.Len(t, live.Snapshot().Exceptions(), 1, "one that cannot be read does not hinder the others")
	require.NoError(t, c.Delete(t.Context(), makeException(asIs)))
	require.NoError(t, loader.load(t.Context()))
	require.Empty(t, live.Snapshot().Exceptions())
}

// TestFirstSnapshotHasExceptions: a replica that starts must not deny exempt objects.
func TestFirstSnapshotHasExceptions(t *testing.T) {
	l := newLoading(t)
	require.NoError(t, l.client.Create(t.Context(), makeException(asIs)))
	l.pass("team", good)
	first := -1
	l.live.OnChange(func(s *engine.Snapshot) {
		if first < 0 {
			first = len(s.Exceptions())
		}
	})
	_, err := l.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "team"}})
	require.NoError(t, err)
	require.Equal(t, 1, first)
}

func TestExceptionMetrics(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	c := fake.NewClientBuilder().WithScheme(exceptionScheme(t)).WithObjects(
		makeException(func(e *v1alpha1.PolicyException) { e.Spec.ExpiresAt = metav1.NewTime(end) }),
		makeException(func(e *v1alpha1.PolicyException) {
			e.Name, e.Spec.ExpiresAt = "old", metav1.NewTime(time.Now().Add(-time.Hour))
		}),
	).Build()
	live := liveTeam(t)
	require.NoError(t, (&exceptionLoader{client: c, live: live}).load(t.Context()))
	assert.Equal(t, 2, testutil.CollectAndCount(exceptionMetrics{live}), "one count, and one expiry: the other has expired")
	assert.NoError(t, testutil.CollectAndCompare(exceptionMetrics{live}, strings.NewReader(fmt.Sprintf(`
# HELP lintel_policy_exception_expiry_timestamp_seconds Unix time at which a PolicyException that is in force in this replica expires.
# TYPE lintel_policy_exception_expiry_timestamp_seconds gauge
lintel_policy_exception_expiry_timestamp_seconds{exception="friday",policy="team.labels",source="team"} %d
`, end.Unix())), "lintel_policy_exception_expiry_timestamp_seconds"))
	assert.Equal(t, 0, testutil.CollectAndCount(exceptionMetrics{engine.NewLive(nil)}))
}

// review is a request of alice about an exception.
func exceptionReview(t *testing.T, operation string, object, old *v1alpha1.PolicyException) *admission.Review {
	t.Helper()
	request, err := json.Marshal(map[string]any{
		"uid": "1", "operation": operation, "name": object.Name,
		"kind":     map[string]any{"group": v1alpha1.GroupName, "version": "v1alpha1", "kind": "PolicyException"},
		"resource": map[string]any{"group": v1alpha1.GroupName, "version": "v1alpha1", "resource": "policyexceptions"},
		"userInfo": map[string]any{"username": "alice", "groups": []string{"shop"}, "extra": map[string]any{"a": []string{"b"}}},
		"object":   object, "oldObject": old,
	})
	require.NoError(t, err)
	review, err := admission.NewReview(request)
	require.NoError(t, err)
	return review
}

func TestExceptionAdmission(t *testing.T) {
	t.Parallel()
	ofEnterprise := func(e *v1alpha1.PolicyException) {
		e.Spec.Scope, e.Spec.Source, e.Spec.Policy = v1alpha1.ExceptionScope{Level: v1alpha1.ScopeLevelEnterprise}, "all", "all"
	}
	rule, err := exceptionrules.New()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		change  func(*v1alpha1.PolicyException)
		old     func(*v1alpha1.PolicyException) // of an UPDATE
		granted []string
		want    string // "" is admitted
		asked   []string
	}{
		"the owner":                  {change: asIs, granted: []string{"team-shop"}, asked: []string{"enterprise", "team-shop"}},
		"a broader scope":            {change: asIs, granted: []string{"enterprise"}, asked: []string{"enterprise"}},
		"another team":               {change: asIs, granted: []string{"team-till"}, want: `spec.scope: Forbidden: user "alice" may not make exceptions from the rules of team shop`},
		"a tenant, from above":       {change: ofEnterprise, granted: []string{"team-shop"}, want: "may not make exceptions from the rules of the enterprise"},
		"a tenant that lies":         {change: func(e *v1alpha1.PolicyException) { e.Spec.Source, e.Spec.Policy = "all", "all" }, granted: []string{"team-shop"}, want: "spec.scope: PolicySource all belongs to the enterprise, not to team shop"},
		"expired":                    {change: func(e *v1alpha1.PolicyException) { e.Spec.ExpiresAt = metav1.NewTime(friday.Add(-2 * time.Hour)) }, granted: []string{"team-shop"}, want: "spec.expiresAt: Invalid value"},
		"no policy":                  {change: func(e *v1alpha1.PolicyException) { e.Spec.Policy = "team.label" }, granted: []string{"team-shop"}, want: "did you mean team.labels?"},
		"a source that is to come":   {change: func(e *v1alpha1.PolicyException) { e.Spec.Source = "later" }, granted: []string{"team-shop"}, want: "spec.source: Not found"},
		"namespaces of others":       {change: func(e *v1alpha1.PolicyException) { e.Spec.Match.Namespaces = []string{"*"} }, granted: []string{"team-shop"}, want: "is outside team shop, which has shop, shop-* only"},
		"as long as allowed":         {change: func(e *v1alpha1.PolicyException) { e.Spec.Policy = "team.short" }, granted: []string{"team-shop"}},
		"far too long":               {change: func(e *v1alpha1.PolicyException) { e.Spec.ExpiresAt = metav1.NewTime(friday.Add(91 * 24 * time.Hour)) }, granted: []string{"team-shop"}, want: "allows exceptions for 90d at most"},
		"no match":                   {change: func(e *v1alpha1.PolicyException) { e.Spec.Match.Namespaces = nil }, granted: []string{"team-shop"}, want: "spec.match: Required value"},
		"an update":                  {change: asIs, old: func(e *v1alpha1.PolicyException) { e.Spec.Reason = "another reason" }, granted: []string{"team-shop"}},
		"an update by others":        {change: asIs, old: func(e *v1alpha1.PolicyException) { e.Spec.Reason = "another reason" }, want: "may not make exceptions"},
		"taking over the enterprise": {change: asIs, old: ofEnterprise, granted: []string{"team-shop"}, want: "may not make exceptions from the rules of the enterprise"},
		"widening to the enterprise": {change: ofEnterprise, old: asIs, granted: []string{"team-shop"}, want: "may not make exceptions from the rules of the enterprise"},
		"metadata only":              {change: func(e *v1alpha1.PolicyException) { e.Labels = map[string]string{"a": "b"} }, old: asIs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(exceptionScheme(t)).Build(), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					access := object.(*authorizationv1.SubjectAccessReview)
					of := access.Spec.ResourceAttributes
					assert.Equal(t, "except policyscopes.policy.lintel.dev", fmt.Sprintf("%s %s.%s", of.Verb, of.Resource, of.Group))
					assert.Equal(t, "alice [shop] map[a:[b]]", fmt.Sprintf("%s %v %v", access.Spec.User, access.Spec.Groups, access.Spec.Extra))
					asked = append(asked, of.Name)
					access.Status.Allowed = slices.Contains(test.granted, of.Name)
					return nil
				},
			})
			operation, old := "CREATE", (*v1alpha1.PolicyException)(nil)
			if test.old != nil {
				operation, old = "UPDATE", makeException(test.old)
			}
			review := exceptionReview(t, operation, makeException(test.change), old)
			facts, err := exceptionAdmitter{client: c, live: liveTeam(t), now: func() time.Time { return friday.Add(-time.Hour) }}.facts(t.Context(), review)
			require.NoError(t, err)
			read, err := engine.ReadFacts(facts)
			require.NoError(t, err)
			denials, err := rule.Validate(t.Context(), review, engine.Options{Facts: read}).Verdict()
			require.NoError(t, err)
			if test.want == "" {
				assert.Empty(t, denials)
			} else if assert.Len(t, denials, 1) {
				assert.Contains(t, denials[0], test.want)
			}
			if test.asked != nil {
				assert.Equal(t, test.asked, asked)
			}
		})
	}
}

// What cannot be found out is an error, which the failure policy denies.
func TestExceptionAdmissionFailsClosed(t *testing.T) {
	t.Parallel()
	review := exceptionReview(t, "CREATE", makeException(asIs), nil)
	_, err := exceptionAdmitter{live: engine.NewLive(admission.BuiltinResources()), now: time.Now}.facts(t.Context(), review)
	require.ErrorContains(t, err, "not loaded yet")
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(exceptionScheme(t)).Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("no answer")
		},
	})
	_, err = exceptionAdmitter{client: c, live: liveTeam(t), now: time.Now}.facts(t.Context(), review)
	require.ErrorContains(t, err, "asking whether alice may except policyscopes enterprise: no answer")
}
