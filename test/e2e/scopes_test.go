package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/test/gitserver"
	"github.com/lintel-policy/lintel/test/installation"
)

// teamScope is the scope of a team that has one namespace.
func teamScope(name, namespace string) map[string]any {
	return map[string]any{"scope": map[string]any{"level": "team", "name": name, "namespaces": []string{namespace}}}
}

// TestTenants has two teams, each with a source of its own below the enterprise's: each
// restricts its own namespace with any policy, and no other namespace.
func TestTenants(t *testing.T) {
	base := newNamespace(t)
	red, blue := base+"-red", base+"-blue"
	makeNamespace(t, red)
	makeNamespace(t, blue)
	kinds := "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}], namespaces: [" + base + "*]}\n"
	const anyConfigMap = "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}]}\n"
	applySource(t, "tenants-acme", kinds+`package acme.base
deny contains "the enterprise forbids it" if input.name == "forbidden"
deny contains "exempt" if data.exemptions[input.name]
patch contains {"op": "add", "path": "/metadata/labels/owner", "value": "acme"} if not input.request.object.metadata.labels.owner`, map[string]any{"scope": map[string]any{"level": "enterprise", "grants": map[string]any{"wildcards": true}}})
	applySource(t, "tenants-red", anyConfigMap+"package red.base\ndeny contains \"red forbids it\" if input.name == \"red\"", teamScope("red", red))
	applySource(t, "tenants-blue", anyConfigMap+"package blue.base\ndeny contains \"blue forbids it\" if input.name == \"blue\"", teamScope("blue", blue))

	admitted := func(namespace, name string) (string, bool) {
		t.Helper()
		return kubectl(t, configMap(namespace, name), "apply", "--dry-run=server", "-o", "jsonpath={.metadata.labels.owner}", "-f", "-")
	}
	denied := func(namespace, name, words string) {
		t.Helper()
		output, ok := admitted(namespace, name)
		require.False(t, ok)
		require.Contains(t, output, words)
	}
	admits := func(namespace, name string) {
		t.Helper()
		output, ok := admitted(namespace, name)
		require.True(t, ok, output)
		require.Equal(t, "acme", strings.TrimSpace(output))
	}
	denied(red, "red", "denied the request: red forbids it [red.base deny, policy.rego:5, tenants-red@")
	denied(blue, "blue", "blue forbids it")
	admits(red, "blue")
	admits(blue, "red")
	admits(base, "red")
	denied(red, "forbidden", "the enterprise forbids it")

	t.Run("what reaches beyond the scope is refused", func(t *testing.T) {
		const denies = "deny contains \"x\""
		for name, c := range map[string]struct{ rego, want string }{
			"namespaces of others":    {"# METADATA\n# custom:\n#   match: {namespaces: [" + base + "-*]}\npackage blue.base\n" + denies, `match.namespaces (` + base + `-*) matches "` + base},
			"cluster-scoped kinds":    {"# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Namespace}]}\npackage blue.base\n" + denies, "Namespace is cluster-scoped"},
			"a version":               {"# METADATA\n# custom:\n#   match: {kinds: [{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}]}\npackage blue.base\n" + denies, "remove version"},
			"the enterprise's policy": {"package acme.base\n" + denies, "package acme.base has the path of policy acme.base of source tenants-acme"},
			"an exemption":            {"package exemptions\nforbidden := true\ndeny contains \"x\"", "exemptions belong to the scope that owns the rule"},
			"the enterprise's label":  {"package blue.base\npatch contains {\"op\": \"replace\", \"path\": \"/metadata/labels/owner\", \"value\": \"blue\"}", "which policy acme.base of source tenants-acme sets (policy.rego:7)"},
			"Secrets":                 {"# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Secret}]\npackage blue.base\n" + denies, "requires Secret, which contains confidential data"},
			"the clock":               {"# METADATA\n# custom:\n#   clock: true\npackage blue.base\n" + denies, "reads the time"},
			"RoleBindings": {
				"# METADATA\n# custom:\n#   match: {kinds: [{group: rbac.authorization.k8s.io, kind: RoleBinding}]}\npackage blue.base\npatch contains {\"op\": \"add\", \"path\": \"/subjects/-\", \"value\": {}}",
				"mutates RoleBinding.rbac.authorization.k8s.io, which carries rights",
			},
			"more time": {"# METADATA\n# custom:\n#   timeout: 1s\npackage blue.base\n" + denies, "has timeout: 1s"},
		} {
			t.Run(name, func(t *testing.T) {
				output, ok := apply(t, installation.PolicySource("tenants-blue", map[string]string{"policy.rego": c.rego}, teamScope("blue", blue)))
				require.False(t, ok)
				require.Contains(t, output, "PolicySource tenants-blue reaches beyond its scope:\n")
				require.Contains(t, output, c.want)
			})
		}
		denied(blue, "blue", "blue forbids it")
	})

	t.Run("what the text does not say is kept from happening", func(t *testing.T) {
		push := func(rego string) {
			serveSource(t, "tenants-blue", map[string]string{"policy.rego": rego}, teamScope("blue", blue))
		}
		push(anyConfigMap + `package blue.base
patch contains {"op": "replace", "path": concat("/", ["", "metadata", "labels", "owner"]), "value": "blue"} if input.request.object.metadata.labels.owner == "acme"`)
		denied(blue, "x", "it changes /metadata/labels/owner, which policy acme.base of source tenants-acme")
		admits(red, "x")

		push(anyConfigMap + "package blue.base\ndeny contains \"x\" if 1 / (count(input.name) - 1) > 1")
		denied(blue, "x", "divide by zero")
		admits(red, "x")
	})

	t.Run("an administrator's RoleBinding is stored as it was written", func(t *testing.T) {
		serveSource(t, "tenants-blue", map[string]string{"policy.rego": `package blue.base
patch contains {"op": "add", "path": "/metadata/labels/blue", "value": "yes"} if not input.request.object.metadata.labels.blue
patch contains {"op": "add", "path": "/subjects/-", "value": {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mallory"}} if {
	not "mallory" in {subject.name | some subject in input.request.object.subjects}
}`}, teamScope("blue", blue))
		created := func(object, path string) string {
			t.Helper()
			return mustKubectl(t, object, "create", "--dry-run=server", "-o", "jsonpath="+path, "-f", "-")
		}
		require.Contains(t, created(configMap(blue, "c"), "{.metadata.labels}"), `"blue":"yes"`, "the policy is evaluated")
		binding := fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"admins","namespace":%q,"labels":{"a":"b"}},`+
			`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"alice"}]}`, blue)
		require.Equal(t, `{"a":"b"} alice`, created(binding, "{.metadata.labels} {.subjects[*].name}"))
	})

	t.Run("a slow tenant", func(t *testing.T) {
		var rego strings.Builder
		for i := range 20 {
			fmt.Fprintf(&rego, "deny contains \"%d\" if {\n\tsome a in numbers.range(1, 1000)\n\tsome b in numbers.range(1, 1000)\n\ta * b == -1\n}\n", i)
		}
		files := map[string]string{}
		for i := range 20 {
			files[fmt.Sprintf("p%d.rego", i)] = anyConfigMap + fmt.Sprintf("package blue.slow%d\n", i) + rego.String()
		}
		serveSource(t, "tenants-blue", files, teamScope("blue", blue))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		for range 4 {
			go func() {
				defer func() { done <- struct{}{} }()
				for ctx.Err() == nil {
					_, _ = cluster.Kubectl(ctx, configMap(blue, "slow"), "apply", "--dry-run=server", "-f", "-")
				}
			}()
		}
		eventually(t, func() bool { output, ok := admitted(blue, "slow"); return !ok && strings.Contains(output, "slow0") }, "the slow policies to be asked")
		for range 10 {
			admits(red, "x") // which the API server would deny after five seconds without an answer
			denied(red, "red", "red forbids it")
		}
		cancel()
		for range 4 {
			<-done
		}
	})

	t.Run("the enterprise is not held up by what a tenant has", func(t *testing.T) {
		serveSource(t, "tenants-blue", map[string]string{"policy.rego": "package acme.later\nwarn contains \"every kind\""}, teamScope("blue", blue))
		applySource(t, "tenants-later", "# METADATA\n# custom:\n#   match: {kinds: [{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}], namespaces: ["+blue+"]}\npackage acme.later\ndeny contains \"written for v1\" if input.request.object.spec.targetCPUUtilizationPercentage > 90", nil)
		output, ok := kubectl(t, configMap(blue, "c"), "apply", "--dry-run=server", "-f", "-")
		require.True(t, ok)
		require.Contains(t, output, "Warning: every kind")
		// Both of the versions that are served are evaluated in the one that the enterprise chose,
		// although the tenant's policy matches every kind.
		for version, metrics := range map[string]string{
			"v1": `"targetCPUUtilizationPercentage":95`,
			"v2": `"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":95}}}]`,
		} {
			output, ok := kubectl(t, fmt.Sprintf(`{"apiVersion":"autoscaling/%s","kind":"HorizontalPodAutoscaler","metadata":{"name":"a","namespace":%q},"spec":{"maxReplicas":2,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"},%s}}`, version, blue, metrics), "apply", "--dry-run=server", "-f", "-")
			require.False(t, ok)
			require.Contains(t, output, "denied the request: written for v1")
		}
	})

	t.Run("a scope above that is narrowed", func(t *testing.T) {
		org := func(namespaces ...string) map[string]any {
			return map[string]any{"scope": map[string]any{"level": "org", "name": "colours", "namespaces": namespaces}}
		}
		applySource(t, "tenants-org", "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\npackage org.base\ndeny contains \"x\" if input.name == \"nobody\"", org(red, blue))
		child := teamScope("red-2", red)
		child["scope"].(map[string]any)["parent"] = "colours"
		applySource(t, "tenants-child", anyConfigMap+"package child.base\ndeny contains \"the child forbids it\" if input.name == \"child\"", child)
		denied(red, "child", "the child forbids it")
		serveSource(t, "tenants-org", map[string]string{"policy.rego": "package org.base\nwarn contains \"x\" if input.name == \"nobody\""}, org(blue))
		eventually(t, func() bool {
			within := meta.FindStatusCondition(readSource(t, "tenants-child").Status.Conditions, v1alpha1.ConditionWithinScope)
			return within != nil && within.Reason == "OutsideParentScope" && strings.Contains(within.Message, `they match "`+red+`"`)
		}, "the condition that the scope above was narrowed")
		admits(red, "child")
	})
}

// TestTenantsDoNotKeepTheirNamespace: a policy of a team on DELETE holds for users, and not for
// the namespace controller.
func TestTenantsDoNotKeepTheirNamespace(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	applySource(t, "tenants-keeper", "# METADATA\n# custom:\n#   match: {operations: [DELETE], kinds: [{group: \"\", kind: ConfigMap}]}\npackage keeper.base\ndeny contains \"it stays\"", teamScope("keeper", namespace))
	mustKubectl(t, "", "create", "configmap", "kept", "-n", namespace)
	for _, user := range []string{"jane", "system:serviceaccount:" + namespace + ":namespace-controller"} {
		output, ok := kubectl(t, "", "delete", "configmap", "kept", "-n", namespace, "--as="+user, "--as-group=system:masters")
		require.False(t, ok)
		require.Contains(t, output, "denied the request: it stays")
	}
	mustKubectl(t, "", "delete", "namespace", namespace, "--wait=false")
	waitGone(t, "", "namespace/"+namespace)
}

// TestTenantSamples applies the samples as docs/how-to/give-teams-policies.md does, and
// compares the denial with the one on the page.
func TestTenantSamples(t *testing.T) {
	const folder = "config/samples/tenants" // kubectl runs at the top of the repository
	page, err := os.ReadFile(filepath.Join(installation.Root(), "docs", "how-to", "give-teams-policies.md"))
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)\n```\nerror: failed to create deployment: [^\n]* denied the request: (.*?)\n```\n").FindStringSubmatch(string(page))
	require.NotNil(t, shown)
	revision := regexp.MustCompile("@[0-9a-f]{12}]")
	denials := strings.Split(revision.ReplaceAllString(shown[1], "@]"), "\n")
	require.Len(t, denials, 2)

	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), "", "delete", "-f", folder) })
	output := mustKubectl(t, "", "apply", "--server-side", "-f", folder+"/team.yaml")
	require.Contains(t, output, `Warning: no live source declares a scope named "acme" that is broader than team`, "the parent may come later")
	mustKubectl(t, "", "apply", "--server-side", "-f", folder)
	for _, name := range []string{"acme", "payments"} {
		waitSource(t, name)
	}
	makeNamespace(t, "payments")
	other := newNamespace(t)
	output, ok := kubectl(t, "", "create", "deployment", "web", "--image", "nginx", "-n", "payments")
	require.False(t, ok)
	for _, denial := range denials {
		require.Contains(t, revision.ReplaceAllString(output, "@]"), denial, "the entry of either scope reports both")
	}
	output, ok = kubectl(t, "", "create", "deployment", "web", "--image", "nginx", "-n", other)
	require.False(t, ok)
	require.Contains(t, revision.ReplaceAllString(output, "@]"), denials[0])
	require.NotContains(t, output, "payments.replicas")
}

// TestTenantsWithRepositories has two teams that push any policies, each to a repository of its
// own.
func TestTenantsWithRepositories(t *testing.T) {
	t.Parallel()
	base := newNamespace(t)
	folder := t.TempDir()
	server, err := gitserver.Start(folder, "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(func() { server.Stop() })
	team := func(name string) *gitRepository {
		namespace := base + "-" + name
		makeNamespace(t, namespace)
		repository := newGitRepository(t, folder, "git-"+name, namespace)
		repository.pushedBefore(t, name)
		spec := teamScope(name, namespace)
		spec["git"] = map[string]any{
			"url": server.URL + "/git-" + name + ".git", "path": "lintel",
			"receiver": map[string]any{"secretRef": map[string]any{"name": "git-" + name + "-token"}},
		}
		applyGitSource(t, repository.source, spec)
		repository.goesLive(t, name)
		return repository
	}
	red, blue := team("red"), team("blue")
	live := readSource(t, red.source).Status.Revision
	others := func() {
		t.Helper()
		require.True(t, blue.denies(t, "blue"))
		require.False(t, blue.denies(t, "red"))
		require.True(t, red.denies(t, "red"))
	}
	others()

	mustKubectl(t, "", "create", "configmap", "private", "-n", blue.namespace, "--from-literal=key=theirs")
	mustKubectl(t, "", "create", "configmap", "public", "-n", red.namespace, "--from-literal=key=ours")
	mustKubectl(t, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"e2e-configmaps","labels":{"lintel.dev/aggregate-to-policy-data":"true"}},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list","watch"]}]}`, "apply", "-f", "-")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "clusterrole", "e2e-configmaps")
	})
	for name, c := range map[string]struct{ rego, reason, message string }{
		"a namespace of others":  {inNamespace(blue.namespace, configMapKind, "package team\ndeny contains \"x\""), scope.ReasonMatchesOutside, `matches "` + blue.namespace + `"`},
		"Secrets":                {"# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}]}\n#   requires: [{group: \"\", kind: Secret}]\npackage team\ndeny contains \"x\"", scope.ReasonNotGranted, "requires Secret"},
		"every kind":             {"# METADATA\n# custom:\n#   match: {kinds: [{group: apps, kind: \"*\"}]}\npackage team\ndeny contains \"x\"", scope.ReasonNotGranted, "spec.scope.grants.wildcards"},
		"every namespace's data": {"# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Namespace}]}\npackage team\ndeny contains \"x\"", scope.ReasonMatchesOutside, "Namespace is cluster-scoped"},
	} {
		t.Run(name, func(t *testing.T) {
			red.push(t, map[string]string{"lintel/team.rego": c.rego})
			red.staysOut(t, c.reason, c.message, live)
			require.True(t, meta.IsStatusConditionFalse(readSource(t, red.source).Status.Conditions, v1alpha1.ConditionWithinScope))
			others()
		})
	}
	t.Run("a failing test", func(t *testing.T) {
		files := red.rule("red")
		files["lintel/team_test.rego"] = "package team_test\n\ntest_nobody_is_denied if count(data." + red.packageName() + ".deny) == 0 with input as {\"name\": \"red\"}"
		red.push(t, files)
		red.staysOut(t, source.ReasonTestsFailed, "team_test.rego:3: test team_test/test_nobody_is_denied failed", live)
		others()
	})
	t.Run("another tenant's data", func(t *testing.T) {
		red.push(t, map[string]string{
			"lintel/team_test.rego": "package team_test",
			"lintel/team.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}]}\n#   requires: [{group: \"\", kind: ConfigMap}]\npackage team\n" +
				"deny contains json.marshal(found) if {\n\tinput.name == \"all\"\n\tfound := {[namespace, name, object.data.key] | some namespace, objects in data.cluster.ConfigMap; some name, object in objects}\n}",
		})
		eventually(t, func() bool {
			output, ok := kubectl(t, configMap(red.namespace, "all"), "create", "--dry-run=server", "-f", "-")
			if ok || !strings.Contains(output, "ours") {
				return false
			}
			require.NotContains(t, output, "theirs")
			require.NotContains(t, output, blue.namespace)
			return true
		}, "the policy to print what it can read")
		require.True(t, blue.denies(t, "blue"))
	})
	t.Run("a good revision", func(t *testing.T) {
		red.push(t, red.rule("better"))
		red.goesLive(t, "better")
		require.True(t, blue.denies(t, "blue"))
	})
}
