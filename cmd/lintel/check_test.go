package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/review"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/source"
)

const samples = "../../config/samples/"

// decodeReport reads -o json; an undocumented field, or a list that is null, fails.
func decodeReport(t *testing.T, text string) review.Report {
	t.Helper()
	var decoded review.Report
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&decoded))
	require.NotContains(t, text, "null")
	return decoded
}

func TestSamples(t *testing.T) {
	all := lintel(t, "", "check", "-p", samples+"policies", "-f", samples+"manifests", "--cluster", samples+"cluster")
	require.Equal(t, exitDenied, all.code)
	assert.Empty(t, all.stderr)
	assert.Contains(t, all.stdout, "\n20 objects: 8 denied, ")
	for name, want := range map[string][]string{
		"allowed_registries": {
			"Pod default/allowed-registries-bad: denied\n",
			`  deny       image "registry.k8s.io.example.com/pause:3.10" of container "web" is not from an allowed registry`,
			"[samples.allowed_registries deny, allowed_registries/allowed_registries.rego:21, policies@",
			"field spec.containers[0].image\n",
		},
		"default_requests": {
			"Pod default/default-requests-bad: admitted\n",
			`  patch      add /spec/containers/0/resources/requests/cpu = "100m"` + "\n",
			`  patch      add /spec/containers/0/resources/requests/memory = "128Mi"` + "\n",
		},
		"latest_tag": {
			"Pod default/latest-tag-bad: admitted with warnings\n",
			`  warn       image "registry.k8s.io/pause" of container "web" may change at any restart`,
		},
		"privileged": {
			`  deny       container "web" of Pod "privileged-bad" is privileged: remove securityContext.privileged [samples.privileged deny, privileged/privileged.rego:18, policies@`,
		},
		"host_paths": {
			`  deny       volume "node" of Pod "host-paths-bad" is the host path "/etc/ssl/certs-of-others": use one of /etc/ssl/certs, without .. in it`,
			"field spec.volumes[0].hostPath.path",
		},
		"ingress_hosts": {
			"Ingress default/ingress-hosts-bad: denied\n",
			`  deny       host "web.example.com" with path "/" is taken by Ingress shops/every-shop (by "*.example.com"): choose another host or path`,
			"field spec.rules[0].host",
		},
		"pod_security_baseline": {
			"Pod baseline-samples/pod-security-baseline-bad: denied\n",
			`  deny       Pod "pod-security-baseline-bad" shares a namespace with its node: remove spec.hostPID`,
		},
		"pod_security_restricted": {
			"Pod restricted-samples/pod-security-restricted-bad: denied\n",
			`  deny       container "web" of Pod "pod-security-restricted-bad" may gain privileges: set securityContext.allowPrivilegeEscalation to false`,
		},
		"service_types": {
			"Service default/service-types-bad: denied\n",
			`  deny       Service "service-types-bad" is of type NodePort, which is not for namespace "default": set spec.type to ClusterIP, and use an Ingress`,
		},
		"required_labels": {
			`  deny       Pod "required-labels-bad" has no label "team": add it to metadata.labels`,
			`field metadata.labels["team"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Regexp(t, fmt.Sprintf("(?m)^[A-Z][a-z]+ [a-z-]+/%s-good: admitted$", strings.ReplaceAll(name, "_", "-")), all.stdout)
			for _, text := range want {
				assert.Contains(t, all.stdout, text)
			}
		})
	}

	good := lintel(t, "", "check", "-p", samples+"policies", "-f", samples+"manifests/privileged/good.yaml", "--cluster", samples+"cluster")
	assert.Equal(t, result{code: exitAllowed, stdout: "Pod default/privileged-good: admitted\n\n1 object: 1 admitted\n"}, good)
}

func TestSamplesAsJSON(t *testing.T) {
	got := lintel(t, "", "check", "-p", samples+"policies", "-f", samples+"manifests", "--cluster", samples+"cluster", "-o", "json")
	assert.Equal(t, 1, got.code)
	decoded := decodeReport(t, got.stdout)
	assert.Equal(t, review.Summary{Objects: 20, Denied: 8, Warned: 1, Patched: 1}, decoded.Summary)
	require.Len(t, decoded.Results, 20)
	denied := decoded.Results[0]
	assert.Equal(t, review.Object{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "allowed-registries-bad"}, denied.Object)
	assert.False(t, denied.Allowed)
	require.Len(t, denied.Deny, 1)
	assert.Equal(t, "samples.allowed_registries", denied.Deny[0].Policy)
	assert.Equal(t, "deny", denied.Deny[0].Rule)
	assert.Equal(t, "allowed_registries/allowed_registries.rego:21", denied.Deny[0].Location)
}

// What a workload's Pods would be refused for is said when the workload is applied.
func TestSamplesWarnOfWorkloads(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: %s}, spec: {template: {spec: {
		volumes: [{name: node, hostPath: {path: /}}],
		containers: [{name: web, image: "evil.io/web", securityContext: {privileged: true}}]}}}}`
	for namespace, policies := range map[string][]string{
		"shop":               {"allowed_registries", "host_paths", "latest_tag", "privileged", "required_labels"},
		"baseline-samples":   {"allowed_registries", "host_paths", "latest_tag", "pod_security_baseline", "privileged", "required_labels"},
		"restricted-samples": {"allowed_registries", "host_paths", "latest_tag", "pod_security_restricted", "privileged", "required_labels"},
	} {
		got := lintel(t, fmt.Sprintf(deployment, namespace), "check", "-p", samples+"policies", "-f", "-", "-o", "json")
		require.Equal(t, 0, got.code, got)
		decoded := decodeReport(t, got.stdout)
		warned := map[string]bool{}
		for _, warning := range decoded.Results[0].Warn {
			assert.Regexp(t, "^(its Pods will be denied|Pod template): ", warning.Msg)
			warned[strings.TrimPrefix(warning.Policy, "samples.")] = true
		}
		assert.Equal(t, policies, slices.Sorted(maps.Keys(warned)))
	}
}

// The message of a PolicySource is the webhook's: that of the engine, by the source
// the manager makes of the object, at the revision that an inline origin has.
func TestMessagesAreTheWebhooks(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {key: BEGIN PRIVATE KEY-----}\n"
	got := lintel(t, configMap, "check", "-p", samples+"policysource.yaml", "-f", "-", "-o", "json")
	decoded := decodeReport(t, got.stdout)

	objects, err := manifests.ReadPath(samples + "policysource.yaml")
	require.NoError(t, err)
	text, err := objects[0].JSON()
	require.NoError(t, err)
	object := &v1alpha1.PolicySource{}
	require.NoError(t, json.Unmarshal(text, object))
	files := object.Spec.Inline.Files
	set, err := policyset.Compile(source.FromPolicySource(object, files, definition.Source{Files: files}.Digest()))
	require.NoError(t, err)
	review, err := admission.NewReview([]byte(`{"uid":"1","operation":"CREATE","name":"web","namespace":"shop",
		"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
		"object":{"metadata":{"name":"web"},"data":{"key":"BEGIN PRIVATE KEY-----"}}}`))
	require.NoError(t, err)
	decision := engine.NewSnapshot(admission.BuiltinResources(), set).Validate(t.Context(), review, engine.Options{})
	require.Len(t, decision.Denials, 1)
	assert.Equal(t, decision.Denials[0].Text(), decoded.Results[0].Deny[0].Msg)
}

func TestExitCodes(t *testing.T) {
	const (
		pod      = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n"
		ns       = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {tier: gold}}\n"
		header   = "# METADATA\n# custom:\n"
		match    = "#   match: {kinds: [{group: \"\", kind: Pod}]}\n"
		selects  = "#   match: {kinds: [{group: \"\", kind: Pod}], namespaceSelector: {matchLabels: {tier: gold}}}\n"
		named    = "#   match: {kinds: [{group: \"\", kind: Pod}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}\n"
		requires = "#   requires: [{group: \"\", kind: ConfigMap}]\n"
		body     = "package q\n\nimport rego.v1\n\n"
		denies   = body + "deny contains \"not here\"\n"
		reads    = body + "deny contains name if some name, _ in data.cluster.ConfigMap.shop\n"
		config   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found, namespace: shop}\n"
	)
	for name, test := range map[string]struct {
		files map[string]string
		stdin string
		args  []string
		code  int
		want  []string
	}{
		"allowed":                   {map[string]string{"p/p.rego": body + "deny contains \"x\" if false\n"}, pod, nil, 0, []string{"Pod shop/a: admitted\n"}},
		"denied":                    {map[string]string{"p/p.rego": header + match + denies}, pod, nil, 1, []string{"Pod shop/a: denied\n", "at         standard input:1: document 1\n"}},
		"namespace unknown":         {map[string]string{"p/p.rego": header + selects + denies}, pod, nil, 2, []string{"Pod shop/a: undecided\n", `undecided  policy q: its namespaceSelector needs the labels of namespace "shop"`, "give them with --cluster", "1 object: 1 undecided"}},
		"namespace among manifests": {map[string]string{"p/p.rego": header + selects + denies}, pod + "---\n" + ns, nil, 1, []string{"Pod shop/a: denied\n", "Namespace shop: admitted\n"}},
		"namespace in the cluster":  {map[string]string{"p/p.rego": header + selects + denies, "c/ns.yaml": ns}, pod, []string{"--cluster", "c"}, 1, nil},
		"namespace by name":         {map[string]string{"p/p.rego": header + named + denies, "c/ns.yaml": ns}, pod, []string{"--cluster", "c"}, 1, nil},
		"namespace does not match":  {map[string]string{"p/p.rego": header + selects + denies}, pod + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n", nil, 0, nil},
		"manifest before cluster":   {map[string]string{"p/p.rego": header + selects + denies, "c/ns.yaml": ns}, pod + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n", []string{"--cluster", "c"}, 0, nil},
		"requires without cluster":  {map[string]string{"p/p.rego": header + match + requires + reads}, pod, nil, 2, []string{"it requires cluster objects (ConfigMap)"}},
		"requires of another kind":  {map[string]string{"p/p.rego": header + match + requires + reads}, ns, nil, 0, nil},
		"requires, none there":      {map[string]string{"p/p.rego": header + match + requires + reads, "c/x.yaml": ""}, pod, []string{"--cluster", "c"}, 0, nil},
		"requires, one there":       {map[string]string{"p/p.rego": header + match + requires + reads, "c/x.yaml": config}, pod, []string{"--cluster", "c"}, 1, []string{"deny       found [q deny, p.rego:"}},
		"reads the namespace":       {map[string]string{"p/p.rego": header + match + body + "deny contains \"no tier\" if input.namespace.metadata.labels.tier == \"gold\"\n"}, pod, nil, 2, []string{`undecided  policy q: it reads input.namespace, and namespace "shop" is not at hand`, "a Namespace can also be among the manifests"}},
		"reads one in the cluster":  {map[string]string{"p/p.rego": header + match + body + "deny contains \"no tier\" if input.namespace.metadata.labels.tier == \"gold\"\n", "c/ns.yaml": ns}, pod, []string{"--cluster", "c"}, 1, nil},
		"denial before undecided":   {map[string]string{"p/p.rego": header + selects + denies, "p/r.rego": denyAll}, pod, nil, 1, []string{"Pod shop/a: denied\n", "undecided  policy q", "deny       no ["}},
		"another is denied":         {map[string]string{"p/p.rego": header + selects + denies, "p/r.rego": denyAll + "\n"}, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\n" + pod, nil, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(folder(t, test.files))
			got := lintel(t, test.stdin, append([]string{"check", "-p", "p", "-f", "-"}, test.args...)...)
			assert.Equal(t, test.code, got.code, got)
			assert.Empty(t, got.stderr)
			for _, want := range test.want {
				assert.Contains(t, got.stdout, want)
			}
			asJSON := lintel(t, test.stdin, append([]string{"check", "-p", "p", "-f", "-", "-o", "json"}, test.args...)...)
			assert.Equal(t, test.code, asJSON.code)
			decoded := decodeReport(t, asJSON.stdout)
			assert.Equal(t, test.code == 1, decoded.Summary.Denied > 0)
		})
	}
}

// TestNextSteps: an undecided object gets the next step that helps, and no other.
func TestNextSteps(t *testing.T) {
	t.Parallel()
	const (
		pod      = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n"
		cluster  = "give them with --cluster <folder>"
		external = "give it with --external list=FILE"
	)
	rego := func(custom, body string) string {
		return "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\n" + custom + "package q\n\nimport rego.v1\n\n" + body
	}
	celPolicy := func(expression string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: t}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}]}\n  validations: [{expression: '" + expression + "'}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: t}\nspec: {policyName: t, validationActions: [Deny]}\n"
	}
	for name, test := range map[string]struct{ file, policy, object, want string }{
		"objects":        {"p.rego", rego("#   requires: [{group: \"\", kind: ConfigMap}]\n", "deny contains n if some n, _ in data.cluster.ConfigMap.shop\n"), pod, cluster},
		"the namespace":  {"p.rego", rego("", "deny contains \"no\" if input.namespace.metadata.labels.a == \"b\"\n"), pod, cluster},
		"external data":  {"p.rego", rego("#   external: [list]\n", "deny contains \"no\" if data.external.list[_] == \"a\"\n"), pod, external},
		"its namespace":  {"p.yaml", celPolicy(`namespaceObject.metadata.name != "a"`), pod, cluster},
		"the API server": {"p.yaml", celPolicy(`authorizer.group("").resource("pods").check("get").allowed()`), pod, ""},
		"the object":     {"p.rego", rego("", "deny contains \"no\" if input.request.object.spec.hostPID\n"), "apiVersion: v2\nkind: Pod\nmetadata: {name: a}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{test.file: test.policy})
			got := lintel(t, test.object, "check", "-p", dir, "-f", "-")
			require.Equal(t, 2, got.code, got)
			require.Contains(t, got.stdout, "undecided", got)
			for _, hint := range []string{cluster, external} {
				assert.Equal(t, hint == test.want, strings.Contains(got.stdout, hint), "%s in %s", hint, got.stdout)
			}
		})
	}
}

// Each is bad usage or a bad input of -f and --cluster: exit 2 even where something
// would be denied.
func TestBadInput(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
	ok := []string{"-p", "p.rego", "-f", "-"}
	for name, test := range map[string]struct {
		stdin string
		files map[string]string
		args  []string
		want  string
	}{
		"no policies":           {pod, nil, []string{"-f", "-"}, "no policies: give a folder, a .rego file or a PolicySource with -p"},
		"no manifests":          {pod, nil, []string{"-p", "p.rego"}, "no manifests: give a file, a folder or - with -f"},
		"argument":              {pod, nil, append(ok, "x.yaml"), `"x.yaml" stands alone: give manifests with -f`},
		"connect":               {pod, nil, append(ok, "--operation", "CONNECT"), "--operation CONNECT is about a subresource: give --subresource exec"},
		"operation":             {pod, nil, append(ok, "--operation", "PATCH"), "--operation PATCH is not one of CREATE, UPDATE, DELETE, DELETECOLLECTION, CONNECT"},
		"namespace":             {pod, nil, append(ok, "--namespace", ""), "--namespace is empty"},
		"cluster":               {pod, nil, append(ok, "--cluster", ""), "--cluster is empty"},
		"output":                {pod, nil, append(ok, "-o", "yaml"), "--output yaml is not text, json, sarif or junit"},
		"stdin twice":           {pod, nil, append(ok, "-f", "-"), "-f - is specified twice"},
		"missing file":          {pod, nil, append(ok, "-f", "nothing.yaml"), "reading manifests: stat nothing.yaml"},
		"no objects":            {"# nothing\n", nil, ok, "there are no objects in -"},
		"folder of nothing":     {"", map[string]string{"d/x.txt": "x"}, []string{"-p", "p.rego", "-f", "d"}, "there are no objects in d"},
		"broken after denied":   {pod + "---\nreplicas: 1\n", nil, ok, "standard input:5: document 2 is not a Kubernetes object"},
		"duplicate key":         {"kind: Pod\nkind: Pod\n", nil, ok, `standard input:2: key "kind" already set in map`},
		"in a folder":           {"", map[string]string{"d/sub/x.yml": "kind: Pod\n"}, []string{"-p", "p.rego", "-f", "d"}, "d/sub/x.yml:1: document 1: Pod has no apiVersion"},
		"update without name":   {"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", nil, append(ok, "--operation", "UPDATE"), "Pod has no metadata.name, which UPDATE needs"},
		"nesting":               {"{\"apiVersion\":\"v1\",\"kind\":\"X\",\"a\":" + strings.Repeat("[", 1100) + strings.Repeat("]", 1100) + "}", nil, ok, "nest deeper than 1000"},
		"cluster missing":       {pod, nil, append(ok, "--cluster", "nothing"), "stat nothing"},
		"cluster without name":  {pod, map[string]string{"c/x.yaml": "apiVersion: v1\nkind: Pod\n"}, append(ok, "--cluster", "c"), "c/x.yaml:1: document 1: Pod has no metadata.name"},
		"cluster object twice":  {pod, map[string]string{"c/x.yaml": pod, "c/y.yaml": pod}, append(ok, "--cluster", "c"), "c/y.yaml:1: document 1: Pod a is at c/x.yaml:1: document 1, too: keep one"},
		"CRD that is not one":   {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: 1\n", nil, ok, "reading the CustomResourceDefinition"},
		"cluster is unreadable": {pod, map[string]string{"c/x.json": "{"}, append(ok, "--cluster", "c"), "c/x.json:1: reading JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"p.rego": denyAll}
			for name, text := range test.files {
				files[name] = text
			}
			t.Chdir(folder(t, files))
			got := lintel(t, test.stdin, append([]string{"check"}, test.args...)...)
			assert.Equal(t, 2, got.code)
			assert.Empty(t, got.stdout)
			assert.Contains(t, got.stderr, "lintel: ")
			assert.Contains(t, got.stderr, test.want)
		})
	}
}

func TestMutationComesFirstIgnoreBeforeFail(t *testing.T) {
	// Ignore follows Fail's patch, which only reinvocation can show, and the
	// validation sees both.
	source := func(name, policy, rego string) string {
		return policySourceText(name, "  failurePolicy: "+policy+"\n  inline:\n    files:\n      p.rego: |\n        "+
			strings.ReplaceAll(strings.TrimSpace(rego), "\n", "\n        "))
	}
	files := map[string]string{"s.yaml": source("ignore", "Ignore", `
package a

import rego.v1

defaults := {"metadata": {"annotations": {"asked": "before"}}}

patch contains {"op": "add", "path": "/metadata/labels/second", "value": "yes"} if {
	input.request.object.metadata.labels.first
	not input.request.object.metadata.labels.second
}`) + "---\n" + source("fail", "Fail", `
package b

import rego.v1

defaults := {"metadata": {"labels": {"first": "yes"}}}

warn contains sprintf("%v", [input.request.object.metadata.labels])`)}
	t.Chdir(folder(t, files))
	got := lintel(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "check", "-p", "s.yaml", "-f", "-", "-o", "json")
	require.Equal(t, 0, got.code, got.stderr)
	decoded := decodeReport(t, got.stdout)
	var paths []string
	for _, op := range decoded.Results[0].Patch {
		paths = append(paths, op.Path)
	}
	assert.Equal(t, []string{"/metadata/annotations", "/metadata/annotations/asked", "/metadata/labels", "/metadata/labels/first", "/metadata/labels/second"}, paths)
	require.Len(t, decoded.Results[0].Warn, 1)
	assert.Contains(t, decoded.Results[0].Warn[0].Msg, `{"first": "yes", "second": "yes"}`)
}

func TestFailedMutationDenies(t *testing.T) {
	const rego = "package p\n\nimport rego.v1\n\npatch contains {\"op\": \"remove\", \"path\": \"/spec/none\"}\n\ndeny contains \"not asked\"\n"
	t.Chdir(folder(t, map[string]string{"p.rego": rego}))
	got := lintel(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "check", "-p", "p.rego", "-f", "-")
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.stdout, "policy p cannot mutate the object: its patch does not apply: remove /spec/none")
	assert.NotContains(t, got.stdout, "not asked")
}

func TestTextCannotSteerATerminal(t *testing.T) {
	rego := "package p\n\nimport rego.v1\n\ndeny contains \"one\\ntwo \\u001b[31m\"\n"
	t.Chdir(folder(t, map[string]string{"p.rego": rego}))
	got := lintel(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a\u001b]0;x\u0007"}}`, "check", "-p", "p.rego", "-f", "-")
	assert.Contains(t, got.stdout, `Pod default/a\x1b]0;x\a: denied`)
	assert.Contains(t, got.stdout, "  deny       one\n             two \\x1b[31m [p deny, p.rego:5, p@")
	assert.NotContains(t, got.stdout, "\x1b")
}

func TestInterruptIsNoVerdict(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"p.rego": denyAll}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"lintel", "check", "-p", "p.rego", "-f", "-"}, strings.NewReader("apiVersion: v1\nkind: Pod\n"), &stdout, &stderr)
	assert.Equal(t, report.Error, code)
	assert.Empty(t, stdout.String())
	assert.Contains(t, stderr.String(), "checking standard input:1: document 1: context canceled")
}

// brokenPipe is an output whose reader has closed it.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("broken pipe") }

func TestUnwrittenReportIsNoVerdict(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"p.rego": denyAll}))
	for _, format := range []string{"text", "json", "sarif", "junit"} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{"lintel", "check", "-p", "p.rego", "-f", "-", "-o", format}, strings.NewReader("apiVersion: v1\nkind: Pod\n"), brokenPipe{}, &stderr)
		assert.Equal(t, report.Error, code)
		assert.Contains(t, stderr.String(), "writing the report: broken pipe")
	}
}
