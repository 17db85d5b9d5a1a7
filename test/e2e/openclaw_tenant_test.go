package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// tighten has the enterprise's bundle deny some input, and waits until the gateway's
// Deployment has policies that do.
func tighten(t *testing.T, namespace, word string) {
	t.Helper()
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true\ndeny if input."+word))
	eventually(t, func() bool {
		volume := mustGet(t, "-n", namespace, "deployment/a-gateway", "-o", "jsonpath={.spec.template.spec.volumes[0].configMap.name}")
		text, found := get(t, "-n", namespace, "configmap/"+volume, "-o", "json")
		if !found {
			return false
		}
		stored := &corev1.ConfigMap{}
		require.NoError(t, json.Unmarshal([]byte(text), stored))
		return len(stored.BinaryData) > 0 && strings.Contains(unpack(t, stored)["lintel/policies/models/enterprise/enterprise/p0.rego"], "input."+word)
	}, "the tightening to arrive: "+word)
}

// TestOpenClawTighteningHasRoom: bundles that use all capacity leave some to broader scopes,
// and the status reports the ones that are not in force.
func TestOpenClawTighteningHasRoom(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	for i, name := range []string{"one", "two", "three"} {
		text := fmt.Sprintf("allow := true\npadding_%s := %q", name, strings.Repeat("x", (400+i)<<10))
		mustKubectl(t, asJSON(map[string]any{
			"apiVersion": "openclaw.enterprise.io/v1", "kind": "PolicyBundle", "metadata": map[string]any{"name": name, "namespace": namespace},
			"spec": map[string]any{"policies": []any{map[string]any{"name": "p", "scope": "team", "domain": "models",
				"content": "package openclaw.enterprise.models\nimport rego.v1\n" + text + "\n"}}},
		}), "create", "-f", "-")
	}
	applyInstance(t, namespace, "a", nil, nil)
	says := awaitCondition(t, namespace, "oci/a", v1.ConditionDegraded, "True TooLarge").Message
	require.Contains(t, says, "not in force here: team policies of PolicyBundle three (1)")
	tighten(t, namespace, "tightened")
	waitSynced(t, namespace, "enterprise")
	waitSynced(t, namespace, "two")
	says = awaitCondition(t, namespace, "pb/three", v1.ConditionPolicySynced, "False NotInForce").Message
	require.Contains(t, says, "at OpenClawInstance "+namespace+"/a: TooLarge: \"1 policies of scope team are left out")
	require.Zero(t, read[v1.PolicyBundle](t, namespace, "pb/three").Status.Applied)
	instance := read[v1.OpenClawInstance](t, namespace, "oci/a")
	require.NotEqual(t, v1.PhaseRunning, instance.Status.Phase)
	require.True(t, meta.IsStatusConditionFalse(instance.Status.Conditions, v1.ConditionReady))

	mustKubectl(t, "", "delete", "-n", namespace, "pb/one")
	waitSynced(t, namespace, "three")
	waitRunning(t, namespace, "a")
}

// TestOpenClawTenantFreezesNoGateway: what a tenant breaks of its own keeps no policy
// away.
func TestOpenClawTenantFreezesNoGateway(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	applyInstance(t, namespace, "a", nil, nil)
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "enterprise")

	mustKubectl(t, "", "delete", "-n", namespace, "secret/a-redis")
	awaitCondition(t, namespace, "oci/a", v1.ConditionDegraded, "True SecretNotFound")
	tighten(t, namespace, "secret")
	waitSynced(t, namespace, "enterprise")
	awaitCondition(t, namespace, "oci/a", v1.ConditionReady, "False SecretNotFound")
	// What else is broken meanwhile is mended.
	tamper(t, "", "patch", "-n", namespace, "deployment/a-gateway", "--type=merge", "-p", `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`)
	eventually(t, func() bool {
		return !read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Template.Spec.HostNetwork
	}, "hostNetwork to go")
	mustKubectl(t, secret(namespace, "a-redis", "connection-string", "x"), "apply", "-f", "-")
	waitSynced(t, namespace, "enterprise")
	waitRunning(t, namespace, "a")

	for i, broken := range [][]string{
		{"delete", "configmap/" + policiesOf(t, namespace, "a").Name},
		{"rollout", "pause", "deployment/a-gateway"},
		{"patch", "service/a-gateway", "--type=json", "-p", `[{"op":"replace","path":"/spec/ports/0/port","value":81}]`},
		{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"immutable":true,"data":{"integrations.json":null}}`},
	} {
		tamper(t, "", append([]string{"-n", namespace}, broken...)...)
		tighten(t, namespace, fmt.Sprint("broken", i))
		waitSynced(t, namespace, "enterprise")
		waitRunning(t, namespace, "a")
	}
}

// TestOpenClawObjectsComeBackWhole: fields that others add to an instance's objects are
// removed, and fields that they remove are restored.
func TestOpenClawObjectsComeBackWhole(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	applyInstance(t, namespace, "a", nil, map[string]any{"deploymentMode": "ha", "replicas": 2})
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "enterprise")
	const template = `{"spec":{"template":{"spec":%s}}}`
	container := func(name, more string) string {
		return fmt.Sprintf(template, fmt.Sprintf(`{"containers":[{"name":%q,%s}]}`, name, more))
	}
	policies := policiesOf(t, namespace, "a").Name
	output, ok := kubectl(t, "", "patch", "-n", namespace, "configmap/"+policies, "--type=merge", "-p", `{"binaryData":{"bundle.tar.gz":"AAAA"}}`)
	require.False(t, ok, output)
	for _, c := range []struct{ object, patch string }{
		{"configmap/" + policies, `{"metadata":{"ownerReferences":null}}`},
		{"configmap/" + policies, `{"metadata":{"labels":null,"ownerReferences":null}}`},
		{"configmap/a-gateway-config", `{"data":{"other":"x"}}`},
		{"configmap/enterprise-opa-policies", `{"data":{"enterprise-models-evil.rego":"package x"}}`},
		{"configmap/enterprise-opa-policies", `{"metadata":{"ownerReferences":null}}`},
		{"service/a-gateway", `{"spec":{"ports":[{"name":"http","port":81,"targetPort":"http"}]}}`},
		{"service/a-gateway", `{"spec":{"ports":[{"name":"other","port":8181,"targetPort":8181},{"name":"http","port":80,"targetPort":"http"}]}}`},
		{"service/a-gateway", `{"spec":{"type":"NodePort"}}`},
		{"service/a-gateway", `{"spec":{"selector":{"another":"one"},"publishNotReadyAddresses":true}}`},
		{"service/a-gateway", `{"metadata":{"ownerReferences":null}}`},
		{"poddisruptionbudget/a-gateway", `{"spec":{"selector":{"matchLabels":{"another":"one"}}}}`},
		{"poddisruptionbudget/a-gateway", `{"spec":{"maxUnavailable":"100%"}}`},
		{"deployment/a-gateway", `{"metadata":{"ownerReferences":null}}`},
		{"deployment/a-gateway", `{"metadata":{"labels":null,"ownerReferences":null,"managedFields":[{}]}}`},
		{"deployment/a-gateway", `{"spec":{"paused":true}}`},
		{"deployment/a-gateway", `{"spec":{"replicas":0}}`},
		{"deployment/a-gateway", `{"spec":{"minReadySeconds":9999,"progressDeadlineSeconds":99999,"revisionHistoryLimit":0}}`},
		{"deployment/a-gateway", `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`},
		{"deployment/a-gateway", fmt.Sprintf(template, `{"hostNetwork":true}`)},
		{"deployment/a-gateway", fmt.Sprintf(template, `{"initContainers":[{"name":"evil","image":"evil"}]}`)},
		{"deployment/a-gateway", fmt.Sprintf(template, `{"volumes":[{"name":"opa-policies","configMap":{"items":[{"key":"lintel.meet.rego","path":"x.rego"}]}}]}`)},
		{"deployment/a-gateway", container("opa-sidecar", `"command":["sleep","infinity"]`)},
		{"deployment/a-gateway", container("opa-sidecar", `"env":[{"name":"EVIL","value":"x"}]`)},
		{"deployment/a-gateway", container("gateway", `"env":[{"name":"OPA_URL","value":"http://evil.example.com"}]`)},
	} {
		kind := strings.Split(c.object, "/")[0]
		before := whole(t, namespace, c.object)
		strategy := "--type=strategic"
		if strings.Contains(c.patch, "null") || kind != "deployment" {
			strategy = "--type=merge"
		}
		tamper(t, "", "patch", "-n", namespace, c.object, strategy, "-p", c.patch)
		eventually(t, func() bool { return before == whole(t, namespace, c.object) }, c.object+" to come back after "+c.patch)
	}
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "enterprise")

	// A finalizer keeps none of them from being replaced.
	tamper(t, "", "patch", "-n", namespace, "deployment/a-gateway", "--type=merge", "-p", `{"metadata":{"finalizers":["tenant.example.com/stay"]}}`)
	tamper(t, "", "delete", "-n", namespace, "deployment/a-gateway", "--wait=false")
	tighten(t, namespace, "finalizer")
	waitSynced(t, namespace, "enterprise")
	require.Empty(t, read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Finalizers)
}

// whole is what an object says, and to whom it belongs.
func whole(t *testing.T, namespace, object string) string {
	t.Helper()
	output, found := get(t, "-n", namespace, object, "-o", "json")
	if !found {
		return ""
	}
	text := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(output), &text))
	metadata := text["metadata"].(map[string]any)
	text["metadata"] = []any{metadata["labels"], metadata["ownerReferences"], metadata["finalizers"]}
	delete(text, "status")
	if spec, ok := text["spec"].(map[string]any); ok {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	return asJSON(text)
}

// TestOpenClawLastGoodPoliciesAreNobodysToEdit: a bundle that now expands stays in force in its
// last valid form, independent of other writes.
func TestOpenClawLastGoodPoliciesAreNobodysToEdit(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	mustKubectl(t, scoped(namespace, "enterprise", "enterprise", modelsOfEnterprise), "apply", "-f", "-")
	mustKubectl(t, scoped(namespace, "team", "team", modelsNarrowed), "apply", "-f", "-")
	applyInstance(t, namespace, "a", nil, nil)
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "team")
	mustKubectl(t, scoped(namespace, "enterprise", "enterprise", "package openclaw.enterprise.models\n\nimport rego.v1\n\nallow if input.model.provider == \"none\"\n"), "apply", "-f", "-")
	awaitCondition(t, namespace, "pb/team", v1.ConditionPolicyReady, "False ExpandsParent")
	waitSynced(t, namespace, "enterprise")

	const key = "team-models-models.rego"
	edited := asJSON(map[string]any{"data": map[string]string{key: "package openclaw.enterprise.models\nimport rego.v1\nallow := true\n"}})
	tamper(t, "", "patch", "-n", namespace, "configmap/team-opa-policies", "--type=merge", "-p", edited)
	eventually(t, func() bool {
		return read[corev1.ConfigMap](t, namespace, "configmap/team-opa-policies").Data[key] == modelsNarrowed
	}, "the edit to be taken back")
	tamper(t, "", "delete", "-n", namespace, "configmap/team-opa-policies")
	eventually(t, func() bool {
		output, found := get(t, "-n", namespace, "configmap/team-opa-policies", "-o", "jsonpath={.data}")
		return found && strings.Contains(output, "public")
	}, "the ConfigMap to come back")
	require.Contains(t, unpack(t, policiesOf(t, namespace, "a"))["lintel/policies/models/team/team/models.rego"], `"public"`)

	// The records are deleted with their subjects.
	records := func() string {
		return mustGet(t, "configmaps", "-A", "-l", "app.kubernetes.io/component=record",
			"-o", `jsonpath={range .items[*]}{.metadata.namespace} {.metadata.annotations.openclaw\.enterprise\.io/kind} {.metadata.annotations.openclaw\.enterprise\.io/namespace}{"\n"}{end}`)
	}
	require.Contains(t, records(), "lintel-system PolicyBundle "+namespace+"\n")
	require.Contains(t, records(), "lintel-system OpenClawInstance "+namespace+"\n")
	mustKubectl(t, "", "delete", "-n", namespace, "oci/a", "pb/team", "pb/enterprise")
	eventually(t, func() bool { return !strings.Contains(records(), " "+namespace+"\n") }, "the records to go")
}

// TestOpenClawEnterprisePoliciesOfAnybodyWarn: without a namespace that is set aside for
// them, anybody's policies may bind all.
func TestOpenClawEnterprisePoliciesOfAnybodyWarn(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	output, ok := apply(t, scoped(namespace, "enterprise", "enterprise", modelsOfEnterprise))
	require.True(t, ok, output)
	require.Contains(t, output, "Warning: anyone who may write PolicyBundles in this namespace may write or remove enterprise policies (models)")
	log, err := os.ReadFile(manager.Log)
	require.NoError(t, err)
	require.Contains(t, string(log), "anyone who may write PolicyBundles may write enterprise policies")
}
