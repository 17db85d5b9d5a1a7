package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/test/installation"
)

func TestPopulation(t *testing.T) {
	t.Parallel()
	p, err := readPopulation(filepath.Join(installation.Root(), "config/samples/gatekeeper"))
	require.NoError(t, err)
	require.Greater(t, len(p.constraints), 40)
	require.Greater(t, len(p.objects), 150)
	require.Contains(t, p.namespaces, "default")
	require.Contains(t, p.synced, schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"})
	require.Len(t, p.templates, len(p.constraints), "each sample has a template of its own")
	names := map[string]bool{}
	for _, object := range p.objects {
		name := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
		require.False(t, names[name], "%s twice", name)
		names[name] = true
		require.NotEqual(t, "AdmissionReview", object.GetKind())
		require.Equal(t, clusterScopedKind(object), object.GetNamespace() == "", name)
	}
	for _, c := range p.constraints {
		require.Equal(t, c.whole.Object, c.object().Object)
		require.Contains(t, p.templates[c.template], "kind: "+c.kind)
	}
	_, err = readPopulation(t.TempDir())
	require.ErrorContains(t, err, "no Suite")
}

func clusterScopedKind(object *unstructured.Unstructured) bool {
	for _, kind := range clusterScoped {
		if object.GetKind() == kind {
			return true
		}
	}
	return false
}

func TestKindsToSync(t *testing.T) {
	t.Parallel()
	const one = `[[{"groups": ["apps", "extensions"], "versions": ["v1"], "kinds": ["Deployment"]}], [{"groups": [""], "versions": ["v1"], "kinds": ["Pod"]}]]`
	for _, text := range []string{one, `"` + one + `"`, "\n" + one + "\n"} {
		kinds, err := kindsToSync(text)
		require.NoError(t, err)
		require.Equal(t, []schema.GroupVersionKind{
			{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "extensions", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Pod"},
		}, kinds)
	}
	kinds, err := kindsToSync("")
	require.NoError(t, err)
	require.Empty(t, kinds)
	_, err = kindsToSync("[1]")
	require.Error(t, err)
}

const auditLog = `not JSON
{"level":"info","msg":"auditing constraints and violations","audit_id":"T1","event_type":"audit_started"}
{"level":"info","msg":"no owner","audit_id":"T0","event_type":"violation_audited","constraint_kind":"Labels","constraint_name":"owner","resource_api_version":"v1","resource_kind":"Pod","resource_namespace":"shop","resource_name":"old"}
{"level":"info","msg":"auditing is complete","audit_id":"T0","event_type":"audit_finished"}
{"level":"info","msg":"no owner","audit_id":"T1","event_type":"violation_audited","constraint_kind":"Labels","constraint_name":"owner","resource_api_version":"v1","resource_kind":"Pod","resource_namespace":"shop","resource_name":"web"}
{"level":"info","msg":"no owner","audit_id":"T1","event_type":"violation_audited","constraint_kind":"Labels","constraint_name":"owner","resource_group":"apps","resource_api_version":"v1","resource_kind":"Deployment","resource_namespace":"shop","resource_name":"web"}
`

// An audit counts from its first line to its last: one that had begun before does not.
func TestFindingsOfALog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte(auditLog), 0o600))
	lines, err := readLog(path, 0)
	require.NoError(t, err)
	require.Empty(t, finishedAudit(lines))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"audit_id":"T1","event_type":"audit_finished"}` + "\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	lines, err = readLog(path, 0)
	require.NoError(t, err)
	require.Equal(t, "T1", finishedAudit(lines))
	require.Equal(t, map[violation]int{
		{"Labels/owner", "v1 Pod shop/web", "no owner"}:             1,
		{"Labels/owner", "apps/v1 Deployment shop/web", "no owner"}: 1,
	}, loggedFindings(lines, "T1").violations)
	lines, err = readLog(path, 1<<20)
	require.NoError(t, err)
	require.Empty(t, lines, "an offset beyond the end")
}

func TestShortened(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Repeat("a", 256), shortened(strings.Repeat("a", 256)))
	require.Equal(t, strings.Repeat("a", 253)+"...", shortened(strings.Repeat("a", 257)))
}

// Every kind of difference is found: an additional, a missing, a repeated violation, another
// message, and another status.
func TestDifferencesOfAudits(t *testing.T) {
	t.Parallel()
	one := violation{"Labels/owner", "v1 Pod shop/web", "no owner"}
	other := violation{"Labels/owner", "v1 Pod shop/web", "no team"}
	status := func(total int, messages ...string) auditedStatus {
		s := auditedStatus{TotalViolations: &total}
		for _, message := range messages {
			s.Violations = append(s.Violations, statusViolation{Kind: "Pod", Name: "web", Message: message})
		}
		return s
	}
	findingsOf := func(s auditedStatus, violations ...violation) findings {
		f := findings{violations: map[violation]int{}, statuses: map[string]auditedStatus{"Labels/owner": s}}
		for _, v := range violations {
			f.violations[v]++
		}
		return f
	}
	same := findingsOf(status(1, "no owner"), one)
	for name, ours := range map[string]findings{
		"missing": findingsOf(status(1, "no owner")), "additional": findingsOf(status(1, "no owner"), one, other),
		"repeated": findingsOf(status(1, "no owner"), one, one), "another message": findingsOf(status(1, "no owner"), other),
	} {
		require.NotEmpty(t, differences(ours, same), name)
	}
	require.Empty(t, differences(same, same))
	for name, s := range map[string]auditedStatus{
		"another total": status(2, "no owner"), "no total": {}, "another message": status(1, "no team"), "none in the list": status(1),
	} {
		compared, lines := statusDifferences(findingsOf(s), same, nil)
		require.Equal(t, 1, compared)
		require.NotEmpty(t, lines, name)
	}
	compared, lines := statusDifferences(same, same, nil)
	require.Equal(t, 1, compared)
	require.Empty(t, lines)
	compared, lines = statusDifferences(findingsOf(status(7)), same, map[string]bool{"Labels/owner": true})
	require.Zero(t, compared)
	require.Empty(t, lines)
	_, lines = statusDifferences(findingsOf(status(30, "a")), findingsOf(status(30, "b")), nil)
	require.Empty(t, lines, "lists that are not complete may differ")
}

func TestAuditPods(t *testing.T) {
	t.Parallel()
	pods, err := newAuditPods(nil, 10000)
	require.NoError(t, err)
	require.Equal(t, 100, pods.violations())
	in := map[string]int{}
	var all []*corev1.Pod
	for n := range 500 {
		pod, err := pods.pod(n)
		require.NoError(t, err)
		all = append(all, pod)
		if pod.Labels[ownerLabel] == "" {
			in[pod.Namespace]++
		}
	}
	require.Len(t, in, 5, "one in a hundred, each in another namespace")
	for n := 1; n <= changedPods; n++ {
		require.NotEmpty(t, all[n].Labels[ownerLabel], "a Pod that is changed complies before")
	}
	require.NotEqual(t, all[1].Spec, all[2].Spec)
	require.Equal(t, all[1].Namespace, all[51].Namespace)
	require.NotEqual(t, all[1].Name, all[51].Name)
}

func TestReportsOfKyverno(t *testing.T) {
	t.Parallel()
	pods, err := newAuditPods(nil, 200)
	require.NoError(t, err)
	constraints := []constraint{{name: "a"}, {name: "b"}}
	one, err := kyvernoReportBytes(pods, constraints[:1])
	require.NoError(t, err)
	two, err := kyvernoReportBytes(pods, constraints)
	require.NoError(t, err)
	require.Greater(t, one, int64(200*500))
	require.Greater(t, two-one, int64(200*100), "each policy adds a result for each object")
	pod, err := pods.pod(0)
	require.NoError(t, err)
	report := kyvernoReport(pod, constraints, 1)
	require.Len(t, report.Results, 2)
	require.Equal(t, []any{openreports.Result("fail"), openreports.Result("pass")}, []any{report.Results[0].Result, report.Results[1].Result})
}
