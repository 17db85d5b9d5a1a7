package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/terms"
)

// TestVersions: an object is evaluated in the version in which the API server sends it to the
// policies. If that version is unknown, the object is undecided.
func TestVersions(t *testing.T) {
	const (
		v1       = "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}, targetCPUUtilizationPercentage: 50}\n"
		v2       = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}"
		any      = "# METADATA\n# custom:\n#   match: {kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler}]}\n"
		oldField = "package p\ndeny contains \"by the old field\" if input.request.object.spec.targetCPUUtilizationPercentage\n"
		denies   = "package p\ndeny contains \"x\"\n"
		newField = "package p\ndeny contains \"by the new field\" if input.request.object.spec.metrics[_].resource.target.averageUtilization\n"
	)
	for name, test := range map[string]struct {
		rego, object string
		code         int
		want         string
	}{
		"the policy's own version":    {autoscalers("v1") + oldField, v1, 1, "by the old field"},
		"converted away":              {any + oldField, v1, 0, "admitted"},
		"converted to":                {any + newField, v1, 1, "by the new field"},
		"which is said":               {any + newField, v1, 1, "  as         autoscaling/v2, to which the API server converts it for the policies\n"},
		"as it is":                    {any + newField, v2 + ", metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}]}", 0, "admitted"},
		"with its defaults":           {any + newField, v2 + "}", 1, "by the new field"},
		"back":                        {autoscalers("v1") + oldField, v2 + "}", 1, "by the old field"},
		"every version":               {"package p\ndeny contains input.request.kind.version", v1, 1, "v1 [p deny"},
		"where it came from":          {any + "package p\ndeny contains input.request.requestKind.version", v1, 1, "v1 [p deny"},
		"what v1 cannot hold":         {autoscalers("v1") + oldField, v2 + ", behavior: {scaleDown: {stabilizationWindowSeconds: 1}}}", 2, "autoscaling/v1 has no fields for spec.behavior"},
		"what nobody serves":          {any + oldField, strings.Replace(v1, "/v1", "/v2beta2", 1), 2, "serves HorizontalPodAutoscaler in v2 and v1, not in v2beta2: write apiVersion autoscaling/v2"},
		"nor this kind":               {any + oldField, strings.Replace(v1, "HorizontalPodAutoscaler", "HorizontalPodAutoscaller", 1), 2, `no matches for kind "HorizontalPodAutoscaller" in version "autoscaling/v1": Kubernetes 1.36, with the CustomResourceDefinitions at hand, has none; did you mean kind HorizontalPodAutoscaler in group "autoscaling"?`},
		"a group that never was":      {podMatch + denies, "apiVersion: app/v1\nkind: Deployment\nmetadata: {name: a}\n", 2, `no matches for kind "Deployment" in version "app/v1": Kubernetes 1.36, with the CustomResourceDefinitions at hand, has none; did you mean kind Deployment in group "apps"?`},
		"one that is gone":            {podMatch + denies, "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n", 2, `did you mean kind Ingress in group "networking.k8s.io"?`},
		"one of Kubernetes, misspelt": {podMatch + denies, "apiVersion: rbac.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n", 2, `did you mean kind Role in group "rbac.authorization.k8s.io"?`},
		"one of another project":      {podMatch + denies, "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: a}\n", 0, "admitted"},
		"which nobody is asked about": {podMatch + "package p\ndeny contains \"x\"", v1, 0, "admitted"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"p.rego": test.rego})
			for _, command := range []string{"check", "why"} {
				got := lintel(t, test.object, command, "-p", dir, "-f", "-")
				require.Equal(t, test.code, got.code, got.stdout+got.stderr)
				assert.Contains(t, got.stdout, test.want)
				assert.NotContains(t, got.stdout, "--cluster")
			}
		})
	}
}

// TestCustomVersions: by the CustomResourceDefinition, where it is at hand.
func TestCustomVersions(t *testing.T) {
	definition := func(conversion string) string {
		return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  conversion: {strategy: ` + conversion + `}
  versions:
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	}
	const widget = "apiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: a}\n---"
	dir := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: example.com, kind: Widget}]}\npackage p\ndeny contains input.request.object.apiVersion"})
	got := lintel(t, widget+definition("None"), "check", "-p", dir, "-f", "-")
	require.Equal(t, 1, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "example.com/v1 [p deny")

	got = lintel(t, widget+definition("Webhook"), "check", "-p", dir, "-f", "-")
	require.Equal(t, 2, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "a webhook converts Widget.example.com from v1beta1 to v1; write it as example.com/v1")
}

// TestFields: what the API server refuses by itself is denied, in its words.
func TestFields(t *testing.T) {
	const (
		tool   = "apiVersion: orloj.dev/v1\nkind: Tool\nmetadata: {name: a, namespace: shop}\n"
		source = "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: a}\n"
	)
	for name, test := range map[string]struct {
		object string
		code   int
		want   string
	}{
		"an unknown field":      {tool + "spec: {tyype: http}", 1, `  deny       Tool in version "v1" cannot be handled as a Tool: strict decoding error: unknown field "spec.tyype"` + "\n"},
		"a wrong type":          {tool + "spec: {type: [http]}", 1, `Tool.orloj.dev "a" is invalid: spec.type: Invalid value: "array": spec.type in body must be of type string`},
		"a rule of the schema":  {source + "spec: {}", 1, `PolicySource.policy.lintel.dev "a" is invalid: `},
		"of Kubernetes":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}", 1, `unknown field "date"`},
		"of Kubernetes, a type": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}", 1, "cannot unmarshal number into Go struct field ConfigMap.data of type string"},
		"as it should be":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}", 0, "admitted"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\""})
			for _, command := range []string{"check", "why"} {
				got := lintel(t, test.object, command, "-p", dir, "-f", "-")
				require.Equal(t, test.code, got.code, got.stdout+got.stderr)
				assert.Contains(t, got.stdout, test.want)
			}
			got := lintel(t, test.object, "check", "-p", dir, "-f", "-", "-o", "json")
			report := decodeReport(t, got.stdout)
			require.Equal(t, test.code == 0, report.Results[0].Allowed)
		})
	}
	t.Run("what goes is not checked", func(t *testing.T) {
		dir := folder(t, map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\""})
		got := lintel(t, tool+"spec: {tyype: http}", "check", "-p", dir, "-f", "-", "--operation", "DELETE")
		require.Zero(t, got.code, got.stdout+got.stderr)
	})
}

// TestWebhookMessages: a message of a webhook is not a manifest, but the object in it is.
func TestWebhookMessages(t *testing.T) {
	dir := folder(t, map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\""})
	for name, c := range map[string]struct{ object, want string }{
		"a ConversionReview": {"apiVersion: apiextensions.k8s.io/v1\nkind: ConversionReview\n", "ConversionReview is not a manifest"},
		"an ImageReview":     {"apiVersion: imagepolicy.k8s.io/v1alpha1\nkind: ImageReview\n", "ImageReview is not a manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"check", "why"} {
				got := lintel(t, c.object, command, "-p", dir, "-f", "-")
				require.Equal(t, 2, got.code, got.stdout+got.stderr)
				require.Contains(t, got.stderr, c.want)
			}
		})
	}
}

// TestObjectsOfTooManyValues are denied as the webhook denies them, if it is called for them.
func TestObjectsOfTooManyValues(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {"
	const object = configMap + "}"
	var data strings.Builder
	for i := range terms.MaxValues {
		fmt.Fprintf(&data, "\"%x\":\"\",", i)
	}
	large := configMap + data.String() + "}"
	match := "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}]}\n"
	for name, c := range map[string]struct {
		match, object string
		code          int
	}{
		"small":               {match, object, 0},
		"large":               {match, large, 1},
		"large, not matching": {podMatch, large, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"p.rego": c.match + "package p\ndeny contains \"x\" if input.request.object.metadata.labels.none"})
			got := lintel(t, c.object, "check", "-p", dir, "-f", "-")
			require.Equal(t, c.code, got.code, got.stdout+got.stderr)
			require.Equal(t, c.code == 1, strings.Contains(got.stdout, "deny       the AdmissionReview cannot be read: it holds more than 200000 values\n"), got.stdout)
		})
	}
}

// TestPatchedObjectsAreChecked: a patch may set a field that the schema requires, and may set
// an invalid value.
func TestPatchedObjectsAreChecked(t *testing.T) {
	const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {}\n---"
	definition := strings.Replace(widgetDefinition, "type: object, properties: {size", "type: object, required: [size], properties: {size", 1)
	match := "# METADATA\n# custom:\n#   match: {kinds: [{group: example.com, kind: Widget}]}\npackage p\n"
	for value, code := range map[string]int{"1": 0, `"large"`: 1} {
		dir := folder(t, map[string]string{"p.rego": match + "defaults := {\"spec\": {\"size\": " + value + "}}\ndeny contains \"never\" if not input.request.object.spec.size"})
		got := lintel(t, widget+definition, "check", "-p", dir, "-f", "-")
		require.Equal(t, code, got.code, got.stdout+got.stderr)
		require.Equal(t, code == 1, strings.Contains(got.stdout, `spec.size in body must be of type integer: "string"`), got.stdout)
	}
}

// TestWhatIsRenderedFirst: files that are rendered before they are applied are not evaluated.
func TestWhatIsRenderedFirst(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a kustomization": {map[string]string{"app/kustomization.yaml": "resources: [pod.yaml]", "app/pod.yaml": pod}, "kustomize build app | lintel check -f - …"},
		"one below":       {map[string]string{"app/base/kustomization.yml": "resources: [pod.yaml]", "app/base/pod.yaml": pod}, "kustomize build app/base |"},
		"by itself":       {map[string]string{"app/Kustomization": "resources: [pod.yaml]", "app/pod.yaml": pod}, "kustomize build app |"},
		"a chart":         {map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: app", "app/templates/pod.yaml": pod}, "helm template app |"},
		"a template":      {map[string]string{"app/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {{ .Values.x }}\n"}, "the file contains {{ and may be a template: render it first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(folder(t, test.files))
			require.NoError(t, os.WriteFile("p.rego", []byte(denyAll), 0o600))
			got := lintel(t, "", "check", "-p", "p.rego", "-f", "app")
			require.Equal(t, 2, got.code, got.stdout)
			require.Contains(t, got.stderr, test.want)
		})
	}
}

// TestKindsOfOthers: that their fields are not checked is said once.
func TestKindsOfOthers(t *testing.T) {
	const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {sise: 1}\n---\n"
	for name, test := range map[string]struct {
		objects string
		args    []string
		code    int
		want    string // on standard error; empty: nothing is there
	}{
		"two of one kind":       {widget + widget, nil, 0, "note: the fields of Widget.example.com are not checked: give the CustomResourceDefinition among the manifests or with --cluster\n"},
		"with its definition":   {widget + widgetDefinition, nil, 1, ""},
		"a kind that many have": {"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}", nil, 0, "note: the fields of Certificate.cert-manager.io are not checked: "},
		"nearly its group":      {"apiVersion: cert-manger.io/v1\nkind: Certificate\nmetadata: {name: a}", nil, 0, "note: the fields of Certificate.cert-manger.io (did you mean the group cert-manager.io?) are not checked: "},
		"what goes":             {widget, []string{"--operation", "DELETE"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"p.rego": podMatch + "package p\ndeny contains \"x\""})
			for _, command := range []string{"check", "why"} {
				got := lintel(t, test.objects, append([]string{command, "-p", dir, "-f", "-"}, test.args...)...)
				require.Equal(t, test.code, got.code, got.stdout+got.stderr)
				require.Contains(t, got.stderr, test.want)
				require.Equal(t, test.want != "", strings.Count(got.stderr, "\n") == 1, got.stderr)
			}
		})
	}
}

func TestNotesOnPolicies(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		want  string
	}{
		"two of one name":    {map[string]string{"a/p/p.rego": denyAll, "b/p/p.rego": denyAll}, []string{"-p", "a/p", "-p", "b/p"}, 2, "give each a name with --name, once for each -p and in their order"},
		"each with its own":  {map[string]string{"a/p/p.rego": denyAll, "b/p/p.rego": "package q\nimport rego.v1\ndeny contains \"x\""}, []string{"-p", "a/p", "-p", "b/p", "--name", "a", "--name", "b"}, 1, ""},
		"too few":            {map[string]string{"a/p/p.rego": denyAll, "b/p/p.rego": denyAll}, []string{"-p", "a/p", "-p", "b/p", "--name", "a"}, 2, "--name is specified 1 times, and -p 2 times"},
		"Kyverno's beside":   {map[string]string{"p/p.rego": denyAll, "p/k.yaml": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n"}, []string{"-p", "p"}, 1, "note: p/k.yaml:1: ClusterPolicy is Kyverno's, and Lintel does not enforce it"},
		"Kyverno's alone":    {map[string]string{"p/k.yaml": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n"}, []string{"-p", "p"}, 2, "p/k.yaml:1: ClusterPolicy is Kyverno's"},
		"a rule alone":       {map[string]string{"p/p.rego": "package p\nviolation contains {\"msg\": \"x\"}"}, []string{"-p", "p"}, 2, "p/p.rego:2:1: the rule violation is never asked, and no other uses it: it is Gatekeeper's; name it deny"},
		"versions":           {map[string]string{"p/p.rego": denyAll, "p/q.rego": autoscalers("v2") + "package q\ndeny contains \"x\""}, []string{"-p", "p"}, 1, "note: a cluster would refuse these policies together: "},
		"a kind":             {map[string]string{"p/p.rego": denyAll, "p/q.rego": strings.Replace(podMatch, "Pod", "pod", 1) + "package q\ndeny contains \"x\""}, []string{"-p", "p"}, 1, `note: p/q.rego:3: policy q: the cluster has no kind pod in group "" (yet); did you mean kind Pod in group ""?`},
		"tests nobody runs":  {map[string]string{"p/p.rego": denyAll, "p/test.rego": "package p_test\ntest_it if true"}, []string{"-p", "p"}, 1, "note: p/test.rego:2:1: test_it: not run as a test"},
		"patches":            {map[string]string{"p/p.rego": denyAll, "p/kustomization.yaml": "patches: [{path: p.yaml}]"}, []string{"-p", "p"}, 1, "note: p/kustomization.yaml:1: the kustomization is not built, and its patches change nothing here"},
		"a kind of somebody": {map[string]string{"p/p.rego": denyAll, "p/q.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: example.com, kind: Widget}]}\npackage q\ndeny contains \"x\""}, []string{"-p", "p"}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(folder(t, test.files))
			got := lintel(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", append([]string{"check", "-f", "-"}, test.args...)...)
			require.Equal(t, test.code, got.code, got.stdout+got.stderr)
			require.Contains(t, got.stderr, test.want)
			if test.want == "" {
				require.Empty(t, got.stderr)
			}
		})
	}
}
