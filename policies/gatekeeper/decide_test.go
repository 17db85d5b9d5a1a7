package gatekeeper

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

type jsonObject = map[string]any

// request is an AdmissionRequest about an object; oldObject may be nil.
func request(operation string, object, oldObject jsonObject) jsonObject {
	about := object
	if about == nil {
		about = oldObject
	}
	kind := about["kind"].(string)
	group, resource := "", "pods"
	switch kind {
	case "Namespace":
		resource = "namespaces"
	case "Deployment":
		group, resource = "apps", "deployments"
	case "CronJob":
		group, resource = "batch", "cronjobs"
	case "ClusterRole":
		group, resource = "rbac.authorization.k8s.io", "clusterroles"
	}
	metadata := about["metadata"].(jsonObject)
	out := jsonObject{
		"uid": "u", "operation": operation,
		"kind":     jsonObject{"group": group, "version": "v1", "kind": kind},
		"resource": jsonObject{"group": group, "version": "v1", "resource": resource},
		"object":   object, "oldObject": oldObject,
		"userInfo": jsonObject{"username": "alice"},
	}
	for _, name := range []string{"name", "namespace"} {
		if value, ok := metadata[name]; ok {
			out[name] = value
		}
	}
	if kind == "Namespace" {
		out["namespace"] = metadata["name"]
	}
	return out
}

func makePod(namespace, name string, labels jsonObject) jsonObject {
	return jsonObject{"apiVersion": "v1", "kind": "Pod", "metadata": jsonObject{"name": name, "namespace": namespace, "labels": labels}, "spec": jsonObject{}}
}

func createPod(namespace, name string, labels jsonObject) jsonObject {
	return request("CREATE", makePod(namespace, name, labels), nil)
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

func ask(t *testing.T, set *engine.PolicySet, request jsonObject, options engine.Options) *engine.Decision {
	t.Helper()
	review, err := admission.NewReview(asJSON(t, request))
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set).Validate(t.Context(), review, options)
}

func words(findings []engine.Finding) []string {
	var out []string
	for _, finding := range findings {
		out = append(out, finding.Words)
	}
	return out
}

// withRego compiles one template, of which one constraint matches everything.
func withRego(t *testing.T, rego string, more ...string) *engine.PolicySet {
	t.Helper()
	text := makeTemplate("X", rego) + "---\n" + makeConstraint("X", "all", "{}")
	for _, one := range more {
		text += "---\n" + one
	}
	return mustCompile(t, map[string]string{"policies/f.yaml": text})
}

func TestTheMessage(t *testing.T) {
	decision := ask(t, withRego(t, denyAll), createPod("shop", "web", nil), engine.Options{})
	require.Len(t, decision.Denials, 1)
	require.Equal(t, "no web [X/all deny, policies/f.yaml:15, s@r]", decision.Denials[0].Text())
	require.Equal(t, "X/all", decision.Denials[0].Policy)
}

func TestEnforcement(t *testing.T) {
	scoped := func(actions string) string {
		return "{enforcementAction: scoped, scopedEnforcementActions: [" + actions + "]}"
	}
	for name, test := range map[string]struct {
		spec                      string
		denials, warnings, audits int
	}{
		"unset":       {"{}", 1, 0, 0},
		"deny":        {"{enforcementAction: deny}", 1, 0, 0},
		"warn":        {"{enforcementAction: warn}", 0, 1, 0},
		"dryrun":      {"{enforcementAction: dryrun}", 0, 0, 1},
		"scoped here": {scoped("{action: warn, enforcementPoints: [{name: validation.gatekeeper.sh}]}, {action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}"), 0, 1, 0},
		"scoped all":  {scoped("{action: dryrun, enforcementPoints: [{name: '*'}]}"), 0, 0, 1},
		"strictest":   {scoped("{action: warn, enforcementPoints: [{name: '*'}]}, {action: deny, enforcementPoints: [{name: validation.gatekeeper.sh}]}"), 1, 0, 0},
		"elsewhere":   {scoped("{action: deny, enforcementPoints: [{name: gator.gatekeeper.sh}]}"), 0, 0, 0},
		"in audit":    {scoped("{action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}"), 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			set := mustCompile(t, map[string]string{"f.yaml": makeTemplate("X", denyAll) + "---\n" + makeConstraint("X", "a", test.spec)})
			decision := ask(t, set, createPod("shop", "web", nil), engine.Options{})
			require.Len(t, decision.Denials, test.denials)
			require.Len(t, decision.Warnings, test.warnings)
			require.Len(t, decision.Audits, test.audits)
		})
	}
}

// TestMatch has each field of match for itself.
func TestMatch(t *testing.T) {
	namespace := func(name string, labels jsonObject) jsonObject {
		return jsonObject{"apiVersion": "v1", "kind": "Namespace", "metadata": jsonObject{"name": name, "labels": labels}}
	}
	role := jsonObject{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": jsonObject{"name": "admin"}}
	pod := createPod("shop-live", "web-1", jsonObject{"app": "web"})
	shop := request("CREATE", namespace("shop-live", jsonObject{"stage": "live"}), nil)
	cluster := request("CREATE", role, nil)
	generated := createPod("shop-live", "", nil)
	generated["object"].(jsonObject)["metadata"] = jsonObject{"generateName": "web-", "namespace": "shop-live"}
	live := engine.Options{Namespace: readNamespace(t, asJSON(t, namespace("shop-live", jsonObject{"stage": "live"})))}
	for _, test := range []struct {
		match    string
		request  jsonObject
		expected bool
	}{
		{"{}", pod, true},
		{"{}", cluster, true},
		{"{kinds: [{apiGroups: [''], kinds: [Pod]}]}", pod, true},
		{"{kinds: [{apiGroups: [''], kinds: [Pod]}]}", cluster, false},
		{"{kinds: [{apiGroups: [apps], kinds: [Pod]}]}", pod, false},
		{"{kinds: [{apiGroups: ['*'], kinds: [Pod]}]}", pod, true},
		{"{kinds: [{apiGroups: [''], kinds: ['*']}]}", pod, true},
		{"{kinds: [{apiGroups: [''], kinds: ['*']}]}", cluster, false},
		{"{kinds: [{apiGroups: ['*'], kinds: ['*']}]}", cluster, true},
		{"{kinds: [{kinds: [Pod]}]}", pod, true},
		{"{kinds: [{apiGroups: [apps], kinds: [Deployment]}, {apiGroups: [''], kinds: [Service, Pod]}]}", pod, true},
		{"{scope: '*'}", pod, true},
		{"{scope: Namespaced}", pod, true},
		{"{scope: Namespaced}", cluster, false},
		{"{scope: Namespaced}", shop, false},
		{"{scope: Cluster}", pod, false},
		{"{scope: Cluster}", cluster, true},
		{"{scope: Cluster}", shop, true},
		{"{namespaces: [shop-live]}", pod, true},
		{"{namespaces: [shop]}", pod, false},
		{"{namespaces: [other, 'shop-*']}", pod, true},
		{"{namespaces: ['*-live']}", pod, true},
		{"{namespaces: ['*op-li*']}", pod, true},
		{"{namespaces: ['*-test']}", pod, false},
		{"{namespaces: [shop-live]}", shop, true},
		{"{namespaces: [other]}", shop, false},
		{"{namespaces: [other]}", cluster, true}, // it is in none that could be wrong
		{"{excludedNamespaces: ['shop-*']}", pod, false},
		{"{excludedNamespaces: [other, '*-test']}", pod, true},
		{"{excludedNamespaces: ['*-live']}", shop, false},
		{"{excludedNamespaces: ['*']}", cluster, true},
		{"{labelSelector: {matchLabels: {app: web}}}", pod, true},
		{"{labelSelector: {matchLabels: {app: db}}}", pod, false},
		{"{labelSelector: {matchExpressions: [{key: app, operator: In, values: [db, web]}]}}", pod, true},
		{"{labelSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}", pod, false},
		{"{labelSelector: {matchLabels: {app: web}}}", request("UPDATE", makePod("a", "a", jsonObject{"app": "db"}), makePod("a", "a", jsonObject{"app": "web"})), true},
		{"{labelSelector: {matchLabels: {app: web}}}", request("UPDATE", makePod("a", "a", jsonObject{"app": "db"}), makePod("a", "a", nil)), false},
		{"{namespaceSelector: {matchLabels: {stage: live}}}", pod, true},
		{"{namespaceSelector: {matchLabels: {stage: test}}}", pod, false},
		{"{namespaceSelector: {matchLabels: {stage: live}}}", shop, true},
		{"{namespaceSelector: {matchLabels: {stage: test}}}", shop, false},
		{"{namespaceSelector: {matchLabels: {stage: test}}}", cluster, true},
		{"{name: web-1}", pod, true},
		{"{name: web}", pod, false},
		{"{name: 'web-*'}", pod, true},
		{"{name: '*-1'}", pod, true},
		{"{name: '*eb*'}", pod, true},
		{"{name: 'web*'}", generated, true},
		{"{name: '*web'}", generated, false},
		{"{source: All}", pod, true},
		{"{source: Original}", pod, true},
		{"{source: Generated}", pod, false},
		{"{kinds: [{apiGroups: [''], kinds: [Pod]}], namespaces: ['shop-*'], excludedNamespaces: ['*-live']}", pod, false},
	} {
		t.Run(test.match, func(t *testing.T) {
			set := mustCompile(t, map[string]string{"f.yaml": makeTemplate("X", `package x
violation[{"msg": "no"}] { true }`) + "---\n" + makeConstraint("X", "a", "{match: "+test.match+"}")})
			require.Equal(t, test.expected, !ask(t, set, test.request, live).Allowed())
		})
	}
}

func TestANamespaceThatIsNotKnown(t *testing.T) {
	set := mustCompile(t, map[string]string{"f.yaml": makeTemplate("X", denyAll) + "---\n" + makeConstraint("X", "a", "{match: {namespaceSelector: {matchLabels: {stage: live}}}}")})
	decision := ask(t, set, createPod("shop", "web", nil), engine.Options{Offline: true})
	require.Equal(t, []engine.Undecided{{Policy: "X/a", Reason: `its namespaceSelector needs the labels of namespace "shop"`, Lacks: engine.LackNamespace}}, decision.Undecided)
	decision = ask(t, set, createPod("shop", "web", nil), engine.Options{})
	require.Len(t, decision.Denials, 1)
	require.True(t, decision.Denials[0].Error)
}

func TestTheConfigKeepsOutOfNamespaces(t *testing.T) {
	config := "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config, namespace: gatekeeper-system}\nspec:\n  match:\n  - {excludedNamespaces: ['kube-*'], processes: ['*']}\n  - {excludedNamespaces: [hooks], processes: [webhook]}\n  - {excludedNamespaces: [audited], processes: [audit]}\n"
	set := withRego(t, denyAll, config)
	for namespace, allowed := range map[string]bool{"kube-system": true, "hooks": true, "audited": false, "shop": false} {
		require.Equal(t, allowed, ask(t, set, createPod(namespace, "web", nil), engine.Options{}).Allowed(), namespace)
	}
}

// TestSubresources: a constraint matches the objects of subresource requests by their own kind,
// not by the kind of the resource.
func TestSubresources(t *testing.T) {
	through := func(operation, group, resource, subresource, apiVersion, kind string) jsonObject {
		objectGroup, version, found := strings.Cut(apiVersion, "/")
		if !found {
			objectGroup, version = "", apiVersion
		}
		object := jsonObject{"apiVersion": apiVersion, "kind": kind, "metadata": jsonObject{"name": "web", "namespace": "shop"}}
		return jsonObject{
			"uid": "u", "operation": operation, "name": "web", "namespace": "shop",
			"kind":     jsonObject{"group": objectGroup, "version": version, "kind": kind},
			"resource": jsonObject{"group": group, "version": "v1", "resource": resource}, "subResource": subresource,
			"object": object, "oldObject": nil, "userInfo": jsonObject{"username": "alice"},
		}
	}
	reviews := map[string]jsonObject{
		"resize":     through("UPDATE", "", "pods", "resize", "v1", "Pod"),
		"ephemeral":  through("UPDATE", "", "pods", "ephemeralcontainers", "v1", "Pod"),
		"pod status": through("UPDATE", "", "pods", "status", "v1", "Pod"),
		"eviction":   through("CREATE", "", "pods", "eviction", "policy/v1", "Eviction"),
		"binding":    through("CREATE", "", "pods", "binding", "v1", "Binding"),
		"scale":      through("UPDATE", "apps", "deployments", "scale", "autoscaling/v1", "Scale"),
		"widget":     through("UPDATE", "example.com", "widgets", "scale", "autoscaling/v1", "Scale"),
		"service":    through("UPDATE", "", "services", "status", "v1", "Service"),
		"exec":       through("CONNECT", "", "pods", "exec", "v1", "PodExecOptions"),
	}
	for match, want := range map[string][]string{
		"{}": {"binding", "ephemeral", "eviction", "resize", "scale", "service"},
		`{kinds: [{apiGroups: [""], kinds: [Pod]}]}`:                                                 {"ephemeral", "resize"},
		`{kinds: [{apiGroups: [apps], kinds: [Deployment]}]}`:                                        {},
		`{kinds: [{apiGroups: [autoscaling], kinds: [Scale]}]}`:                                      {"scale"},
		`{kinds: [{apiGroups: ["*"], kinds: [Eviction, Binding]}]}`:                                  {"binding", "eviction"},
		`{kinds: [{apiGroups: [""], kinds: [Service]}]}`:                                             {"service"},
		`{kinds: [{apiGroups: [""], kinds: [PodExecOptions]}]}`:                                      {"exec"},
		`{kinds: [{apiGroups: [""], kinds: [Pod, PodExecOptions]}], namespaces: [other]}`:            {},
		`{kinds: [{apiGroups: ["", policy], kinds: [Pod, PodExecOptions, Eviction]}], name: "web*"}`: {"ephemeral", "eviction", "exec", "resize"},
	} {
		set := mustCompile(t, map[string]string{"f.yaml": makeTemplate("X", denyAll) + "---\n" + makeConstraint("X", "a", "{match: "+match+"}")})
		asked := []string{}
		for name, review := range reviews {
			if decision := ask(t, set, review, engine.Options{}); !decision.Allowed() {
				asked = append(asked, name)
			}
		}
		require.ElementsMatch(t, want, asked, match)
	}
}

// TestSubresourcesBesideNativePolicies: a native policy names the kind of the resource, and a
// constraint in the same set the kind of the object.
func TestSubresourcesBesideNativePolicies(t *testing.T) {
	set := mustCompile(t, map[string]string{
		"f.yaml": makeTemplate("X", denyAll) + "---\n" + makeConstraint("X", "a", "{match: {kinds: [{apiGroups: [autoscaling], kinds: [Scale]}]}}"),
		"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: apps, kind: Deployment}], subresources: [scale]}\npackage p\n\nimport rego.v1\n\ndeny contains \"native\"\n",
	})
	scale := jsonObject{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": jsonObject{"name": "web", "namespace": "shop"}}
	decision := ask(t, set, jsonObject{
		"uid": "u", "operation": "UPDATE", "name": "web", "namespace": "shop",
		"kind":     jsonObject{"group": "autoscaling", "version": "v1", "kind": "Scale"},
		"resource": jsonObject{"group": "apps", "version": "v1", "resource": "deployments"}, "subResource": "scale",
		"object": scale, "oldObject": scale, "userInfo": jsonObject{"username": "alice"},
	}, engine.Options{})
	require.ElementsMatch(t, []string{"native", "no web"}, words(decision.Denials))
}

func TestOperations(t *testing.T) {
	pod := makePod("shop", "web", nil)
	requests := map[string]jsonObject{
		"CREATE": request("CREATE", pod, nil), "UPDATE": request("UPDATE", pod, pod), "DELETE": request("DELETE", nil, pod),
	}
	for operations, expected := range map[string][]string{
		"":                       {"CREATE", "UPDATE"},
		", operations: ['*']":    {"CREATE", "UPDATE", "DELETE"},
		", operations: [DELETE]": {"DELETE"},
	} {
		template := templateWith("", `rego: "package x\nviolation[{\"msg\": msg}] { msg := sprintf(\"%v %v\", [input.review.operation, input.review.object.metadata.name]) }"`+operations)
		set := mustCompile(t, map[string]string{"f.yaml": template + "---\n" + makeConstraint("X", "a", "{}")})
		for operation, request := range requests {
			decision := ask(t, set, request, engine.Options{})
			asked := false
			for _, one := range expected {
				asked = asked || one == operation
			}
			if !asked {
				require.Empty(t, decision.Denials, "%s%s", operation, operations)
				continue
			}
			require.Equal(t, []string{operation + " web"}, words(decision.Denials), "the object of a deletion is the old one")
		}
	}
}

// TestTemplatesAreApart: they have the same packages, libraries and rules.
func TestTemplatesAreApart(t *testing.T) {
	template := func(kind, word string) string {
		return `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: ` + map[string]string{"A": "a", "B": "b"}[kind] + `}
spec:
  crd: {spec: {names: {kind: ` + kind + `}, validation: {openAPIV3Schema: {type: object, properties: {x: {type: string}}}}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      code:
        - engine: Rego
          source:
            version: v1
            rego: |
              package same

              import data.lib.words
              import data.lib.words as again

              violation contains {"msg": msg} if {
                msg := concat(" ", [words.one, again.one, data.lib.words.one, input.parameters.x])
              }
            libs:
              - |
                package lib.words

                import data.lib.letters

                one := letters.all
              - |
                package lib.letters

                all := "` + word + `"
`
	}
	set := mustCompile(t, map[string]string{
		"a.yaml": template("A", "first"), "b.yaml": template("B", "second"),
		"c.yaml": makeConstraint("A", "x", "{parameters: {x: 1a}}") + "---\n" + makeConstraint("A", "z", "{parameters: {x: 2a}}") + "---\n" + makeConstraint("B", "x", "{parameters: {x: 1b}}"),
	})
	require.Equal(t, []string{"first first first 1a", "first first first 2a", "second second second 1b"},
		words(ask(t, set, createPod("shop", "web", nil), engine.Options{}).Denials))
}

// TestErrorsOfFunctionsAreUndefined, as in Gatekeeper; what makes a result is not.
func TestErrorsOfFunctionsAreUndefined(t *testing.T) {
	set := withRego(t, `package x

violation[{"msg": "never"}] { to_number("x") > 1 }

violation[{"msg": "no"}] { not to_number("x") }`)
	require.Equal(t, []string{"no"}, words(ask(t, set, createPod("shop", "web", nil), engine.Options{}).Denials))
}

func TestAnErrorAtRunTimeDenies(t *testing.T) {
	set := withRego(t, `package x

violation[{"msg": msg}] {
  msg := sprintf("size %v", [size])
}

size = 1 { input.review.object.kind == "Pod" }

size = 2 { input.review.object.metadata.name == "web" }`)
	decision := ask(t, set, createPod("shop", "web", nil), engine.Options{})
	require.Len(t, decision.Denials, 1)
	require.True(t, decision.Denials[0].Error)
	require.Equal(t, "X/all", decision.Denials[0].Policy, "the metric is by policy")
	require.Regexp(t, `(?s)^policy X/all cannot be evaluated: rule size produced conflicting values.* \[X/all size, policies/f.yaml:21, s@r\]$`, decision.Denials[0].Text())
}

// TestLimitsHold: what a limit stops is an error here, too, and not undefined.
func TestLimitsHold(t *testing.T) {
	for name, body := range map[string]string{
		"function": `x := sprintf("%2000000d", [1]); x == "y"`,
		"steps":    `a := numbers.range(1, 9000)[_]; b := numbers.range(1, 9000)[_]; a + b < 0`,
	} {
		t.Run(name, func(t *testing.T) {
			decision := ask(t, withRego(t, "package x\n\nviolation[{\"msg\": \"no\"}] { "+body+" }"), createPod("shop", "web", nil), engine.Options{})
			require.Len(t, decision.Denials, 1)
			require.True(t, decision.Denials[0].Error)
			require.NotEmpty(t, decision.Denials[0].Limit)
		})
	}
}

func TestMembersWithoutMessageAreNone(t *testing.T) {
	set := withRego(t, `package x

violation["text"] { true }

violation[{"details": 1}] { true }

violation[{"msg": "yes", "details": {"a": [1]}}] { true }`)
	decision := ask(t, set, createPod("shop", "web", nil), engine.Options{})
	require.Equal(t, []string{"yes"}, words(decision.Denials))
	require.JSONEq(t, `{"a": [1]}`, string(asJSON(t, decision.Denials[0].Details)))
}

func TestTheNamespaceObject(t *testing.T) {
	set := withRego(t, `package x

violation[{"msg": msg}] {
  msg := concat(" ", [input.review.namespaceObject.metadata.labels.stage, input.review._unstable.namespace.metadata.name])
}`)
	namespace := jsonObject{"metadata": jsonObject{"name": "shop", "labels": jsonObject{"stage": "live"}}}
	decision := ask(t, set, createPod("shop", "web", nil), engine.Options{Namespace: readNamespace(t, asJSON(t, namespace))})
	require.Equal(t, []string{"live shop"}, words(decision.Denials))

	decision = ask(t, set, createPod("shop", "web", nil), engine.Options{Offline: true})
	require.Len(t, decision.Undecided, 1)
	require.Contains(t, decision.Undecided[0].Reason, "it reads the Namespace object")
}

func clusterData(t *testing.T, objects ...jsonObject) *clusterdata.Objects {
	t.Helper()
	var list []json.RawMessage
	for _, object := range objects {
		list = append(list, asJSON(t, object))
	}
	data, err := clusterdata.New(list)
	require.NoError(t, err)
	return data
}

func TestInventory(t *testing.T) {
	sync := "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec: {sync: {syncOnly: [{group: '', version: v1, kind: Pod}]}}\n---\napiVersion: syncset.gatekeeper.sh/v1alpha1\nkind: SyncSet\nmetadata: {name: more}\nspec: {gvks: [{group: '', version: v1, kind: Namespace}, {group: batch, version: v1, kind: Job}]}\n"
	data := clusterData(t,
		makePod("shop", "db", nil), makePod("shop", "web", nil), makePod("other", "web", nil),
		jsonObject{"apiVersion": "v1", "kind": "Namespace", "metadata": jsonObject{"name": "shop"}},
		jsonObject{"apiVersion": "batch/v1", "kind": "Job", "metadata": jsonObject{"name": "tidy", "namespace": "shop"}},
		jsonObject{"apiVersion": "v1", "kind": "Secret", "metadata": jsonObject{"name": "not-synced", "namespace": "shop"}},
	)
	for body, expected := range map[string][]string{
		`data.inventory.namespace[msg]`:                                              {"other", "shop"},
		`data.inventory.namespace["shop"]["v1"]["Pod"][msg]`:                         {"db", "web"},
		`data.inventory.namespace[ns][v]["Pod"]["web"]; msg := concat(" ", [ns, v])`: {"other v1", "shop v1"},
		`data.inventory.namespace.shop[v][k][n]; msg := concat(" ", [v, k, n])`:      {"batch/v1 Job tidy", "v1 Pod db", "v1 Pod web"},
		`data.inventory.cluster[v][k][n]; msg := concat(" ", [v, k, n])`:             {"v1 Namespace shop"},
		`data.inventory[msg]`: {"cluster", "namespace"},
		`all := data.inventory; all.namespace.other.v1.Pod[msg]`:                        {"web"},
		`msg := data.inventory.namespace.other.v1.Pod.web.metadata.name`:                {"web"},
		`data.inventory.namespace.nowhere; msg := "x"`:                                  nil,
		`data.inventory.cluster.v1.Namespace[input.review.namespace]; msg := "there"`:   {"there"},
		`x := input.review.namespace; data.inventory.cluster.v1.Namespace[x]; msg := x`: {"shop"},
		`data.inventory.namespace[input.review.namespace].v1.Pod.db; msg := "db"`:       {"db"},
		`not data.inventory.namespace.shop.v1.Secret; msg := "none"`:                    {"none"},
	} {
		t.Run(body, func(t *testing.T) {
			set := withRego(t, "package x\n\nviolation[{\"msg\": msg}] { "+body+" }", sync)
			require.Equal(t, expected, words(ask(t, set, createPod("shop", "new", nil), engine.Options{Cluster: data}).Denials))
		})
	}
	set := withRego(t, "package x\n\nviolation[{\"msg\": \"no\"}] { data.inventory.cluster }", sync)
	require.ElementsMatch(t, []admission.GroupVersionKind{{Kind: "Pod"}, {Kind: "Namespace"}, {Group: "batch", Kind: "Job"}}, set.Requires())
	decision := ask(t, set, createPod("shop", "new", nil), engine.Options{Offline: true})
	require.Len(t, decision.Undecided, 1)
	require.Contains(t, decision.Undecided[0].Reason, "it requires cluster objects")
}

func TestRequiresOfTheAnnotation(t *testing.T) {
	kinds, err := requiredByAnnotation(`[[{"groups": ["extensions"], "versions": ["v1beta1"], "kinds": ["Ingress"]}, {"groups": ["networking.k8s.io"], "versions": ["v1"], "kinds": ["Ingress"]}], [{"groups": ["example.com"], "versions": ["v1"], "kinds": ["Web"]}]]`)
	require.NoError(t, err)
	require.Equal(t, []admission.GroupVersionKind{{Group: "networking.k8s.io", Kind: "Ingress"}, {Group: "example.com", Kind: "Web"}}, kinds)

	kinds, err = requiredByAnnotation("\"[\n  [{\"groups\": [\"\"], \"versions\": [\"v1\"], \"kinds\": [\"Service\"]}]\n]\"\n")
	require.NoError(t, err, "Gatekeeper takes no notice of quotes and line ends around it")
	require.Equal(t, []admission.GroupVersionKind{{Kind: "Service"}}, kinds)

	kinds, err = requiredByAnnotation(`[[{"groups": ["apps"], "versions": ["v1"], "kinds": ["Deployment"]}, {"groups": ["apps"], "versions": ["v1"], "kinds": ["StatefulSet"]}]]`)
	require.NoError(t, err)
	require.Equal(t, []admission.GroupVersionKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}}, kinds, "both are served, and the template may look for either")
}

// TestTheRepairOfPolicyIsNotEvaluated: a constraint for all kinds must not deny the update or
// deletion that repairs it.
func TestTheRepairOfPolicyIsNotEvaluated(t *testing.T) {
	every := ", operations: ['*']"
	object := func(apiVersion, kind, name string) jsonObject {
		return jsonObject{"apiVersion": apiVersion, "kind": kind, "metadata": jsonObject{"name": name}}
	}
	about := func(operation, group, resource string, object jsonObject) jsonObject {
		r := request(operation, object, object)
		if operation == "DELETE" {
			r = request(operation, nil, object)
		}
		r["resource"] = jsonObject{"group": group, "version": "v1", "resource": resource}
		r["kind"] = jsonObject{"group": group, "version": "v1", "kind": object["kind"]}
		return r
	}
	source := object("policy.lintel.dev/v1alpha1", "PolicySource", "gatekeeper")
	kind := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "x.constraints.gatekeeper.sh")
	constraint := object("constraints.gatekeeper.sh/v1beta1", "X", "a")
	for name, test := range map[string]struct {
		match    string
		request  jsonObject
		expected bool
	}{
		"a source":                     {"{}", about("UPDATE", "policy.lintel.dev", "policysources", source), false},
		"a source, by star":            {"{kinds: [{apiGroups: ['*'], kinds: ['*']}]}", about("UPDATE", "policy.lintel.dev", "policysources", source), false},
		"a source, by name":            {"{kinds: [{apiGroups: [policy.lintel.dev], kinds: [PolicySource]}]}", about("UPDATE", "policy.lintel.dev", "policysources", source), true},
		"the kind of a template":       {"{}", about("CREATE", "apiextensions.k8s.io", "customresourcedefinitions", kind), false},
		"another kind":                 {"{}", about("CREATE", "apiextensions.k8s.io", "customresourcedefinitions", object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "webs.example.com")), true},
		"a constraint":                 {"{}", about("UPDATE", "constraints.gatekeeper.sh", "x", constraint), true},
		"a constraint's removal":       {"{}", about("DELETE", "constraints.gatekeeper.sh", "x", constraint), false},
		"the removal of one, by name":  {"{kinds: [{apiGroups: [constraints.gatekeeper.sh], kinds: ['*']}]}", about("DELETE", "constraints.gatekeeper.sh", "x", constraint), true},
		"a template's removal":         {"{}", about("DELETE", "templates.gatekeeper.sh", "constrainttemplates", object("templates.gatekeeper.sh/v1", "ConstraintTemplate", "x")), false},
		"the removal of anything else": {"{}", about("DELETE", "apps", "deployments", object("apps/v1", "Deployment", "x")), true},
	} {
		t.Run(name, func(t *testing.T) {
			template := templateWith("", regoText+every)
			set := mustCompile(t, map[string]string{"f.yaml": template + "---\n" + makeConstraint("X", "a", "{match: "+test.match+"}")})
			require.Equal(t, test.expected, !ask(t, set, test.request, engine.Options{}).Allowed())
		})
	}
}

const expansionTemplates = `apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: workloads}
spec:
  applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment, StatefulSet]}, {groups: [batch], versions: [v1], kinds: [Job]}]
  templateSource: spec.template
  generatedGVK: {version: v1, kind: Pod}%s
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: cron}
spec:
  applyTo: [{groups: [batch], versions: [v1], kinds: [CronJob]}]
  templateSource: spec.jobTemplate
  generatedGVK: {group: batch, version: v1, kind: Job}
`

func TestExpansion(t *testing.T) {
	template := jsonObject{"metadata": jsonObject{"labels": jsonObject{"app": "web"}}, "spec": jsonObject{"hostPID": true}}
	deployment := request("CREATE", jsonObject{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": jsonObject{"name": "web", "namespace": "shop"}, "spec": jsonObject{"template": template}}, nil)
	cronJob := request("CREATE", jsonObject{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": jsonObject{"name": "tidy", "namespace": "shop"}, "spec": jsonObject{"jobTemplate": jsonObject{"spec": jsonObject{"template": template}}}}, nil)
	rego := `package x

violation[{"msg": msg}] {
  input.review.object.spec.hostPID
  msg := sprintf("%v shares process ids", [input.review.object.metadata.name])
}`
	for name, test := range map[string]struct {
		match, enforcement string
		request            jsonObject
		denials, warnings  []string
	}{
		"deployment":  {"{kinds: [{apiGroups: [''], kinds: [Pod]}]}", "", deployment, []string{"[Implied by workloads] web-pod shares process ids"}, nil},
		"labels":      {"{kinds: [{apiGroups: [''], kinds: [Pod]}], labelSelector: {matchLabels: {app: web}}}", "", deployment, []string{"[Implied by workloads] web-pod shares process ids"}, nil},
		"generated":   {"{source: Generated}", "", deployment, []string{"[Implied by workloads] web-pod shares process ids"}, nil},
		"original":    {"{source: Original}", "", deployment, nil, nil},
		"warns":       {"{}", ", enforcementAction: warn", deployment, nil, []string{"[Implied by workloads] web-pod shares process ids"}},
		"by a job":    {"{}", "", cronJob, []string{"[Implied by workloads] tidy-job-pod shares process ids"}, nil},
		"other kinds": {"{kinds: [{apiGroups: [''], kinds: [Service]}]}", "", deployment, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			enforcement := ""
			if test.enforcement != "" {
				enforcement = "\n  enforcementAction: warn"
			}
			set := mustCompile(t, map[string]string{
				"t.yaml": makeTemplate("X", rego), "c.yaml": makeConstraint("X", "a", "{match: "+test.match+"}"),
				"e.yaml": fmt.Sprintf(expansionTemplates, enforcement),
			})
			decision := ask(t, set, test.request, engine.Options{})
			require.Equal(t, test.denials, words(decision.Denials))
			require.Equal(t, test.warnings, words(decision.Warnings))
		})
	}
	set := mustCompile(t, map[string]string{"t.yaml": makeTemplate("X", rego), "c.yaml": makeConstraint("X", "a", "{}")})
	require.True(t, ask(t, set, deployment, engine.Options{}).Allowed(), "without an ExpansionTemplate nothing is expanded")
}

// TestExpandedPods have the workload as their owner, and the operation of its review, as
// Gatekeeper's have.
func TestExpandedPods(t *testing.T) {
	set := mustCompile(t, map[string]string{
		"t.yaml": makeTemplate("X", `package x

violation[{"msg": "naked Pod"}] {
  count(object.get(input.review.object.metadata, "ownerReferences", [])) == 0
}

violation[{"msg": msg}] {
  owner := input.review.object.metadata.ownerReferences[_]
  msg := sprintf("%v of %v %v/%v, then %v", [input.review.operation, owner.apiVersion, owner.kind, owner.name, input.review.oldObject])
}`), "c.yaml": makeConstraint("X", "a", "{match: {kinds: [{apiGroups: [''], kinds: [Pod]}]}}"), "e.yaml": fmt.Sprintf(expansionTemplates, ""),
	})
	deployment := jsonObject{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": jsonObject{"name": "web", "namespace": "shop"}, "spec": jsonObject{"template": jsonObject{}}}
	for _, operation := range []string{"CREATE", "UPDATE"} {
		var old jsonObject
		if operation == "UPDATE" {
			old = deployment
		}
		decision := ask(t, set, request(operation, deployment, old), engine.Options{})
		require.Equal(t, []string{"[Implied by workloads] " + operation + " of apps/v1 Deployment/web, then null"}, words(decision.Denials))
	}
}

// TestATeamsTemplates have the same limits as the team's own policies: no objects of other
// namespaces, no kinds without a grant, no time.
func TestATeamsTemplates(t *testing.T) {
	template := func(body string) string {
		return makeTemplate("X", "package x\n\nviolation[{\"msg\": msg}] { "+body+" }") + "---\n" + makeConstraint("X", "all", "{}") + "---\n" +
			"apiVersion: syncset.gatekeeper.sh/v1alpha1\nkind: SyncSet\nmetadata: {name: s}\nspec: {gvks: [{group: '', version: v1, kind: %s}]}\n"
	}
	data := clusterData(t, makePod("team-a", "mine", nil), makePod("other", "theirs", nil),
		jsonObject{"apiVersion": "v1", "kind": "Secret", "metadata": jsonObject{"name": "key", "namespace": "team-a"}},
		jsonObject{"apiVersion": "v1", "kind": "Namespace", "metadata": jsonObject{"name": "other"}})
	for _, test := range []struct{ body, kind, expected string }{
		{`data.inventory.namespace[ns][_][_][name]; msg := concat(" ", [ns, name])`, "Pod", "team-a mine"},
		{`data.inventory[_][ns]; msg := ns`, "Pod", "team-a"},
		{`data.inventory.namespace["other"]; msg := "seen"`, "Pod", ""},
		{`ns := "other"; data.inventory.namespace[ns]["v1"]["Pod"]["theirs"]; msg := "seen"`, "Pod", ""},
		{`data.inventory.namespace[msg]`, "Secret", "policy X/all cannot be evaluated: it "},
		{`data.inventory.cluster[_][_][msg]`, "Namespace", "policy X/all cannot be evaluated: it "},
		{`time.now_ns() > 0; msg := "late"`, "Pod", "policy X/all cannot be evaluated: it reads the time"},
	} {
		t.Run(test.body, func(t *testing.T) {
			team, err := policyset.Compile(definition.Source{
				Name: "team", Files: map[string]string{"f.yaml": fmt.Sprintf(template(test.body), test.kind)},
				Scope: hierarchy.Scope{Level: hierarchy.Team, Name: "a", Namespaces: []string{"team-a"}},
			}, Dialect)
			require.NoError(t, err)
			enterprise, err := policyset.Compile(definition.Source{Name: "top", Files: map[string]string{"p.rego": "package p\ndeny contains \"never\" if false"}})
			require.NoError(t, err)
			snapshot := engine.NewSnapshot(admission.BuiltinResources(), enterprise, team)
			decide := func(namespace string) []string {
				review, err := admission.NewReview(asJSON(t, createPod(namespace, "new", nil)))
				require.NoError(t, err)
				return words(snapshot.Validate(t.Context(), review, engine.Options{Cluster: data}).Denials)
			}
			require.Empty(t, decide("other"), "a team decides in its own namespaces alone")
			found := decide("team-a")
			if test.expected == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0], test.expected)
		})
	}
}

func readNamespace(t testing.TB, text []byte) engine.Namespace {
	t.Helper()
	namespace, err := engine.ReadNamespace(text)
	require.NoError(t, err)
	return namespace
}
