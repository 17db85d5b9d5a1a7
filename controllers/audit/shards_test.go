package audit

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
)

// teamOf returns a namespace of which a replica is the owner among the others.
func teamOf(owner string, names ...string) string {
	for i := 0; ; i++ {
		if namespace := fmt.Sprintf("team-%d", i); audit.NewShards("", names).Owner(namespace) == owner {
			return namespace
		}
	}
}

// A replica evaluates the objects of its shards alone. If another one is gone, it takes over the
// rest, and does not count as finished before it has evaluated them.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	mine, theirs := teamOf("a", "a", "b"), teamOf("b", "a", "b")
	s := newSite(t, configMap(mine, "one", nil), configMap(theirs, "two", nil))
	s.setMembership(membershipOf("a", "a", "b"))
	gate := make(chan struct{})
	var lists atomic.Int32
	lists0 := s.lists
	s.lists = func(resource admission.ServedResource) cache.ListerWatcher {
		if lists.Add(1) == 2 {
			<-gate // the list of the takeover
		}
		return lists0(resource)
	}
	s.put("1", "team")
	s.start()
	s.violations("no team", "one")
	require.Eventually(t, func() bool { return s.pass().reason == "" }, 20*time.Second, 20*time.Millisecond)
	evaluated := s.ledger.Len()
	require.Equal(t, 1, evaluated, "the other object is not followed")

	require.True(t, s.setMembership(membershipOf("a", "a")))
	require.Equal(t, ReasonAuditing, s.pass().reason, "the shards of the other replica are not evaluated yet")
	close(gate)
	s.violations("no team", sorted(map[string]string{mine: "one", theirs: "two"})...)
	require.Eventually(t, func() bool { return s.pass().reason == "" }, 20*time.Second, 20*time.Millisecond)

	require.True(t, s.setMembership(membershipOf("a", "a", "b")))
	s.violations("no team", "one")
	require.Equal(t, "", s.pass().reason, "a replica that gives shards away has evaluated the others already")
}

// sorted returns the values in the order of their keys.
func sorted(values map[string]string) (list []string) {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		list = append(list, values[key])
	}
	return list
}

// A list that was on its way when the shards changed does not contain what this replica must
// evaluate now.
func TestAListFromBeforeATakeover(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("1", "team")
	s.adjust(t.Context())
	running := s.kinds[admission.GroupVersionKind{Kind: "ConfigMap"}]
	before := &sink{kind: running, started: time.Now(), generation: running.generation}
	s.setMembership(membershipOf("a", "a", "b"))
	s.setMembership(membershipOf("a", "a"))
	require.NoError(t, before.Replace(nil, ""))
	require.Equal(t, ReasonAuditing, s.pass().reason)
	after := &sink{kind: running, started: time.Now(), generation: running.generation}
	require.NoError(t, after.Replace(nil, ""))
	require.Equal(t, "", s.pass().reason)
}

// joinedSite is a leader "a" with a replica "b", of which the test writes the summary.
type joinedSite struct {
	*site
	*aggregator
	other *summary
}

func newJoinedSite(t *testing.T) *joinedSite {
	t.Helper()
	mine := teamOf("a", "a", "b")
	j := &joinedSite{site: newSite(t, configMap(mine, "one", nil))}
	j.setMembership(membershipOf("a", "a", "b"))
	j.aggregator = &aggregator{
		progress: j.auditor.progress, ledger: j.auditor.ledger, problem: func() string { return "" },
		summaries: func(string) *summary { return j.other },
	}
	j.put("1", "team")
	j.start()
	j.violations("no team", "one")
	require.Eventually(t, func() bool { return j.pass().reason == "" }, 20*time.Second, 20*time.Millisecond)
	return j
}

// answer is the summary of "b" with a number of violations, after it has evaluated its shards.
func (j *joinedSite) answer(violations int) *summary {
	p := j.auditor.progress()
	return &summary{
		Replica: "b", Process: "b-process", Members: p.membership.shards.Digest(), Identities: p.identities,
		Kinds:    map[string]kindProgress{"ConfigMap": {Listed: friday}},
		Policies: []policySummary{{Source: "s", Policy: "p", Counts: audit.Counts{audit.Fail: violations}}},
	}
}

// check compares the status with a condition, the number of compliant policies and of violations.
func (j *joinedSite) check(want metav1.ConditionStatus, compliant, violations int, message string) {
	j.site.Helper()
	source := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	view := j.view()
	setAudit(source, view.state, view.totals, view.problem)
	condition := source.Status.Conditions[0]
	require.Equal(j.site, want, condition.Status, condition.Message)
	require.Contains(j.site, condition.Message, message)
	require.EqualValues(j.site, compliant, source.Status.Audit.Compliant)
	require.EqualValues(j.site, violations, source.Status.Audit.Violations)
	require.Equal(j.site, want == metav1.ConditionTrue, source.Status.Audit.LastFullPass != nil)
}

// The status is about all replicas: it is not complete before each of them has evaluated its shards
// of the present membership with the present policies, and no object counts twice.
func TestAggregation(t *testing.T) {
	t.Parallel()
	j := newJoinedSite(t)
	j.check(metav1.ConditionUnknown, 0, 0, "replica b has not reported its results yet")
	j.other = j.answer(3)
	j.check(metav1.ConditionTrue, 0, 4, "all objects")

	for name, change := range map[string]func(*summary){
		"was restarted":               func(s *summary) { s.Process = "b-before" },
		"is taking over objects":      func(s *summary) { s.Members = audit.NewShards("b", []string{"b"}).Digest() },
		"evaluates another revision":  func(s *summary) { s.Identities = map[string]string{"s": "older"} },
		"kind ConfigMap are being":    func(s *summary) { s.Kinds = nil },
		"kind ConfigMap are being ev": func(s *summary) { s.Kinds = map[string]kindProgress{"Secret": {Listed: friday}} },
		"the objects of kind ConfigMa": func(s *summary) {
			s.Kinds["ConfigMap"] = kindProgress{Reason: ReasonAuditing, Message: "the objects of kind ConfigMap"}
		},
	} {
		j.other = j.answer(3)
		change(j.other)
		j.check(metav1.ConditionUnknown, 0, 4, name)
	}
	j.other = j.answer(100) // it has the objects of this replica as well
	j.other.Members = "other"
	j.check(metav1.ConditionUnknown, 0, 4, "is taking over")

	j.other = j.answer(0)
	j.other.Kinds["ConfigMap"] = kindProgress{Reason: ReasonKindForbidden, Message: "forbidden to b"}
	j.check(metav1.ConditionFalse, 0, 1, "forbidden to b")
	j.other = j.answer(0)
	j.other.Problem = "reports are not written"
	j.check(metav1.ConditionTrue, 0, 1, "reports are not written")

	m := membershipOf("a", "a", "b")
	m.held = true
	j.setMembership(m)
	j.check(metav1.ConditionUnknown, 0, 1, "has expired")
	require.Nil(t, j.own(), "its results are not reported while others may own the objects")
}

// A policy that nothing violates does not count as compliant before all replicas have reported.
func TestComplianceNeedsAllReplicas(t *testing.T) {
	t.Parallel()
	j := newJoinedSite(t)
	require.NoError(t, j.client.Resource(configMaps).Namespace(teamOf("a", "a", "b")).Delete(t.Context(), "one", metav1.DeleteOptions{}))
	j.violations("")
	j.check(metav1.ConditionUnknown, 0, 0, "replica b")
	j.other = j.answer(0)
	j.check(metav1.ConditionTrue, 1, 0, "all objects")
	j.other.Identities = nil
	j.check(metav1.ConditionUnknown, 0, 0, "replica b")
}

// The violations of a constraint are the first twenty of all replicas.
func TestViolationsOfReplicas(t *testing.T) {
	t.Parallel()
	var lists [2][]violation
	for i := range 30 {
		lists[i%2] = append(lists[i%2], violation{Namespace: "shop", Kind: "Pod", Name: fmt.Sprintf("%02d", i)})
	}
	merged := mergeViolations(lists[0], lists[1])
	require.Len(t, merged, maxViolations)
	for i, one := range merged {
		require.Equal(t, fmt.Sprintf("%02d", i), one.Name)
	}
}

// A summary that would be too large has fewer violations, and all counts.
func TestSummariesAreBounded(t *testing.T) {
	t.Parallel()
	s := &summary{Replica: "b", Kinds: map[string]kindProgress{"Pod": {Reason: ReasonAuditing}}}
	for i := range 3000 {
		one := policySummary{Source: constraintSource, Policy: fmt.Sprintf("K8sX/%d", i), Counts: audit.Counts{audit.Fail: i + 1}}
		for n := range maxViolations {
			one.Violations = append(one.Violations, violation{Name: fmt.Sprint(n), Message: fmt.Sprintf("%x", audit.NewShards("", []string{fmt.Sprint(i, n)}).Digest())})
		}
		s.Policies = append(s.Policies, one)
	}
	text, err := s.encode()
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), maxSummary)
	read, err := decodeSummary(text)
	require.NoError(t, err)
	require.Len(t, read.Policies, 3000)
	require.Equal(t, 3000, read.Policies[2999].Counts[audit.Fail])
	require.Less(t, len(read.Policies[0].Violations), maxViolations)
	_, err = decodeSummary([]byte("no"))
	require.Error(t, err)
}

// Reports of other replicas are left alone. A replica that takes over writes them, and writes them
// again if the earlier owner still does.
func TestReportsOfOtherReplicas(t *testing.T) {
	t.Parallel()
	ledger := audit.NewLedger(10)
	for _, namespace := range []string{"mine", "theirs"} {
		ledger.Set(audit.Object{Kind: admission.PodKind, Namespace: namespace, Name: "a"}, audit.Digest{1},
			[]audit.Result{{Source: "s", Policy: "p", Outcome: audit.Fail, Enforcement: definition.EnforceDeny}}, friday)
	}
	clock, all, held := friday, false, false
	r := newReporter(&reporter{
		ledger: ledger, isReady: func(string) bool { return true }, now: func() time.Time { return clock },
		owns: func(namespace string) bool { return all || namespace == "mine" }, mayWrite: func() bool { return !held },
		metrics: newMetrics(prometheus.NewRegistry()),
	})
	r.listed[true], r.listed[false] = true, true
	due := func() (groups []audit.GroupKey) {
		for range 3 { // a change by others is noticed, then left alone for a while, and then written
			groups = append(groups, r.due()...)
			clock = clock.Add(maxDelay)
		}
		return groups
	}
	mine, theirs := audit.GroupKey{Namespace: "mine", Source: "s"}, audit.GroupKey{Namespace: "theirs", Source: "s"}
	held = true
	require.Empty(t, due(), "its Lease has expired")
	held = false
	require.Equal(t, []audit.GroupKey{mine}, r.due())
	report := func(version string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetNamespace("theirs")
		u.SetName("lintel-s")
		u.SetAnnotations(map[string]string{"lintel.dev/audit-source": "s"})
		u.SetResourceVersion(version)
		return u
	}
	store := &reportStore{r, true}
	require.NoError(t, store.Add(report("1")))
	require.Empty(t, due(), "another replica wrote it")
	all = true
	r.takeOver()
	require.Equal(t, []audit.GroupKey{mine, theirs}, slices.SortedFunc(slices.Values(due()), func(a, b audit.GroupKey) int { return len(a.Namespace) - len(b.Namespace) }))
	r.versions[types.NamespacedName{Namespace: "theirs", Name: "lintel-s"}] = "2"
	require.NoError(t, store.Update(report("2")))
	require.Empty(t, due())
	require.NoError(t, store.Update(report("3")))
	require.Equal(t, []audit.GroupKey{theirs}, due(), "the earlier owner has written it once more")
}
