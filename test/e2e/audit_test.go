package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/test/installation"
)

// auditPromptly is how soon a change is in reports.
const auditPromptly = 5 * time.Second

// auditConfigMaps lets audit read ConfigMaps.
const auditConfigMaps = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: audit-configmaps
  labels: {lintel.dev/aggregate-to-audit: "true"}
rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}
`

// teamLabel is a policy about the ConfigMaps of a namespace.
func teamLabel(namespace string) string {
	return `# METADATA
# custom:
#   match:
#     kinds: [{group: "", kind: ConfigMap}]
#     namespaces: ["` + namespace + `"]
package audit.team

import rego.v1

deny contains "no team" if {
	input.name != "kube-root-ca.crt" # which Kubernetes creates
	not input.request.object.metadata.labels.team
}

deny contains "anonymous" if not input.request.userInfo.username
`
}

// audited returns a condition of a source that is True, False or Unknown with a reason.
func audited(t *testing.T, source, want string) *v1alpha1.PolicySource {
	t.Helper()
	return waitFor(t, "", "policysource/"+source, "Audited to be "+want, func(source *v1alpha1.PolicySource) bool {
		return says(source.Status.Conditions, v1alpha1.ConditionAudited) == want
	})
}

// failuresIn waits for the number of violations in the report of a source: 0 for no report.
func failuresIn(t *testing.T, namespace, source, want string) time.Duration {
	t.Helper()
	started := time.Now()
	eventually(t, func() bool {
		found, _ := get(t, "reports.openreports.io", "lintel-"+source, "-n", namespace, "--ignore-not-found", "-o", "jsonpath={.summary.fail}")
		return found == want
	}, "the report of "+source+" to have "+want+" failures")
	return time.Since(started)
}

func installReports(t *testing.T) {
	t.Helper()
	mustKubectl(t, "", "apply", "--server-side", "-k", filepath.Join(installation.Root(), "config/reports"))
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "--ignore-not-found", "-k", filepath.Join(installation.Root(), "config/reports"))
	})
	mustKubectl(t, "", "wait", "--for=condition=Established", "crd/reports.openreports.io", "crd/clusterreports.openreports.io")
}

// TestAudit follows a violation that is older than its policy: without permission, without the
// kinds of reports, and with both.
func TestAudit(t *testing.T) {
	namespace := newNamespace(t)
	mustKubectl(t, configMap(namespace, "old"), "apply", "-f", "-")
	applySource(t, "audit-team", teamLabel(namespace), nil)

	forbidden := audited(t, "audit-team", "False KindForbidden")
	require.Zero(t, forbidden.Status.Audit.Compliant, "nothing was evaluated")
	require.Nil(t, forbidden.Status.Audit.LastFullPass)

	applyForTest(t, auditConfigMaps)
	source := audited(t, "audit-team", "True Audited")
	require.Equal(t, []int32{0, 1}, []int32{source.Status.Audit.Compliant, source.Status.Audit.Violating})
	require.Equal(t, []string{"audit.team: policy.rego:15: input.request.userInfo"}, source.Status.Audit.References)
	require.NotNil(t, source.Status.Audit.LastFullPass)
	require.Contains(t, meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionAudited).Message, "the cluster does not serve")

	installReports(t)
	failuresIn(t, namespace, "audit-team", "1")
	series := `lintel_audit_violations{outcome="fail",policy="audit.team",scope="enterprise",source="audit-team"}`
	value, _ := metricOf(t, manager, series)
	require.Equal(t, "1", value)
	waitFor(t, "", "policysource/audit-team", "the status to have no problem", func(source *v1alpha1.PolicySource) bool {
		return !strings.Contains(meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionAudited).Message, "does not serve")
	})

	t.Run("restores a report that is deleted or edited", func(t *testing.T) {
		mustKubectl(t, "", "delete", "reports.openreports.io", "lintel-audit-team", "-n", namespace)
		failuresIn(t, namespace, "audit-team", "1")
		mustKubectl(t, "", "patch", "reports.openreports.io", "lintel-audit-team", "-n", namespace, "--type=merge", "-p", `{"results":[],"summary":{"fail":7}}`)
		failuresIn(t, namespace, "audit-team", "1")
	})
	t.Run("removes what no longer violates", func(t *testing.T) {
		mustKubectl(t, "", "label", "configmap", "old", "-n", namespace, "team=a")
		require.Less(t, failuresIn(t, namespace, "audit-team", ""), auditPromptly)
		eventually(t, func() bool { value, _ := metricOf(t, manager, series); return value == "0" }, "the metric")
		waitFor(t, "", "policysource/audit-team", "the policy to be not auditable alone", func(source *v1alpha1.PolicySource) bool {
			return source.Status.Audit.Violating == 0 && source.Status.Audit.NotAuditable == 1
		})
	})
	t.Run("fills the status of constraints", func(t *testing.T) { auditConstraint(t, namespace) })
}

// auditConstraint has one violation, from before the constraint.
func auditConstraint(t *testing.T, namespace string) {
	mustKubectl(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"unowned","namespace":"`+namespace+`","labels":{"team":"a"}}}`, "apply", "-f", "-")
	applyForTest(t, `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: auditowner}
spec:
  crd: {spec: {names: {kind: AuditOwner}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package auditowner
        violation[{"msg": "no owner"}] { input.review.object.metadata.name == "unowned" }
`)
	applyForTest(t, `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: AuditOwner
metadata: {name: here}
spec:
  enforcementAction: dryrun
  match:
    kinds: [{apiGroups: [""], kinds: [ConfigMap]}]
    namespaces: ["`+namespace+`"]
`)
	eventually(t, func() bool {
		found, _ := get(t, "auditowner", "here", "--ignore-not-found", "-o", "jsonpath={.status.totalViolations} {.status.violations[0].name} {.status.violations[0].enforcementAction} {.status.violations[0].message} {.status.byPod[0].id}")
		return found == "1 unowned dryrun no owner lintel"
	}, "the status of the constraint")
}

// TestAuditSurvivesAKill kills the leader of three replicas while they evaluate a new revision. The
// others take over its shard, and nothing is reported twice or missed.
func TestAuditSurvivesAKill(t *testing.T) {
	prefix := newNamespace(t)
	installReports(t)
	applyForTest(t, auditConfigMaps)
	names := []string{"audit-a", "audit-b", "audit-c"}
	var namespaces []string // of the shards of these replicas
	for _, name := range names {
		namespace := prefix + shardOf(prefix, name, names)
		namespaces = append(namespaces, namespace)
		makeNamespace(t, namespace)
		for _, object := range []string{"a", "b"} {
			mustKubectl(t, configMap(namespace, object), "apply", "-f", "-")
		}
	}
	withoutManager(t)
	r := &replicas{t: t, relay: startRelay(t)}
	for _, name := range names {
		r.start(t, name)
	}
	policy := strings.Replace(teamLabel(prefix+"-*"), "#   match:", "#   enforcement: audit\n#   match:", 1)
	applySource(t, "audit-kill", policy, nil)
	for _, namespace := range namespaces {
		failuresIn(t, namespace, "audit-kill", "2")
	}
	auditedViolations(t, "audit-kill", 6)
	for i, m := range r.all {
		value, _ := metricOf(t, m, "lintel_audit_objects")
		require.NotContains(t, []string{"", "0"}, value, "%s has a share", names[i])
	}

	killed := r.leader(t)
	next := strings.ReplaceAll(policy, "no team", "no owner")
	mustKubectl(t, installation.PolicySource("audit-kill", map[string]string{"policy.rego": next}, nil), "apply", "--server-side", "-f", "-")
	r.kill(t, killed)
	mustKubectl(t, "", "delete", "configmap", "a", "-n", namespaces[killed])
	mustKubectl(t, configMap(namespaces[killed], "c"), "apply", "-f", "-")
	mustKubectl(t, configMap(namespaces[killed], "d"), "apply", "-f", "-")
	started := time.Now()
	r.leader(t)
	for i, namespace := range namespaces {
		want := "a b"
		if i == killed {
			want = "b c d"
		}
		eventually(t, func() bool {
			found, _ := get(t, "reports.openreports.io", "-n", namespace, "-o", `jsonpath={range .items[*].results[?(@.message=="no owner")]}{.resources[0].name} {end}`)
			reported := strings.Fields(found)
			slices.Sort(reported)
			return strings.Join(reported, " ") == want
		}, "the results of "+namespace+" to be of "+want)
		failuresIn(t, namespace, "audit-kill", strconv.Itoa(len(strings.Fields(want))))
		found, _ := get(t, "reports.openreports.io", "-n", namespace, "-o", "jsonpath={range .items[*]}{.metadata.name} {end}")
		require.Equal(t, "lintel-audit-kill", strings.TrimSpace(found))
	}
	auditedViolations(t, "audit-kill", 7)
	t.Logf("the shard of the killed replica was reported after %s", time.Since(started))
}

// shardOf returns a suffix that makes a prefix a namespace of the shard of a replica.
func shardOf(prefix, replica string, names []string) string {
	for i := 0; ; i++ {
		suffix := "-" + strconv.Itoa(i)
		if audit.NewShards(replica, names).Owns(prefix + suffix) {
			return suffix
		}
	}
}

// auditedViolations waits until all objects of a source are evaluated, with a number of violations.
func auditedViolations(t *testing.T, source string, want int64) {
	t.Helper()
	waitFor(t, "", "policysource/"+source, fmt.Sprintf("Audited to be True with %d violations", want), func(source *v1alpha1.PolicySource) bool {
		return says(source.Status.Conditions, v1alpha1.ConditionAudited) == "True Audited" && source.Status.Audit.Violations == want
	})
}
