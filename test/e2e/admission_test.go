package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/test/installation"
)

const (
	podKind       = `{group: "", kind: Pod}`
	configMapKind = `{group: "", kind: ConfigMap}`
)

// TestSamples applies the sample manifests: what kubectl prints is what the samples
// promise, and what `lintel check` says offline.
func TestSamples(t *testing.T) {
	namespace := newNamespace(t)
	folder := filepath.Join(installation.Root(), "config/samples/policies")
	files, err := installation.ReadFolder(folder)
	require.NoError(t, err)
	mustKubectl(t, "", "apply", "-f", "config/samples/rbac")
	t.Cleanup(func() {
		removeSource(context.Background(), "samples")
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "-f", "config/samples/rbac")
	})
	serveSource(t, "samples", files, nil)
	suffix := ", samples@" + definition.ShortRevision(definition.Source{Files: files}.Digest()) + "]"

	manifests := filepath.Join(installation.Root(), "config/samples/manifests")
	for sample, c := range map[string]struct {
		ok        bool
		contains  string
		namespace string // that match names; else any
	}{
		"privileged":              {false, `container "web" of Pod "privileged-bad" is privileged`, ""},
		"required_labels":         {false, `Pod "required-labels-bad" has no label "team"`, ""},
		"allowed_registries":      {false, "is not from an allowed registry", ""},
		"default_requests":        {true, "created", ""},
		"latest_tag":              {true, "Warning: ", ""},
		"host_paths":              {false, `is the host path "/etc/ssl/certs-of-others"`, ""},
		"service_types":           {false, `Service "service-types-bad" is of type NodePort`, ""},
		"pod_security_baseline":   {false, "remove spec.hostPID", "baseline-samples"},
		"pod_security_restricted": {false, "set securityContext.allowPrivilegeEscalation to false", "restricted-samples"},
	} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			namespace := namespace
			if c.namespace != "" {
				namespace = c.namespace
				makeNamespace(t, namespace)
			}
			bad := filepath.Join(manifests, sample, "bad.yaml")
			output, ok := kubectl(t, "", "apply", "-n", namespace, "-f", bad)
			require.Equal(t, c.ok, ok, output)
			require.Contains(t, output, c.contains)
			if !c.ok {
				require.Contains(t, output, `admission webhook "fail.policies.lintel.dev" denied the request: `)
				require.Contains(t, output, "[samples."+sample+" deny, "+sample+"/"+sample+".rego:")
				require.Contains(t, output, suffix)
			}
			for _, message := range offlineMessages(t, folder, bad, namespace) {
				require.Contains(t, output, message, "kubectl prints, to the byte, what lintel check says")
			}
			output, ok = kubectl(t, "", "apply", "-n", namespace, "-f", filepath.Join(manifests, sample, "good.yaml"))
			require.True(t, ok, output)
			require.NotContains(t, output, "Warning")
			if sample == "default_requests" {
				requests := mustGet(t, "pod", "default-requests-bad", "-n", namespace, "-o", "jsonpath={.spec.containers[0].resources.requests}")
				require.JSONEq(t, `{"cpu":"100m","memory":"128Mi"}`, requests)
			}
		})
	}
}

// offlineMessages are all denials and warnings of lintel check for a manifest, with
// the policies as the PolicySource in the cluster.
func offlineMessages(t *testing.T, folder, manifest, namespace string) []string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source.yaml")
	mustWrite(t, source, mustKubectl(t, "", "get", "policysource", "samples", "-o", "yaml"))
	command := exec.Command(filepath.Join(programs, "lintel"), "check", "-p", source, "-f", manifest, "--namespace", namespace, "-o", "json")
	output, err := command.Output()
	require.NotEqual(t, 2, command.ProcessState.ExitCode(), "%v", err)
	var report struct {
		Results []struct {
			Deny, Warn []struct{ Msg string }
		}
	}
	require.NoError(t, json.Unmarshal(output, &report))
	var messages []string
	for _, result := range report.Results {
		for _, finding := range append(result.Deny, result.Warn...) {
			messages = append(messages, finding.Msg)
		}
	}
	return messages
}

func TestMutationIsDryRunSafeAndAnswersUpdatesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	applySource(t, "mutate", inNamespace(namespace, configMapKind, "package mutate\ndefaults.data.added := \"yes\"\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/e2e~1label\", \"value\": \"x\"} if not input.request.object.metadata.labels[\"e2e/label\"]"), nil)

	output := mustKubectl(t, configMap(namespace, "c"), "apply", "--dry-run=server", "-o", "json", "-f", "-")
	require.Contains(t, output, `"added": "yes"`)
	require.Contains(t, output, `"e2e/label": "x"`)
	_, exists := get(t, "configmap", "c", "-n", namespace)
	require.False(t, exists, "a dry run stores nothing")

	output, ok := apply(t, configMap(namespace, "c"))
	require.True(t, ok, output)
	mustKubectl(t, "", "patch", "configmap", "c", "-n", namespace, "--type=json", "-p", `[{"op":"remove","path":"/data"}]`)
	require.NotContains(t, mustGet(t, "configmap", "c", "-n", namespace, "-o", "json"), "added",
		"an UPDATE is not mutated unless match names it")
}

func TestPolicyErrorsFollowTheFailurePolicy(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	rego := inNamespace(namespace, configMapKind, "package broken\ndeny contains to_number(input.name)")
	for policy, want := range map[string]struct {
		ok       bool
		contains string
	}{
		"Fail":   {false, `"fail.policies.lintel.dev" denied the request: policy broken cannot be evaluated: to_number`},
		"Ignore": {true, "Warning: policy broken cannot be evaluated: to_number"},
	} {
		t.Run(policy, func(t *testing.T) {
			applySource(t, "broken-"+strings.ToLower(policy), rego, map[string]any{"failurePolicy": policy})
			eventually(t, func() bool {
				output, ok := kubectl(t, configMap(namespace, "c"), "apply", "--dry-run=server", "-f", "-")
				return ok == want.ok && strings.Contains(output, want.contains) && strings.Contains(output, "[broken deny, policy.rego:7, broken-"+strings.ToLower(policy)+"@")
			}, want.contains)
			removeSource(t.Context(), "broken-"+strings.ToLower(policy))
			eventually(t, func() bool {
				output, ok := kubectl(t, configMap(namespace, "c"), "apply", "--dry-run=server", "-f", "-")
				return ok && !strings.Contains(output, "Warning")
			}, "the policy to go with its source")
		})
	}
}

func TestAPatchThatNeverSettlesIsRefused(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	applySource(t, "restless", inNamespace(namespace, podKind, `package restless
patch contains {"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists", "key": sprintf("k%d", [count(input.request.object.spec.tolerations)])}}`), nil)
	output, ok := apply(t, pod(namespace, "p", `{"containers":[{"name":"c","image":"x"}],"tolerations":[]}`))
	require.False(t, ok)
	require.Contains(t, output, "policy restless cannot mutate the object: it never settles")
}
