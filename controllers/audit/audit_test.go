package audit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// namespaces has every Namespace but "gone".
type namespaces struct{}

func (namespaces) Namespace(_ context.Context, name string) ([]byte, error) {
	if name == "gone" {
		return nil, fmt.Errorf("reading: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name))
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name), nil
}

// site is an auditor in front of an API server with ConfigMaps.
type site struct {
	*testing.T
	*auditor
	live   *engine.Live
	client *fake.FakeDynamicClient
}

func newSite(t *testing.T, objects ...runtime.Object) *site {
	t.Helper()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMaps: "ConfigMapList"}, objects...)
	s := &site{T: t, client: client, live: engine.NewLive(admission.BuiltinResources())}
	s.auditor = newAuditor(&auditor{
		snapshot: s.live.Snapshot, cluster: clusterdata.Empty, namespaces: namespaces{}, lists: object.ListWatch(client),
		limit: 100, ledger: audit.NewLedger(100), metrics: newMetrics(prometheus.NewRegistry()), now: time.Now,
	})
	s.setMembership(membershipOf("a", "a"))
	s.live.OnChange(func(*engine.Snapshot) { signal(s.wanted) })
	s.live.Publish()
	return s
}

func (s *site) start() *site {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.auditor.Start(ctx) }()
	s.Cleanup(func() { cancel(); <-done })
	return s
}

// put makes a policy about a label live.
func (s *site) put(revision, label string) {
	s.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Revision: revision, Files: map[string]string{"p.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: ConfigMap}]}
package p
import rego.v1
deny contains "no ` + label + `" if not input.request.object.metadata.labels.` + label}})
	require.NoError(s, err)
	s.live.Put(set)
}

// violations waits until the objects of the policy's violations are these.
func (s *site) violations(message string, names ...string) {
	s.Helper()
	require.Eventually(s, func() bool {
		details := s.ledger.Details(audit.PolicyKey{Source: "s", Policy: "p"}, 100, audit.Fail)
		if len(details) != len(names) {
			return false
		}
		for i, detail := range details {
			if detail.Object.Name != names[i] || detail.Result.Message != message {
				return false
			}
		}
		return true
	}, 20*time.Second, 20*time.Millisecond)
}

func (s *site) pass() pass { return s.state().sources["s"] }

func configMap(namespace, name string, labels map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(labels)
	return object
}

func TestAuditFollowsObjectsAndPolicies(t *testing.T) {
	t.Parallel()
	s := newSite(t, configMap("shop", "a", nil), configMap("shop", "b", map[string]string{"team": "x"})).start()
	s.put("1", "team")
	s.violations("no team", "a")

	objects := s.client.Resource(configMaps).Namespace("shop")
	_, err := objects.Create(t.Context(), configMap("shop", "c", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	s.violations("no team", "a", "c")
	_, err = objects.Update(t.Context(), configMap("shop", "a", map[string]string{"team": "y"}), metav1.UpdateOptions{})
	require.NoError(t, err)
	s.violations("no team", "c")
	require.NoError(t, objects.Delete(t.Context(), "c", metav1.DeleteOptions{}))
	s.violations("")

	s.put("2", "owner")
	s.violations("no owner", "a", "b")
	s.live.Remove("s")
	s.violations("")
	require.Eventually(t, func() bool { return s.ledger.Len() == 0 }, 20*time.Second, 20*time.Millisecond, "nothing is followed any longer")
}

// A new revision evaluates only the objects that its changed policies match.
func TestUnchangedPoliciesEvaluateNothing(t *testing.T) {
	t.Parallel()
	policy := func(kind, label string) string {
		return `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: ` + kind + `}]}
package p` + kind + `
import rego.v1
deny contains "no" if not input.request.object.metadata.labels.` + label
	}
	first, err := policyset.Compile(definition.Source{Name: "s", Revision: "1", Files: map[string]string{"a.rego": policy("ConfigMap", "a"), "b.rego": policy("Secret", "b")}})
	require.NoError(t, err)
	second, err := policyset.Recompile(definition.Source{Name: "s", Revision: "2", Files: map[string]string{"a.rego": policy("ConfigMap", "a"), "b.rego": policy("Secret", "c")}}, first)
	require.NoError(t, err)
	settings, err := policyset.Recompile(definition.Source{Name: "s", Revision: "2", Parameters: []byte(`{"x":1}`), Files: first.Files()}, first)
	require.NoError(t, err)
	before := engine.NewSnapshot(admission.BuiltinResources(), first)
	alike := func(set *engine.PolicySet, kind string) bool {
		return engine.NewSnapshot(admission.BuiltinResources(), set).AuditsAlike(before, admission.GroupVersionKind{Kind: kind})
	}
	require.True(t, alike(second, "ConfigMap"))
	require.False(t, alike(second, "Secret"))
	require.False(t, alike(settings, "ConfigMap"), "parameters decide, too")
}

// Objects that the manager may not list never count as compliant, and audit recovers once it may.
func TestForbiddenKinds(t *testing.T) {
	t.Parallel()
	s := newSite(t, configMap("shop", "a", nil))
	allowed := make(chan struct{})
	s.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case <-allowed:
			return false, nil, nil
		default:
			return true, nil, apierrors.NewForbidden(configMaps.GroupResource(), "", errors.New("no"))
		}
	})
	s.put("1", "team")
	s.start()
	require.Eventually(t, func() bool { return s.state() != nil && s.pass().reason == ReasonKindForbidden }, 20*time.Second, 20*time.Millisecond)
	source := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	setAudit(source, s.state(), s.ledger.Totals(), "")
	require.Equal(t, metav1.ConditionFalse, source.Status.Conditions[0].Status)
	require.Contains(t, source.Status.Conditions[0].Message, "aggregate-to-audit")
	require.Nil(t, source.Status.Audit.LastFullPass)
	require.Zero(t, source.Status.Audit.Compliant, "nothing was evaluated")
	close(allowed)
	s.violations("no team", "a")
	require.Eventually(t, func() bool { return s.pass().reason == "" && !s.pass().last.IsZero() }, 20*time.Second, 20*time.Millisecond)
}

// An object whose namespace was deleted meanwhile is neither evaluated nor an error.
func TestObjectsOfDeletedNamespaces(t *testing.T) {
	t.Parallel()
	s := newSite(t, configMap("gone", "a", nil), configMap("shop", "b", nil)).start()
	s.put("1", "team")
	s.violations("no team", "b")
	require.Eventually(t, func() bool { return s.pass().reason == "" }, 20*time.Second, 20*time.Millisecond, "the list ends without an error")
}

// While objects are on their way, the condition is Unknown.
func TestConditionOfAnAuditThatHasNotFinished(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("1", "team")
	s.adjust(t.Context())
	source := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	running := &kind{target: audit.Target{Resource: admission.ServedResource{Version: "v1", Kind: "Pod"}, Policies: s.state().policies}}
	state := s.state()
	state.sources["s"] = pass{}.with(running.progress())
	setAudit(source, state, nil, "reports are not written")
	require.Equal(t, metav1.ConditionUnknown, source.Status.Conditions[0].Status)
	require.Contains(t, source.Status.Conditions[0].Message, "reports are not written")
	require.Nil(t, source.Status.Audit.LastFullPass)
	running.failure = apierrors.NewMethodNotSupported(corev1.Resource("bindings"), "list")
	require.Empty(t, pass{}.with(running.progress()).reason, "nothing of the kind is stored")
	running.failure = &evaluationError{object: "Pod a", err: errors.New("no")}
	require.Equal(t, ReasonNotEvaluated, pass{}.with(running.progress()).reason)
}

func TestConstraintStatusHasAtMostTwentyViolations(t *testing.T) {
	t.Parallel()
	ledger := audit.NewLedger(100)
	for i := range 60 { // the first 30 are exempt
		outcome := audit.Fail
		if i < 30 {
			outcome = audit.Skip
		}
		ledger.Set(audit.Object{Kind: admission.PodKind, Namespace: "shop", Name: fmt.Sprintf("%02d", i)}, audit.Digest{byte(i)},
			[]audit.Result{{Source: "gatekeeper", Policy: "K8sX/a", Outcome: outcome, Enforcement: definition.EnforceAudit, Message: "no"}}, time.Now())
	}
	key := audit.PolicyKey{Source: "gatekeeper", Policy: "K8sX/a"}
	status := constraintStatusOf(engine.PolicyInfo{}, ledger.Totals()[key], violationsOf(ledger.Details(key, maxViolations, counted...)))
	require.Equal(t, 30, *status.TotalViolations)
	require.Len(t, status.Violations, 20)
	require.Equal(t, violation{EnforcementAction: "dryrun", Version: "v1", Kind: "Pod", Namespace: "shop", Name: "30", Message: "no"}, status.Violations[0])
}

// A template that fails for an object, a warning and a denial count, as in Gatekeeper. An exempted
// object does not.
func TestConstraintStatusCountsErrors(t *testing.T) {
	t.Parallel()
	ledger := audit.NewLedger(100)
	for i, outcome := range audit.AllOutcomes {
		ledger.Set(audit.Object{Kind: admission.PodKind, Namespace: "shop", Name: string(outcome)}, audit.Digest{byte(i)},
			[]audit.Result{{Source: "gatekeeper", Policy: "K8sX/a", Outcome: outcome, Enforcement: definition.EnforceDeny, Message: "no"}}, time.Now())
	}
	key := audit.PolicyKey{Source: "gatekeeper", Policy: "K8sX/a"}
	status := constraintStatusOf(engine.PolicyInfo{}, ledger.Totals()[key], violationsOf(ledger.Details(key, maxViolations, counted...)))
	require.Equal(t, 3, *status.TotalViolations)
	var names []string
	for _, each := range status.Violations {
		names = append(names, each.Name)
	}
	require.Equal(t, []string{"error", "fail", "warn"}, names)
}

// membershipOf is the membership of a replica, in which all processes have the name of the replica.
func membershipOf(self string, names ...string) membership {
	m := membership{shards: audit.NewShards(self, names), processes: map[string]string{}}
	for _, name := range names {
		m.processes[name] = name + "-process"
	}
	return m
}
