package audit_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func podNamed(namespace, name string) audit.Object {
	return audit.Object{Kind: admission.PodKind, Namespace: namespace, Name: name, UID: "u-" + name}
}

func failure(policy, message string) audit.Result {
	return audit.Result{Source: "s", Policy: policy, Rule: "deny", Outcome: audit.Fail, Message: message, Revision: "r"}
}

func digest(of int) (d audit.Digest) {
	d[0], d[1] = byte(of), byte(of>>8)
	return d
}

func TestLedgerFollowsObjects(t *testing.T) {
	t.Parallel()
	ledger, web := audit.NewLedger(10), podNamed("shop", "web")
	shop := audit.GroupKey{Namespace: "shop", Source: "s"}
	ledger.Set(web, digest(1), []audit.Result{failure("p", "no team"), failure("q", "no owner")}, now)
	require.True(t, ledger.Has(web, digest(1)))
	require.False(t, ledger.Has(web, digest(2)))
	require.Equal(t, []audit.GroupKey{shop}, ledger.TakeChanged())
	require.Empty(t, ledger.TakeChanged())

	ledger.Set(web, digest(2), []audit.Result{failure("p", "no team"), failure("q", "no owner")}, now.Add(time.Hour))
	require.Empty(t, ledger.TakeChanged(), "the same results change no report")

	ledger.Set(web, digest(3), []audit.Result{failure("p", "no team"), failure("p", "no name")}, now.Add(time.Hour))
	require.Equal(t, []audit.GroupKey{shop}, ledger.TakeChanged())
	group := ledger.Group(shop)
	require.Equal(t, audit.Counts{audit.Fail: 2}, group.Counts)
	require.Equal(t, "no name", group.Details[0].Result.Message)
	require.Equal(t, now, group.Details[1].Since, "a result that stays keeps its time")
	require.Len(t, ledger.Totals(), 1)

	ledger.Expire(func(audit.Object) bool { return true })
	require.False(t, ledger.Has(web, digest(3)))
	require.Equal(t, 2, ledger.Group(shop).Counts.Total(), "results stay until the next evaluation")

	ledger.Remove(web)
	require.Equal(t, []audit.GroupKey{shop}, ledger.TakeChanged())
	require.Zero(t, ledger.Group(shop).Counts.Total())
	require.Zero(t, ledger.Len())
	require.Empty(t, ledger.Totals())
}

func TestLedgerKeepsTheFullCount(t *testing.T) {
	t.Parallel()
	ledger := audit.NewLedger(3)
	for i := range 10 {
		ledger.Set(podNamed("shop", fmt.Sprint(i)), digest(i), []audit.Result{failure("p", "no")}, now)
	}
	shop := audit.GroupKey{Namespace: "shop", Source: "s"}
	require.Equal(t, 10, ledger.Group(shop).Counts[audit.Fail])
	require.Len(t, ledger.Group(shop).Details, 3)
	require.Empty(t, ledger.Truncated(), "there is no room")
	ledger.Remove(podNamed("shop", ledger.Group(shop).Details[0].Object.Name))
	require.Len(t, ledger.Truncated(), 1)
	ledger.Set(ledger.Truncated()[0], digest(99), []audit.Result{failure("p", "no")}, now)
	require.Len(t, ledger.Group(shop).Details, 3)
	require.Equal(t, 9, ledger.Group(shop).Counts[audit.Fail])
}

// After any sequence of changes, the ledger contains what the last state of each object says.
func TestLedgerEqualsTheLastStates(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	ledger, last := audit.NewLedger(1000), map[string]int{}
	for range 3000 {
		name := fmt.Sprint(random.IntN(40))
		object := podNamed("ns-"+name[:1], name)
		switch n := random.IntN(4); n {
		case 3:
			ledger.Remove(object)
			delete(last, name)
		default:
			var results []audit.Result
			for i := range n {
				results = append(results, failure(fmt.Sprintf("p%d", i), "no"))
			}
			ledger.Set(object, digest(n), results, now)
			last[name] = n
		}
	}
	want := 0
	for _, n := range last {
		want += n
	}
	total, details := 0, 0
	for _, counts := range ledger.Totals() {
		total += counts.Total()
	}
	for _, key := range ledger.Groups() {
		group := ledger.Group(key)
		details += len(group.Details)
		require.Equal(t, group.Counts.Total(), len(group.Details))
	}
	require.Equal(t, []int{want, want, len(last)}, []int{total, details, ledger.Len()})
}

func TestReportsAreSplit(t *testing.T) {
	t.Parallel()
	for _, format := range []audit.Format{audit.OpenReports, audit.WGPolicy} {
		ledger := audit.NewLedger(900)
		for i := range 1000 {
			ledger.Set(podNamed("shop", fmt.Sprint(i)), digest(i), []audit.Result{failure("p", strings.Repeat("x", 1000))}, now)
		}
		reports, err := audit.Build(ledger.Group(audit.GroupKey{Namespace: "shop", Source: "s"}), 900, format)
		require.NoError(t, err)
		require.Greater(t, len(reports), 3)
		fails, results := int64(0), 0
		for n, report := range reports {
			text, err := json.Marshal(report.Object)
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), audit.MaxReportBytes)
			require.Equal(t, audit.ReportName("s", n), report.GetName())
			require.Equal(t, "s", audit.SourceOf(report))
			fails += report.Object["summary"].(map[string]any)["fail"].(int64)
			results += len(report.Object["results"].([]any))
		}
		require.Equal(t, []int{1000, 900}, []int{int(fails), results}, "summaries count all results")
		kind, _ := format.Kinds()
		require.Equal(t, kind, reports[0].GroupVersionKind())
	}
}

func TestReportsOfNoResults(t *testing.T) {
	t.Parallel()
	reports, err := audit.Build(audit.NewLedger(1).Group(audit.GroupKey{Source: "s"}), 1, audit.OpenReports)
	require.NoError(t, err)
	require.Empty(t, reports)
}

func TestClusterReport(t *testing.T) {
	t.Parallel()
	ledger := audit.NewLedger(10)
	object := audit.Object{Kind: admission.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: "shop"}
	ledger.Set(object, digest(1), []audit.Result{failure("p", "no")}, now)
	reports, err := audit.Build(ledger.Group(audit.GroupKey{Source: "s"}), 10, audit.OpenReports)
	require.NoError(t, err)
	require.Len(t, reports, 1)
	require.Equal(t, "ClusterReport", reports[0].GetKind())
	require.Empty(t, reports[0].GetNamespace())
}

func TestReportNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 253)
	require.NotEqual(t, audit.ReportName(long, 0), audit.ReportName(long[:252]+"b", 0))
	require.LessOrEqual(t, len(audit.ReportName(long, 999)), 253)
	require.LessOrEqual(t, len(audit.SourceLabelValue(long)), 63)
}
