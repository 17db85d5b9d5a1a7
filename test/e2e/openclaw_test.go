package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/test/installation"
)

const operator = "system:serviceaccount:openclaw-system:openclaw-operator"

// policyDeadline is how long the gateways of the tests may answer by former policies.
const policyDeadline = 30 * time.Second

func openClawArgs() []string {
	return []string{"--openclaw-policy-deadline=" + policyDeadline.String()}
}

// startOpenClaw gives the manager of the tests OpenClaw's permissions and no others.
func startOpenClaw(ctx context.Context, _ string) (func() error, error) {
	for _, args := range [][]string{
		{"apply", "-f", "config/openclaw/namespace.yaml"},
		{"apply", "-k", "config/rbac/openclaw"},
		{"create", "clusterrolebinding", "lintel-openclaw", "--clusterrole=openclaw-operator-manager-role",
			"--serviceaccount=" + installation.Namespace + ":lintel-manager"},
	} {
		if output, err := cluster.Kubectl(ctx, "", args...); err != nil {
			return nil, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output)
		}
	}
	return nil, nil
}

func TestOpenClawSamplesRun(t *testing.T) {
	const namespace = "openclaw-enterprise"
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "--ignore-not-found", "-f", "config/samples/openclaw")
	})
	eventually(t, func() bool { // what other tests leave is deleted, which are writes
		return !strings.Contains(mustGet(t, "namespaces", "-o", "jsonpath={.items[*].status.phase}"), "Terminating") &&
			mustGet(t, "configmaps", "-n", installation.Namespace, "-l", "lintel.dev/source", "-o", "name") == ""
	}, "the namespaces and artifacts of other tests to go")
	writes := countWrites(t)
	mustKubectl(t, "", "apply", "-f", "config/samples/openclaw/namespace.yaml")
	mustKubectl(t, "", "apply", "-f", "config/samples/openclaw")
	waitRunning(t, namespace, "production")
	waitSynced(t, namespace, "enterprise-defaults")
	require.Regexp(t, `(?m)^enterprise-defaults +5 +5 `, mustKubectl(t, "", "get", "pb", "-n", namespace))
	require.Regexp(t, `(?m)^production +ha +3 +3 +Running `, mustKubectl(t, "", "get", "oci", "-n", namespace))

	instance := read[v1.OpenClawInstance](t, namespace, "oci/production")
	require.Equal(t, "True Reconciled", says(instance.Status.Conditions, v1.ConditionReady))
	require.Equal(t, "False RolledOut", says(instance.Status.Conditions, v1.ConditionProgressing))
	require.Equal(t, "False AsExpected", says(instance.Status.Conditions, v1.ConditionDegraded))
	require.Equal(t, []string{"openclaw.enterprise.io/finalizer"}, instance.Finalizers)
	require.Equal(t, 1, read[policyv1.PodDisruptionBudget](t, namespace, "pdb/production-gateway").Spec.MaxUnavailable.IntValue())
	stored := read[corev1.ConfigMap](t, namespace, "configmap/enterprise-defaults-opa-policies")
	require.Contains(t, stored.Data, "enterprise-models-model-routing-default.rego")
	composed := policiesOf(t, namespace, "production")
	require.True(t, *composed.Immutable)
	require.Contains(t, unpack(t, composed)["lintel/answers/models.rego"], "package openclaw.enterprise.models")
	config := read[corev1.ConfigMap](t, namespace, "configmap/production-gateway-config")
	require.Contains(t, config.Data["integrations.json"], "https://company.atlassian.net")
	for _, object := range []metav1.Object{stored, composed, config} {
		require.NotNil(t, metav1.GetControllerOf(object), object.GetName())
	}

	// The counter has seen all these writes, so writes that are not counted did not happen.
	// Without an event, the manager only renews its Lease, every 2 s.
	require.NotEqual(t, writes, countWrites(t))
	atRest(t, 10*time.Second, func() string { return strings.Join(countWrites(t), "") })
}

// TestOpenClawTutorial runs docs/openclaw/tutorial.md on the cluster that `make run` leaves:
// with the policies of the samples in force.
func TestOpenClawTutorial(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(installation.Root(), "docs", "openclaw", "tutorial.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```(sh|yaml|console)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, blocks)

	t.Cleanup(func() {
		ctx := context.Background()
		removeSource(ctx, "samples")
		_, _ = cluster.Kubectl(ctx, "", "delete", "--ignore-not-found", "-f", "config/samples/openclaw", "-f", "config/samples/rbac")
	})
	// As the quickstart does.
	mustKubectl(t, "", "apply", "-f", "config/samples/rbac")
	source, err := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"),
		"source", filepath.Join(installation.Root(), "config", "samples", "policies"), "--name", "samples").Output()
	require.NoError(t, err)
	mustKubectl(t, string(source), "apply", "--server-side", "-f", "-")
	waitSource(t, "samples")

	folder := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(installation.Root(), "config"), filepath.Join(folder, "config")))
	run := func(script string) (string, error) {
		shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		shell.Dir = folder
		shell.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "PATH="+filepath.Dir(cluster.Binaries.Kubectl)+":"+os.Getenv("PATH"))
		output, err := shell.CombinedOutput()
		return string(output), err
	}
	denied := false
	for _, block := range blocks {
		switch text := block[2]; block[1] {
		case "yaml":
			require.NoError(t, os.WriteFile(filepath.Join(folder, "team.yaml"), []byte(text), 0o600))
		case "sh":
			output, err := run(text)
			require.NoError(t, err, "%s: %s", text, output)
		case "console":
			command, want, found := strings.Cut(strings.TrimPrefix(text, "$ "), "\n")
			require.True(t, found)
			output, err := run(command)
			require.Error(t, err, command)
			require.Contains(t, output, strings.TrimSpace(want))
			denied = true
		}
	}
	require.True(t, denied, "the tutorial shows a denial")
	waitRunning(t, "openclaw-enterprise", "production")
	waitSynced(t, "openclaw-enterprise", "enterprise-defaults")
}

func TestOpenClawRollsTheGatewaysThatAPolicyBinds(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyInstance(t, namespace, "a", map[string]string{"tenant": "a"}, nil)
	applyInstance(t, namespace, "b", map[string]string{"tenant": "b"}, nil)
	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := true"))
	applyBundle(t, namespace, "for-a", map[string]string{"tenant": "a"}, policy("team", "deny if input.one"))
	for _, name := range []string{"all", "for-a"} {
		waitSynced(t, namespace, name)
	}
	waitRunning(t, namespace, "a")
	waitRunning(t, namespace, "b")
	composed := func(instance string) string { return fmt.Sprint(unpack(t, policiesOf(t, namespace, instance))) }
	require.Contains(t, composed("a"), "input.one")
	require.NotContains(t, composed("b"), "input.one")
	revisions := func() (counts [2]int64) {
		for i, name := range []string{"a", "b"} { // the Deployment controller counts templates
			text := read[appsv1.Deployment](t, namespace, "deployment/"+name+"-gateway").Annotations["deployment.kubernetes.io/revision"]
			count, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			counts[i] = count
		}
		return counts
	}
	rolled := func(a, b int64, before [2]int64, why string) [2]int64 {
		t.Helper()
		eventually(t, func() bool { return revisions() == [2]int64{before[0] + a, before[1] + b} }, why)
		for _, name := range []string{"a", "b"} {
			mustKubectl(t, "", "rollout", "status", "-n", namespace, "deployment/"+name+"-gateway", "--timeout=60s")
			waitRunning(t, namespace, name)
		}
		waitSynced(t, namespace, "all")
		require.Equal(t, [2]int64{before[0] + a, before[1] + b}, revisions(), why)
		return revisions()
	}
	before := revisions()
	loaded := read[v1.PolicyBundle](t, namespace, "pb/all").Status.LastReloadTime
	applyBundle(t, namespace, "for-a", map[string]string{"tenant": "a"}, policy("team", "deny if input.two"))
	waitSynced(t, namespace, "for-a")
	before = rolled(1, 0, before, "an edit rolls the gateways that it binds, once")
	require.Contains(t, composed("a"), "input.two")
	require.Equal(t, loaded, read[v1.PolicyBundle](t, namespace, "pb/all").Status.LastReloadTime, "its policies are what they were")

	mustKubectl(t, secret(namespace, "b-redis", "connection-string", "rotated"), "apply", "-f", "-")
	before = rolled(0, 1, before, "a Secret rolls the gateways that read it")

	mustKubectl(t, "", "label", "-n", namespace, "oci/b", "tenant=a", "--overwrite")
	before = rolled(0, 1, before, "a label brings an instance under a policy")
	require.Contains(t, composed("b"), "input.two")

	mustKubectl(t, "", "delete", "-n", namespace, "pb/for-a")
	rolled(1, 1, before, "policies go with their bundle")
	require.NotContains(t, composed("a"), "input.two")
	require.Contains(t, composed("a"), "lintel/policies/models/enterprise/all/p0.rego")
}

func TestOpenClawHealsWhenASecretAppears(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	mustKubectl(t, instance(namespace, "a", nil, nil), "apply", "-f", "-")
	degraded := func(reason, words string) {
		t.Helper()
		var last v1.OpenClawInstanceStatus
		eventually(t, func() bool {
			last = read[v1.OpenClawInstance](t, namespace, "oci/a").Status
			condition := meta.FindStatusCondition(last.Conditions, v1.ConditionDegraded)
			return condition != nil && condition.Status == metav1.ConditionTrue && condition.Reason == reason && strings.Contains(condition.Message, words)
		}, reason+" "+words)
		require.Equal(t, v1.PhasePending, last.Phase)
		require.Equal(t, "False "+reason, says(last.Conditions, v1.ConditionReady))
		require.NotContains(t, mustGet(t, "deployments", "-n", namespace, "-o", "name"), "a-gateway")
	}
	degraded("SecretNotFound", "Secret a-sso does not exist")
	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := true"))
	eventually(t, func() bool {
		return says(read[v1.PolicyBundle](t, namespace, "pb/all").Status.Conditions, v1.ConditionPolicySynced) == "True NoGateways"
	}, "the bundle not to wait for an instance that has no gateways")
	mustKubectl(t, secret(namespace, "a-sso", "client-secret", "x"), "apply", "-f", "-")
	mustKubectl(t, secret(namespace, "a-postgres", "connection-string", "x"), "apply", "-f", "-")
	mustKubectl(t, secret(namespace, "a-redis", "wrong", "x"), "apply", "-f", "-")
	degraded("SecretKeyNotFound", "Secret a-redis has no key connection-string")
	mustKubectl(t, secret(namespace, "a-redis", "connection-string", "x"), "apply", "-f", "-")
	waitRunning(t, namespace, "a")
	require.Equal(t, "False AsExpected", says(read[v1.OpenClawInstance](t, namespace, "oci/a").Status.Conditions, v1.ConditionDegraded))
	eventually(t, func() bool {
		events, _ := get(t, "events.events.k8s.io", "-n", namespace, "-o", "jsonpath={range .items[*]}{.regarding.kind} {.type} {.reason}{\"\\n\"}{end}")
		return strings.Contains(events, "OpenClawInstance Warning SecretNotFound")
	}, "an Event that says so")
}

func TestOpenClawLeavesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	foreign := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a-gateway","namespace":%q,"labels":{"app.kubernetes.io/managed-by":%q}},
		"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}`
	mustKubectl(t, fmt.Sprintf(foreign, namespace, "somebody"), "apply", "-f", "-")
	mustKubectl(t, configMap(namespace, "all-opa-policies"), "apply", "-f", "-")
	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := true"))
	applyInstance(t, namespace, "a", nil, nil)
	refused := func() {
		t.Helper()
		eventually(t, func() bool {
			return says(read[v1.OpenClawInstance](t, namespace, "oci/a").Status.Conditions, v1.ConditionDegraded) == "True NotOwned" &&
				says(read[v1.PolicyBundle](t, namespace, "pb/all").Status.Conditions, v1.ConditionPolicySynced) == "False NotOwned"
		}, "both to be refused")
		deployment := read[appsv1.Deployment](t, namespace, "deployment/a-gateway")
		require.EqualValues(t, 1, deployment.Generation)
		require.Empty(t, deployment.OwnerReferences)
		require.Empty(t, read[corev1.ConfigMap](t, namespace, "configmap/all-opa-policies").Data)
	}
	refused()
	// Our own label does not make it ours.
	tamper(t, "", "label", "-n", namespace, "--overwrite", "deployment/a-gateway", "configmap/all-opa-policies", "app.kubernetes.io/managed-by=openclaw-operator")
	mustKubectl(t, "", "label", "-n", namespace, "oci/a", "look=again")
	refused()

	mustKubectl(t, "", "delete", "-n", namespace, "deployment/a-gateway", "configmap/all-opa-policies")
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "all")
}

func TestOpenClawModesAndImages(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyInstance(t, namespace, "a", nil, map[string]any{"deploymentMode": "ha", "replicas": 2})
	waitRunning(t, namespace, "a")
	mustGet(t, "-n", namespace, "pdb/a-gateway")
	require.NotEmpty(t, read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Template.Spec.TopologySpreadConstraints)

	applyInstance(t, namespace, "a", nil, map[string]any{"deploymentMode": "single", "replicas": 2})
	eventually(t, func() bool {
		_, found := get(t, "-n", namespace, "pdb/a-gateway")
		return !found
	}, "no budget for one gateway")
	waitRunning(t, namespace, "a")
	deployment := read[appsv1.Deployment](t, namespace, "deployment/a-gateway")
	require.EqualValues(t, 1, *deployment.Spec.Replicas)
	require.Empty(t, deployment.Spec.Template.Spec.TopologySpreadConstraints)

	// Changes of our fields by others are reverted.
	tamper(t, "", "set", "image", "-n", namespace, "deployment/a-gateway", "opa-sidecar=evil.example.com/opa")
	eventually(t, func() bool {
		return read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Template.Spec.Containers[1].Image == "openpolicyagent/opa:1.4.2-static"
	}, "the image to be as it was")
}

func TestOpenClawGoesWhileItRolls(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := true"))
	applyInstance(t, namespace, "a", nil, map[string]any{"deploymentMode": "ha", "replicas": 4})
	waitRunning(t, namespace, "a")
	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := false"))
	mustKubectl(t, "", "delete", "-n", namespace, "oci/a", "pb/all", "--timeout=30s")
	eventually(t, func() bool {
		left := mustGet(t, "-n", namespace, "deployments,services,pdb,configmaps,pods", "-o", "name")
		return !strings.Contains(left, "gateway") && !strings.Contains(left, "opa-policies")
	}, "everything to go with its owner")
}

// TestOpenClawKeepsWhatWasLastGood brings a broken bundle and a spec that is not
// permitted past admission, as a lost webhook might.
func TestOpenClawKeepsWhatWasLastGood(t *testing.T) {
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := true"), policy("org", "deny if input.one"))
	applyInstance(t, namespace, "a", nil, nil)
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "all")
	before := read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Generation

	manager.Stop()
	mustKubectl(t, "", "delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "lintel")
	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := true"), policy("org", "deny if nope(input)"))
	applyInstance(t, namespace, "a", nil, map[string]any{"images": map[string]any{"opa": "evil.example.com/opa:1.4.2"}})
	var err error
	manager, err = startManager(t.Context())
	require.NoError(t, err)
	var status v1.PolicyBundleStatus
	eventually(t, func() bool {
		status = read[v1.PolicyBundle](t, namespace, "pb/all").Status
		return says(status.Conditions, v1.ConditionPolicyReady) == "False ValidationFailed"
	}, "the status to say what is wrong")
	require.Contains(t, meta.FindStatusCondition(status.Conditions, v1.ConditionPolicyReady).Message, "all/p1:3:9: rego_type_error: undefined function nope")
	require.Equal(t, "False ValidationFailed", says(status.Conditions, v1.ConditionPolicySynced))
	require.EqualValues(t, 1, status.Applied)
	require.EqualValues(t, 2, status.Total)
	require.Contains(t, fmt.Sprint(unpack(t, policiesOf(t, namespace, "a"))), "input.one")
	require.Equal(t, before, read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Generation, "neither a bad edit nor a new manager rolls gateways")

	says := awaitCondition(t, namespace, "oci/a", v1.ConditionDegraded, "True NotAdmitted").Message
	require.Contains(t, says, `"evil.example.com/opa:1.4.2" is from no registry that is permitted here`)

	applyBundle(t, namespace, "all", nil, policy("enterprise", "default allow := true"), policy("org", "deny if input.two"))
	waitSynced(t, namespace, "all")
	require.Contains(t, fmt.Sprint(unpack(t, policiesOf(t, namespace, "a"))), "input.two")
	tamper(t, "", "rollout", "pause", "-n", namespace, "deployment/a-gateway")
	eventually(t, func() bool {
		deployment := read[appsv1.Deployment](t, namespace, "deployment/a-gateway")
		return !deployment.Spec.Paused && deployment.Spec.Template.Spec.Containers[1].Image == "openpolicyagent/opa:1.4.2-static"
	}, "the gateway to stay as it was last good")
	applyInstance(t, namespace, "a", nil, map[string]any{"images": nil})
	waitRunning(t, namespace, "a")
}

func TestOpenClawMayNotWriteSecrets(t *testing.T) {
	t.Parallel()
	may := func(verb, resource string) bool { return isPermitted(t, operator, "default", verb, resource) }
	for _, verb := range []string{"get", "list", "watch"} {
		require.True(t, may(verb, "secrets"), verb)
	}
	for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
		require.False(t, may(verb, "secrets"), verb)
	}
	for _, resource := range []string{"deployments.apps", "services", "configmaps", "poddisruptionbudgets.policy",
		"openclawinstances.openclaw.enterprise.io", "policybundles.openclaw.enterprise.io/status", "leases.coordination.k8s.io"} {
		require.True(t, may("patch", resource), resource)
	}
	for _, resource := range []string{"pods", "replicasets.apps"} {
		require.True(t, may("delete", resource), resource)
		require.False(t, may("patch", resource), resource)
	}
	for _, resource := range []string{"pods", "roles.rbac.authorization.k8s.io", "serviceaccounts", "statefulsets.apps"} {
		require.False(t, may("create", resource), resource)
	}
}

func TestOpenClawOverlay(t *testing.T) {
	t.Parallel()
	text := mustKubectl(t, "", "kustomize", "config/openclaw")
	require.NotContains(t, text, installation.Namespace)
	// Its label is reserved outside of the running manager's own namespace.
	tamper(t, text, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
	found := false
	for document := range strings.SplitSeq(text, "\n---\n") {
		deployment := appsv1.Deployment{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &deployment))
		if deployment.Kind != "Deployment" {
			continue
		}
		found = true
		require.Equal(t, "openclaw-operator-manager", deployment.Name)
		require.Equal(t, "openclaw-system", deployment.Namespace)
		pod := deployment.Spec.Template
		require.Equal(t, "openclaw-operator", pod.Labels["app.kubernetes.io/name"])
		require.Equal(t, "openclaw-operator", pod.Spec.ServiceAccountName)
		container := pod.Spec.Containers[0]
		require.Contains(t, container.Args, "--systems=openclaw")
		require.Equal(t, "100m 128Mi 500m 256Mi", fmt.Sprint(container.Resources.Requests.Cpu(), " ", container.Resources.Requests.Memory(),
			" ", container.Resources.Limits.Cpu(), " ", container.Resources.Limits.Memory()))
		ports := map[string]int32{}
		for _, port := range container.Ports {
			ports[port.Name] = port.ContainerPort
		}
		require.Equal(t, map[string]int32{"metrics": 8080, "health": 8081, "webhook": 9443}, ports)
		require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
		require.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.Spec.SecurityContext.SeccompProfile.Type)
	}
	require.True(t, found)
}

// newRestrictedNamespace makes a namespace that admits only Pods that PodSecurity calls
// restricted.
func newRestrictedNamespace(t *testing.T) string {
	t.Helper()
	namespace := newNamespace(t)
	mustKubectl(t, "", "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	return namespace
}

// instance is an OpenClawInstance whose Secrets are <name>-sso, -postgres and -redis.
func instance(namespace, name string, labels map[string]string, more map[string]any) string {
	reference := func(suffix string) map[string]any { return map[string]any{"name": name + "-" + suffix} }
	spec := map[string]any{
		"auth":    map[string]any{"provider": "okta", "clientId": "id", "clientSecretRef": reference("sso")},
		"storage": map[string]any{"postgresSecretRef": reference("postgres"), "redisSecretRef": reference("redis")},
	}
	for key, value := range more {
		spec[key] = value
	}
	return asJSON(map[string]any{
		"apiVersion": "openclaw.enterprise.io/v1", "kind": "OpenClawInstance",
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": labels}, "spec": spec,
	})
}

func applyInstance(t *testing.T, namespace, name string, labels map[string]string, more map[string]any) {
	t.Helper()
	mustKubectl(t, secret(namespace, name+"-sso", "client-secret", "x"), "apply", "-f", "-")
	mustKubectl(t, secret(namespace, name+"-postgres", "connection-string", "x"), "apply", "-f", "-")
	mustKubectl(t, secret(namespace, name+"-redis", "connection-string", "x"), "apply", "-f", "-")
	mustKubectl(t, instance(namespace, name, labels, more), "apply", "-f", "-")
}

// policy is one of the domain models.
func policy(scope, rule string) map[string]any {
	return map[string]any{"scope": scope, "domain": "models",
		"content": "package openclaw.enterprise.models\nimport rego.v1\n" + rule + "\n"}
}

// applyBundle applies a bundle of policies that are named p0, p1, …
func applyBundle(t *testing.T, namespace, name string, selector map[string]string, policies ...map[string]any) {
	t.Helper()
	for i := range policies {
		policies[i]["name"] = fmt.Sprint("p", i)
	}
	spec := map[string]any{"policies": policies}
	if selector != nil {
		spec["instanceSelector"] = map[string]any{"matchLabels": selector}
	}
	mustKubectl(t, asJSON(map[string]any{
		"apiVersion": "openclaw.enterprise.io/v1", "kind": "PolicyBundle",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": spec,
	}), "apply", "-f", "-")
}

// waitRunning waits until an instance runs as its present spec says.
func waitRunning(t *testing.T, namespace, name string) {
	t.Helper()
	waitFor(t, namespace, "oci/"+name, "the instance to run", func(instance *v1.OpenClawInstance) bool {
		ready := meta.FindStatusCondition(instance.Status.Conditions, v1.ConditionReady)
		return instance.Status.Phase == v1.PhaseRunning && ready != nil && ready.Status == metav1.ConditionTrue &&
			ready.ObservedGeneration == instance.Generation
	})
}

// waitSynced waits until every gateway runs the present policies of a bundle.
func waitSynced(t *testing.T, namespace, name string) {
	t.Helper()
	waitFor(t, namespace, "pb/"+name, "the bundle to be in force", func(bundle *v1.PolicyBundle) bool {
		synced := meta.FindStatusCondition(bundle.Status.Conditions, v1.ConditionPolicySynced)
		return synced != nil && synced.Status == metav1.ConditionTrue && synced.Reason == "PoliciesApplied" &&
			synced.ObservedGeneration == bundle.Generation
	})
}

// policiesOf is the ConfigMap from which the gateways of an instance load their policies.
func policiesOf(t *testing.T, namespace, instance string) *corev1.ConfigMap {
	t.Helper()
	volumes := read[appsv1.Deployment](t, namespace, "deployment/"+instance+"-gateway").Spec.Template.Spec.Volumes
	return read[corev1.ConfigMap](t, namespace, "configmap/"+volumes[0].ConfigMap.Name)
}

// unpack are the files of a bundle in a ConfigMap.
func unpack(t *testing.T, policies *corev1.ConfigMap) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(policies.BinaryData["bundle.tar.gz"]))
	require.NoError(t, err)
	files := map[string]string{}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		files[header.Name] = string(text)
	}
}

var writeRequest = regexp.MustCompile(`^apiserver_request_total\{.*resource="(openclawinstances|policybundles|configmaps|deployments|services|poddisruptionbudgets|secrets|pods)".*verb="(APPLY|PATCH|POST|PUT|DELETE)"`)

// countWrites is how often the API server was asked to write what belongs to OpenClaw.
func countWrites(t *testing.T) (counts []string) {
	t.Helper()
	for line := range strings.Lines(mustKubectl(t, "", "get", "--raw", "/metrics")) {
		if writeRequest.MatchString(line) {
			counts = append(counts, line)
		}
	}
	slices.Sort(counts)
	return counts
}
