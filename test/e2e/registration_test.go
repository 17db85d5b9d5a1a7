package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

// TestRulesFollowThePolicies: what no policy matches is never called out for.
func TestRulesFollowThePolicies(t *testing.T) {
	namespace := newNamespace(t)
	require.NotContains(t, registered(t), "configmaps")

	applySource(t, "on-config-maps", inNamespace(namespace, configMapKind, "package on_config_maps\ndeny contains \"no ConfigMaps here\""), nil)
	require.Contains(t, registered(t), "configmaps", "a source that is Ready is registered")
	output, ok := apply(t, configMap(namespace, "c"))
	require.False(t, ok)
	require.Contains(t, output, "denied the request: no ConfigMaps here [on_config_maps deny, policy.rego:7, on-config-maps@")

	removeSource(t.Context(), "on-config-maps")
	eventually(t, func() bool { return !slices.Contains(registered(t), "configmaps") }, "the rule to go with the policy")
	output, ok = apply(t, configMap(namespace, "c"))
	require.True(t, ok, output)
}

// registered are the resources that the entries of user policies are called for. It
// fails when any entry lacks its CA bundle.
func registered(t *testing.T) []string {
	t.Helper()
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	require.NoError(t, json.Unmarshal([]byte(mustGet(t, "validatingwebhookconfiguration", "lintel", "-o", "json")), &validating))
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	require.NoError(t, json.Unmarshal([]byte(mustGet(t, "mutatingwebhookconfiguration", "lintel", "-o", "json")), &mutating))
	var names, resources []string
	add := func(name string, bundle []byte, rules []admissionregistrationv1.RuleWithOperations) {
		require.NotEmpty(t, bundle, "entry %s has lost its CA bundle", name)
		names = append(names, name)
		for _, rule := range rules {
			if strings.HasSuffix(name, ".policies.lintel.dev") {
				resources = append(resources, rule.Resources...)
			}
		}
	}
	for _, w := range validating.Webhooks {
		add(w.Name, w.ClientConfig.CABundle, w.Rules)
	}
	for _, w := range mutating.Webhooks {
		add(w.Name, w.ClientConfig.CABundle, w.Rules)
	}
	require.Equal(t, []string{
		"canary.policy.lintel.dev", "certificaterequest.openvox.voxpupuli.org", "certificatesigningrequest.openvox.voxpupuli.org", "controlled.lintel.dev",
		"mpod-v1.openzro.io", "objects.openzro.io", "objects.orloj.dev", "openclawinstance.openclaw.enterprise.io", "policybundle.openclaw.enterprise.io", "policyexception.policy.lintel.dev", "policysource.policy.lintel.dev", "reserved-names.lintel.dev",
		"secrets.zopp.dev", "vcertificate.kb.io", "vcertificateauthority.kb.io", "vconfig.kb.io", "vdatabase.kb.io", "vnodeclassifier.kb.io", "vpool.kb.io", "vreportprocessor.kb.io", "vserver.kb.io", "vsigningpolicy.kb.io", "zoppsecretsyncs.zopp.dev",
		"ignore.policies.lintel.dev", "fail.policies.lintel.dev",
		"canary.policy.lintel.dev", "mpod-v1.openzro.io", "objects.orloj.dev", "openclawinstance.openclaw.enterprise.io", "ignore.policies.lintel.dev", "fail.policies.lintel.dev",
	}, names, "the entries are always the same")
	return resources
}

func TestSomebodyElsesEditOfTheRegistrationIsUndone(t *testing.T) {
	namespace := newNamespace(t)
	applySource(t, "guarded", inNamespace(namespace, configMapKind, "package guarded\ndeny contains \"guarded\""), nil)
	entries := strings.Fields(mustGet(t, "validatingwebhookconfiguration", "lintel", "-o", "jsonpath={.webhooks[*].name}"))
	mustKubectl(t, "", "patch", "validatingwebhookconfiguration", "lintel", "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/webhooks/%d/rules","value":[]}]`, slices.Index(entries, "fail.policies.lintel.dev")))
	eventually(t, func() bool { return slices.Contains(registered(t), "configmaps") }, "the rules to come back")
}

// TestTheRegistrationIsDeletedWithItsOwner: the garbage collector deletes both configurations
// with the ClusterRole, and nothing is enforced until Lintel has written them again.
func TestTheRegistrationIsDeletedWithItsOwner(t *testing.T) {
	namespace := newNamespace(t)
	serveSource(t, "owned", map[string]string{"p.rego": inNamespace(namespace, configMapKind, "package owned\ndeny contains \"no ConfigMaps here\"")}, nil)
	denied := func() bool {
		output, ok := kubectl(t, configMap(namespace, "c"), "create", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, "no ConfigMaps here")
	}
	require.True(t, denied())
	owner := func() string {
		return mustGet(t, "validatingwebhookconfiguration", "lintel", "-o", "jsonpath={.metadata.ownerReferences[0].kind}")
	}
	require.Equal(t, "ClusterRole", owner())
	mustKubectl(t, "", "delete", "clusterrole", "lintel-webhooks")
	t.Cleanup(func() {
		_, err := cluster.Kubectl(context.Background(), "", "apply", "-f", filepath.Join(installation.Root(), "config", "rbac", "manager", "webhooks_cluster_role.yaml"))
		require.NoError(t, err)
	})
	waitFor(t, "", "policysource/owned", "the source to be registered no longer", func(source *v1alpha1.PolicySource) bool {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == "NotRegistered" && strings.Contains(ready.Message, "nothing is enforced")
	})
	waitSource(t, "owned")
	require.True(t, denied())
	require.Equal(t, "Namespace", owner())
	events := mustGet(t, "events.events.k8s.io", "-n", "default", "-o", `jsonpath={range .items[*]}{.regarding.name} {.type} {.reason}{"\n"}{end}`)
	require.Contains(t, events, "owned Warning NotRegistered")
}

// TestAKindThatIsInstalledLater: until the cluster has it, a policy's whole group is
// registered; then the resource alone.
func TestAKindThatIsInstalledLater(t *testing.T) {
	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.later.lintel.dev"},"spec":{"group":"later.lintel.dev","scope":"Namespaced","names":{"kind":"Gadget","plural":"gadgets"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	applySource(t, "gadgets", "# METADATA\n# custom:\n#   match: {kinds: [{group: later.lintel.dev, kind: Gadget}]}\npackage gadgets\ndeny contains \"no gadgets\"", nil)
	require.NotContains(t, registered(t), "gadgets")
	require.Contains(t, registered(t), "*")

	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "crd/gadgets.later.lintel.dev")
	})
	mustKubectl(t, crd, "apply", "-f", "-")
	eventually(t, func() bool { return slices.Contains(registered(t), "gadgets") }, "the resource to be registered")
}
