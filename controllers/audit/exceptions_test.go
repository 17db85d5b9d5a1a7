package audit

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

var friday = time.Date(2026, 12, 4, 17, 0, 0, 0, time.UTC)

// exempting is an exception from the policy of put until Friday, changed.
func exempting(t *testing.T, change func(*exception.Exception)) []*exception.Exception {
	t.Helper()
	one := exception.Exception{
		Name: "friday", Scope: hierarchy.Key{Level: hierarchy.Enterprise}, Source: "s", Policy: "p",
		Namespaces: []string{"shop"}, Reason: "a migration", Expires: friday,
	}
	change(&one)
	compiled, err := one.Compiled()
	require.NoError(t, err)
	return []*exception.Exception{compiled}
}

func unchanged(*exception.Exception) {}

// outcomes waits until the policy has these results.
func (s *site) outcomes(want audit.Counts) {
	s.Helper()
	require.Eventually(s, func() bool {
		counts := s.ledger.Totals()[audit.PolicyKey{Source: "s", Policy: "p"}]
		for _, outcome := range audit.AllOutcomes {
			if counts[outcome] != want[outcome] {
				return false
			}
		}
		return true
	}, 20*time.Second, 20*time.Millisecond)
}

// What an exception exempts is a skip from its creation until its end.
func TestAuditFollowsExceptions(t *testing.T) {
	t.Parallel()
	s := newSite(t, configMap("shop", "a", nil), configMap("other", "b", nil))
	var clock atomic.Int64
	set := func(now time.Time) { clock.Store(now.UnixNano()) }
	set(friday.Add(-time.Hour))
	s.now = func() time.Time { return time.Unix(0, clock.Load()) }
	s.put("1", "team")
	s.start()
	s.outcomes(audit.Counts{audit.Fail: 2})

	s.live.PutExceptions(exempting(t, unchanged))
	s.outcomes(audit.Counts{audit.Fail: 1, audit.Skip: 1})
	skipped := s.ledger.Details(audit.PolicyKey{Source: "s", Policy: "p"}, 9, audit.Skip)
	require.Equal(t, "a friday", skipped[0].Object.Name+" "+skipped[0].Result.Exception)
	require.Equal(t, friday, skipped[0].Result.ExceptionExpires)
	source := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	setAudit(source, s.state(), s.ledger.Totals(), "")
	require.EqualValues(t, 1, source.Status.Audit.Violations)

	s.live.PutExceptions(exempting(t, func(e *exception.Exception) { e.Namespaces = nil }))
	s.outcomes(audit.Counts{audit.Skip: 2})
	setAudit(source, s.state(), s.ledger.Totals(), "")
	require.EqualValues(t, 0, source.Status.Audit.Violations)
	require.EqualValues(t, 0, source.Status.Audit.Violating)

	set(friday) // nothing else changes
	s.outcomes(audit.Counts{audit.Fail: 2})
	set(friday.Add(-time.Hour)) // the clock was wrong
	s.outcomes(audit.Counts{audit.Skip: 2})
	s.live.PutExceptions(nil)
	s.outcomes(audit.Counts{audit.Fail: 2})
}

// An exception that is too long takes effect when its end is near enough.
func TestAuditFollowsTheBeginOfExceptions(t *testing.T) {
	t.Parallel()
	s := newSite(t, configMap("shop", "a", nil))
	var clock atomic.Int64
	clock.Store(friday.AddDate(-1, 0, 0).UnixNano())
	s.now = func() time.Time { return time.Unix(0, clock.Load()) }
	s.put("1", "team")
	s.live.PutExceptions(exempting(t, unchanged))
	s.start()
	s.outcomes(audit.Counts{audit.Fail: 1})
	clock.Store(friday.Add(-time.Hour).UnixNano())
	s.outcomes(audit.Counts{audit.Skip: 1})
}

// Exceptions that concern nothing of a kind evaluate nothing.
func TestExceptionsAuditedAlike(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("1", "team")
	with := func(exceptions []*exception.Exception) *engine.Snapshot {
		return engine.NewSnapshotWithExceptions(admission.BuiltinResources(), exceptions, s.live.Sets()...)
	}
	before := with(exempting(t, unchanged))
	for name, c := range map[string]struct {
		change func(*exception.Exception)
		alike  bool
	}{
		"unchanged":         {unchanged, true},
		"the reason":        {func(e *exception.Exception) { e.Reason = "another" }, true},
		"the location":      {func(e *exception.Exception) { e.Expires = e.Expires.In(time.FixedZone("x", 3600)) }, true},
		"the end":           {func(e *exception.Exception) { e.Expires = e.Expires.Add(time.Second) }, false},
		"the name":          {func(e *exception.Exception) { e.Name = "monday" }, false},
		"the rule":          {func(e *exception.Exception) { e.Rule = "deny" }, false},
		"namespaces":        {func(e *exception.Exception) { e.Namespaces = []string{"shop", "other"} }, false},
		"names":             {func(e *exception.Exception) { e.Names = []string{"a"} }, false},
		"containers":        {func(e *exception.Exception) { e.Containers = []string{"a"} }, false},
		"the kind":          {func(e *exception.Exception) { e.Kinds = []admission.GroupVersionKind{{Kind: "ConfigMap"}} }, false},
		"another kind":      {func(e *exception.Exception) { e.Kinds = []admission.GroupVersionKind{{Kind: "Secret"}} }, false},
		"no longer allowed": {func(e *exception.Exception) { e.Selector = &metav1.LabelSelector{} }, false},
		"another policy":    {func(e *exception.Exception) { e.Policy = "q" }, false},
	} {
		require.Equal(t, c.alike, with(exempting(t, c.change)).AuditsAlike(before, admission.GroupVersionKind{Kind: "ConfigMap"}), name)
	}
	without := with(nil)
	require.False(t, without.AuditsAlike(before, admission.GroupVersionKind{Kind: "ConfigMap"}))
	for name, change := range map[string]func(*exception.Exception){
		"another kind":   func(e *exception.Exception) { e.Kinds = []admission.GroupVersionKind{{Kind: "Secret"}} },
		"another policy": func(e *exception.Exception) { e.Policy = "q" },
		"another source": func(e *exception.Exception) { e.Source = "t" },
	} {
		require.True(t, with(exempting(t, change)).AuditsAlike(without, admission.GroupVersionKind{Kind: "ConfigMap"}), name)
	}
}

// Loading the same exceptions again evaluates nothing.
func TestUnchangedExceptionsEvaluateNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, configMap("shop", "a", nil))
	s.now = func() time.Time { return friday.Add(-time.Hour) }
	s.put("1", "team")
	s.live.PutExceptions(exempting(t, unchanged))
	s.adjust(t.Context())
	s.Cleanup(s.running.Wait)
	s.Cleanup(func() {
		for _, running := range s.kinds {
			running.cancel()
		}
	})
	s.outcomes(audit.Counts{audit.Skip: 1})
	evaluated := testutil.ToFloat64(s.metrics.evaluations)
	require.Eventually(t, func() bool { return !s.pass().last.IsZero() && s.pass().reason == "" }, 20*time.Second, 20*time.Millisecond)
	s.live.PutExceptions(exempting(t, unchanged))
	s.adjust(t.Context())
	s.tick(s.now())
	require.Empty(t, s.pass().reason, "the kind is not listed again")
	require.InDelta(t, evaluated, testutil.ToFloat64(s.metrics.evaluations), 0)
}
