package kinds

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/config/crd"
	"github.com/lintel-policy/lintel/policies/admission"
)

// arrive is what becomes of an object in YAML that is created.
func arrive(t *testing.T, k *Kinds, object string) (map[string]any, error) {
	t.Helper()
	text, kind := read(t, object)
	out, err := k.Arrive(text, kind, true)
	if err == nil {
		err = k.Validate(t.Context(), out, kind)
	}
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	require.NoError(t, json.Unmarshal(out, &fields))
	return fields, nil
}

func read(t *testing.T, object string) ([]byte, schema.GroupVersionKind) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(object))
	require.NoError(t, err)
	var header struct{ APIVersion, Kind string }
	require.NoError(t, json.Unmarshal(text, &header))
	return text, schema.FromAPIVersionAndKind(header.APIVersion, header.Kind)
}

const widget = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, maximum: 10}
              color: {type: string, default: red, enum: [red, blue]}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
            x-kubernetes-validations: [{rule: "self.color != 'blue' || self.size > 1", message: blue ones are larger than 1}]
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v0
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`

func widgetKinds(t *testing.T) *Kinds {
	t.Helper()
	definition, err := ReadDefinition([]byte(widget))
	require.NoError(t, err)
	return New(definition)
}

func TestArrive(t *testing.T) {
	const made = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\n"
	for name, test := range map[string]struct{ object, want string }{
		"right":            {made + "spec: {size: 1}", ""},
		"unknown field":    {made + "spec: {size: 1, sise: 2}", `Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.sise"`},
		"two of them":      {made + "other: 1\nspec: {size: 1, sise: 2}", `strict decoding error: unknown field "other", unknown field "spec.sise"`},
		"in metadata":      {"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, label: {}}\nspec: {size: 1}", `unknown field "metadata.label"`},
		"wrong type":       {made + "spec: {size: large}", `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`},
		"metadata's type":  {"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, labels: 1}\nspec: {size: 1}", "cannot be handled as a Widget"},
		"missing":          {made + "spec: {}", "spec.size: Required value"},
		"too large":        {made + "spec: {size: 11}", "spec.size in body should be less than or equal to 10"},
		"not one of":       {made + "spec: {size: 1, color: green}", `supported values: "red", "blue"`},
		"twice in a set":   {made + "spec: {size: 1, tags: [a, a]}", `spec.tags[1]: Duplicate value: "a"`},
		"a rule":           {made + "spec: {size: 1, color: blue}", "blue ones are larger than 1"},
		"name":             {"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: A}\nspec: {size: 1}", "metadata.name: Invalid value"},
		"generated name":   {"apiVersion: example.com/v1\nkind: Widget\nmetadata: {generateName: a-, namespace: shop}\nspec: {size: 1}", ""},
		"not served":       {"apiVersion: example.com/v0\nkind: Widget\nmetadata: {name: a}", "Widget.example.com is not served in v0: write v1beta1 or v1"},
		"Kubernetes' own":  {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, imagee: b}]}", `Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].imagee"`},
		"its wrong type":   {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostPID: \"yes\"}", "json: cannot unmarshal string into Go struct field PodSpec.spec.hostPID of type bool"},
		"its right one":    {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}", ""},
		"nobody's":         {"apiVersion: example.org/v1\nkind: Widget\nspec: {sise: 1}", ""},
		"Lintel's own":     {"apiVersion: orloj.dev/v1\nkind: Tool\nmetadata: {name: a, namespace: shop}\nspec: {tyype: http}", `strict decoding error: unknown field "spec.tyype"`},
		"and its rule":     {"apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\nmetadata: {name: a}\nspec: {}", "exactly one of inline, git and oci must be set"},
		"a wrong type too": {"apiVersion: openclaw.enterprise.io/v1\nkind: PolicyBundle\nmetadata: {name: a, namespace: shop}\nspec: []", "must be of type object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := arrive(t, widgetKinds(t), test.object)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestArriveMakesWhatTheAPIServerMakes(t *testing.T) {
	got, err := arrive(t, widgetKinds(t), "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\nspec: {size: 1}\nstatus: {x: 1}")
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"size": 1.0, "color": "red"}, got["spec"])
	assert.NotContains(t, got, "status")
}

func TestAnUpdateKeepsTheStatus(t *testing.T) {
	text, kind := read(t, "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\nspec: {size: 1}\nstatus: {x: 1}")
	got, err := widgetKinds(t).Arrive(text, kind, false)
	require.NoError(t, err)
	require.Contains(t, string(got), `"status":{"x":1}`)
}

// TestAClusterKnowsItsOwnKinds: its version may have other fields than the one that Lintel is
// built with.
func TestAClusterKnowsItsOwnKinds(t *testing.T) {
	text, kind := read(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, imagee: b}]}")
	got, err := NewOfCluster().Arrive(text, kind, true)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(got))

	own, err := ReadDefinition([]byte(strings.NewReplacer("example.com", "orloj.dev", "Widget", "Tool", "widgets", "tools").Replace(widget)))
	require.NoError(t, err)
	_, err = arrive(t, New(own), "apiVersion: orloj.dev/v1\nkind: Tool\nmetadata: {name: a, namespace: shop}\nspec: {size: 1}")
	require.NoError(t, err, "what is given takes the place of Lintel's own")
}

func TestADefinitionWithoutNamesDefinesNothing(t *testing.T) {
	for _, without := range []string{"kind: Widget, ", ", plural: widgets"} {
		definition, err := ReadDefinition([]byte(strings.Replace(widget, without, "", 1)))
		require.NoError(t, err)
		require.Empty(t, Resources(definition), without)
	}
}

// TestRulesAreNotAskedAboutWhatHasNoForm: they may fail for want of a field.
func TestRulesAreNotAskedAboutWhatHasNoForm(t *testing.T) {
	_, err := arrive(t, widgetKinds(t), "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\nspec: {color: blue}")
	require.ErrorContains(t, err, "spec.size: Required value")
	require.ErrorContains(t, err, "some validation rules were not checked because the object was invalid")
}

// TestEmbeddedKinds: the table of kinds and the definitions are of the same kinds, and
// every definition can be served.
func TestEmbeddedKinds(t *testing.T) {
	names, err := fs.Glob(crd.Files, "*/*.yaml")
	require.NoError(t, err)
	require.Len(t, names, 31)
	table := admission.BuiltinResources()
	for _, name := range names {
		text, err := crd.Files.ReadFile(name)
		require.NoError(t, err)
		definition, err := ReadDefinition(text)
		require.NoError(t, err)
		for _, resource := range Resources(definition) {
			known, ok := table.ByKind(resource.Group, resource.Kind)
			require.True(t, ok, "%s is missing from the table of kinds", resource.Kind)
			assert.Equal(t, resource, known)
			made, err := New().version(schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind})
			require.NoError(t, err)
			require.NotNil(t, made)
		}
	}
}

func TestResourcesPrefersAsTheAPIServerDoes(t *testing.T) {
	definition, err := ReadDefinition([]byte(widget))
	require.NoError(t, err)
	assert.Equal(t, []admission.ServedResource{
		{Group: "example.com", Version: "v1", Kind: "Widget", Name: "widgets", Namespaced: true},
		{Group: "example.com", Version: "v1beta1", Kind: "Widget", Name: "widgets", Namespaced: true},
	}, Resources(definition))
}

func TestConvert(t *testing.T) {
	const (
		v1 = "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}"
		v2 = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}"
	)
	cpu := func(percent float64) []any {
		return []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": percent}}}}
	}
	for name, test := range map[string]struct {
		object, to string
		path       []string
		want       any
		unknown    string
	}{
		"a target becomes a metric":  {v1 + ", targetCPUUtilizationPercentage: 50}", "v2", []string{"spec", "metrics"}, cpu(50), ""},
		"none becomes the default's": {v1 + "}", "v2", []string{"spec", "metrics"}, cpu(80), ""},
		"at least one":               {v1 + "}", "v2", []string{"spec", "minReplicas"}, 1.0, ""},
		"the version":                {v1 + "}", "v2", []string{"apiVersion"}, "autoscaling/v2", ""},
		"a metric becomes a target": {v2 + ", metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}",
			"v1", []string{"spec", "targetCPUUtilizationPercentage"}, 50.0, ""},
		"no metric becomes the default's": {v2 + "}", "v1", []string{"spec", "targetCPUUtilizationPercentage"}, 80.0, ""},
		"memory":                          {v2 + ", metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}]}", "v1", nil, nil, "autoscaling/v1 has no fields for spec.metrics"},
		"behavior":                        {v2 + ", behavior: {scaleDown: {stabilizationWindowSeconds: 1}}}", "v1", nil, nil, "autoscaling/v1 has no fields for spec.behavior"},
		"carried": {"apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a, annotations: {autoscaling.alpha.kubernetes.io/metrics: \"[]\"}}\nspec: {maxReplicas: 3}",
			"v2", nil, nil, "what the annotation autoscaling.alpha.kubernetes.io/metrics becomes"},
		"a custom one":        {"apiVersion: example.com/v1beta1\nkind: Widget\nspec: {size: 1}", "v1", []string{"apiVersion"}, "example.com/v1", ""},
		"and all it has":      {"apiVersion: example.com/v1beta1\nkind: Widget\nspec: {sise: 1}", "v1", []string{"spec"}, map[string]any{"sise": 1.0}, ""},
		"another of the core": {"apiVersion: policy/v1beta1\nkind: PodDisruptionBudget", "v1", nil, nil, "write it as policy/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			text, kind := read(t, test.object)
			got, err := widgetKinds(t).Convert(text, kind, test.to)
			if test.unknown != "" {
				require.ErrorIs(t, err, ErrNotKnown)
				require.ErrorContains(t, err, test.unknown)
				return
			}
			require.NoError(t, err)
			var value any
			require.NoError(t, json.Unmarshal(got, &value))
			for _, field := range test.path {
				value = value.(map[string]any)[field]
			}
			assert.Equal(t, test.want, value)
		})
	}
	t.Run("by a webhook", func(t *testing.T) {
		definition, err := ReadDefinition([]byte(widget + "  conversion: {strategy: Webhook}\n"))
		require.NoError(t, err)
		text, kind := read(t, "apiVersion: example.com/v1beta1\nkind: Widget")
		_, err = New(definition).Convert(text, kind, "v1")
		require.ErrorIs(t, err, ErrNotKnown)
		require.ErrorContains(t, err, "a webhook converts Widget.example.com from v1beta1 to v1; write it as example.com/v1")
	})
}
