package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// exempting evaluates the Pod by policies with an exception from deny of the policy p until an
// hour from now.
func exempting(t *testing.T, files map[string]string, at time.Time) []audit.Result {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Revision: "r1", Files: files}, gatekeeper.Dialect)
	require.NoError(t, err)
	one, err := exception.Exception{
		Name: "friday", Scope: hierarchy.Key{Level: hierarchy.Enterprise}, Source: "s", Policy: "p", Rule: "deny", Expires: now.Add(time.Hour),
	}.Compiled()
	require.NoError(t, err)
	snapshot := engine.NewSnapshotWithExceptions(admission.BuiltinResources(), []*exception.Exception{one}, set)
	found, err := audit.New(snapshot, nil).Evaluate(t.Context(), []byte(pod), pods, engine.Options{Clock: func() time.Time { return at }})
	require.NoError(t, err)
	return found.Results
}

func TestExemptFindingsAreSkips(t *testing.T) {
	t.Parallel()
	both := "deny contains {\"msg\": \"no\", \"field\": \"spec\"} if input.request.object.spec\nwarn contains \"hm\" if input.request.object.spec"
	for name, c := range map[string]struct {
		custom []string
		rego   string
		at     time.Time
		want   []audit.Outcome
	}{
		"deny":           {[]string{matchPods}, both, now, []audit.Outcome{audit.Warn, audit.Skip}},
		"expired":        {[]string{matchPods}, both, now.Add(time.Hour), []audit.Outcome{audit.Fail, audit.Warn}},
		"enforced audit": {[]string{matchPods, "enforcement: audit"}, both, now, []audit.Outcome{audit.Warn, audit.Skip}},
		"forbidden":      {[]string{matchPods, "exceptions: {forbidden: true}"}, both, now, []audit.Outcome{audit.Fail, audit.Warn}},
		"errors":         {[]string{matchPods}, `deny contains "x" if to_number("a") == 1`, now, []audit.Outcome{audit.Error}},
		"not auditable":  {[]string{matchPods}, `deny contains "x" if not input.request.userInfo.username`, now, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outcomes []audit.Outcome
			for _, result := range exempting(t, map[string]string{"p.rego": policyText(c.custom, c.rego)}, c.at) {
				outcomes = append(outcomes, result.Outcome)
				if result.Outcome == audit.Skip {
					require.Equal(t, []any{"friday", now.Add(time.Hour), "no", "spec"}, []any{result.Exception, result.ExceptionExpires, result.Message, result.Field})
				} else {
					require.Empty(t, result.Exception)
					require.True(t, result.ExceptionExpires.IsZero())
				}
			}
			require.Equal(t, c.want, outcomes)
		})
	}
}

func skip(exception string) audit.Result {
	return audit.Result{Source: "s", Policy: "p", Rule: "deny", Outcome: audit.Skip, Message: "no", Exception: exception, ExceptionExpires: now}
}

// Reports count exempt violations as skips, and name the exception.
func TestReportsOfSkips(t *testing.T) {
	t.Parallel()
	ledger, shop := audit.NewLedger(10), audit.GroupKey{Namespace: "shop", Source: "s"}
	ledger.Set(podNamed("shop", "web"), digest(1), []audit.Result{skip("friday")}, now)
	reports, err := audit.Build(ledger.Group(shop), 10, audit.OpenReports)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"skip": int64(1)}, nonZero(reports[0].Object["summary"].(map[string]any)))
	result := reports[0].Object["results"].([]any)[0].(map[string]any)
	require.Equal(t, "skip", result["result"])
	require.NotEqual(t, true, result["scored"])
	properties := result["properties"].(map[string]any)
	require.Equal(t, []any{"friday", "2026-11-27T12:00:00Z"}, []any{properties["exception"], properties["exceptionExpiresAt"]})

	ledger.TakeChanged()
	ledger.Set(podNamed("shop", "web"), digest(2), []audit.Result{skip("monday")}, now)
	require.Equal(t, []audit.GroupKey{shop}, ledger.TakeChanged(), "another exception changes the report")
	later := skip("monday")
	later.ExceptionExpires = now.Add(time.Hour)
	ledger.Set(podNamed("shop", "web"), digest(3), []audit.Result{later}, now)
	require.Equal(t, []audit.GroupKey{shop}, ledger.TakeChanged(), "another end, too")
}

func nonZero(summary map[string]any) map[string]any {
	for name, n := range summary {
		if n == int64(0) {
			delete(summary, name)
		}
	}
	return summary
}

// Skips have their own limit: they never take the room of violations, nor the reverse.
func TestSkipsAndViolationsHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	ledger, shop := audit.NewLedger(3), audit.GroupKey{Namespace: "shop", Source: "s"}
	for i := range 20 {
		result := skip("friday")
		if i >= 10 {
			result = failure("p", "no")
		}
		ledger.Set(podNamed("shop", fmt.Sprintf("%02d", i)), digest(i), []audit.Result{result}, now)
	}
	of := func() (violations, skips int) {
		for _, detail := range ledger.Group(shop).Details {
			if detail.Result.Outcome == audit.Skip {
				skips++
			} else {
				violations++
			}
		}
		return violations, skips
	}
	violations, skips := of()
	require.Equal(t, []int{3, 3}, []int{violations, skips})
	require.Empty(t, ledger.Truncated())
	require.Equal(t, audit.Counts{audit.Skip: 10, audit.Fail: 10}, ledger.Group(shop).Counts)
	require.Equal(t, 10, ledger.Group(shop).Counts.Violations())
	require.Len(t, ledger.Details(audit.PolicyKey{Source: "s", Policy: "p"}, 2, audit.Fail), 2)
	ledger.Remove(ledger.Details(audit.PolicyKey{Source: "s", Policy: "p"}, 1, audit.Skip)[0].Object)
	again := ledger.Truncated()
	require.Len(t, again, 1)
	require.Less(t, again[0].Name, "10", "one that is exempt")
	ledger.Set(again[0], digest(99), []audit.Result{failure("p", "no")}, now)
	violations, skips = of()
	require.Equal(t, []int{3, 2}, []int{violations, skips}, "an exempt object that violates again has no room")
}
