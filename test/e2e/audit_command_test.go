package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
)

// auditReport is what these tests read of `lintel audit -o json`.
type auditReport struct {
	Summary struct{ Objects, Violations int }
	Results []struct {
		Object struct{ Kind, Namespace, Name string }
		Result struct{ Source, Policy, Message string }
	}
	NotAudited []struct{ Resource, Reason string }
}

// in counts the violations of a source in a namespace.
func (r auditReport) in(namespace, source string) (count int) {
	for _, one := range r.Results {
		if one.Object.Namespace == namespace && one.Result.Source == source {
			count++
		}
	}
	return count
}

// auditCommand runs the command with a kubeconfig. It returns the report as text, too.
func auditCommand(t *testing.T, kubeconfig string, args ...string) (r auditReport, text string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), append([]string{"audit", "--kubeconfig", kubeconfig, "-o", "json"}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err, stderr.String())
	}
	require.NotContains(t, stderr.String(), "\r", "no progress without a terminal")
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &r), stdout.String()+stderr.String())
	return r, stdout.String(), command.ProcessState.ExitCode()
}

// createConfigMaps creates ConfigMaps that are named after their number.
func createConfigMaps(t *testing.T, namespace string, count int) {
	t.Helper()
	client := api.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)
	var group errgroup.Group
	group.SetLimit(8)
	for i := range count {
		group.Go(func() error {
			_, err := client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("map-%d", i)},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	require.NoError(t, group.Wait())
}

// TestAuditCommandOfACluster audits more objects than two pages have, with policies that are not
// in the cluster and with those that it enforces.
func TestAuditCommandOfACluster(t *testing.T) {
	t.Parallel()
	const count = 1100
	namespace := newNamespace(t)
	createConfigMaps(t, namespace, count)
	rego := inNamespace(namespace, configMapKind, "#   enforcement: audit\npackage audited\nimport rego.v1\ndeny contains \"ends with 7\" if endswith(input.name, \"7\")")
	policies := filepath.Join(t.TempDir(), "audited.rego")
	mustWrite(t, policies, rego)

	before, text, code := auditCommand(t, cluster.Kubeconfig, "-p", policies)
	require.Equal(t, 1, code)
	require.GreaterOrEqual(t, before.Summary.Objects, count)
	require.Equal(t, count/10, before.in(namespace, "audited"))
	require.Empty(t, before.NotAudited)
	baseline := filepath.Join(t.TempDir(), "baseline.json")
	mustWrite(t, baseline, text)

	mustKubectl(t, "", "-n", namespace, "delete", "configmap", "map-7")
	after, text, code := auditCommand(t, cluster.Kubeconfig, "-p", policies, "--baseline", baseline)
	require.Equal(t, 0, code, "no violation is new")
	require.Equal(t, count/10-1, after.in(namespace, "audited"))
	second := filepath.Join(t.TempDir(), "second.json")
	mustWrite(t, second, text)
	output, err := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), "audit", "diff", baseline, second).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Contains(t, string(output), fmt.Sprintf("audited: ConfigMap %s/map-7: ends with 7", namespace))
	require.Contains(t, string(output), fmt.Sprintf("0 new, 1 fixed, %d unchanged", count/10-1))

	applySource(t, "audit-command", strings.Replace(rego, "package audited", "package audit_command", 1), nil)
	live, _, code := auditCommand(t, cluster.Kubeconfig)
	require.Equal(t, 1, code)
	require.Equal(t, count/10-1, live.in(namespace, "audit-command"), "violations that are older than their policy")
}

// TestAuditCommandWithoutPermission: a kind that the user may not list is reported, and the others
// are audited.
func TestAuditCommandWithoutPermission(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, configMap(namespace, "one"), "apply", "-f", "-")
	applyForTest(t, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"audit-command"},"rules":[{"apiGroups":[""],"resources":["configmaps","namespaces"],"verbs":["list"]}]}
---
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"audit-command"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"audit-command"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"audit-command"}]}
`)
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	require.NoError(t, err)
	for _, user := range config.AuthInfos {
		user.Impersonate = "audit-command"
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	policies := filepath.Join(t.TempDir(), "audited.rego")
	kinds := configMapKind + `, {group: "", kind: Secret}`
	mustWrite(t, policies, inNamespace(namespace, kinds, "package audited\nimport rego.v1\nwarn contains \"seen\" if input.name == \"one\""))

	var r auditReport
	eventually(t, func() bool { // until the API server knows the role
		var code int
		r, _, code = auditCommand(t, kubeconfig, "-p", policies)
		require.Equal(t, 2, code)
		return len(r.NotAudited) == 1
	}, "the ConfigMaps to be listed")
	require.Equal(t, "secrets", r.NotAudited[0].Resource)
	require.Contains(t, r.NotAudited[0].Reason, "forbidden")
	require.Equal(t, 1, r.in(namespace, "audited"))
}
