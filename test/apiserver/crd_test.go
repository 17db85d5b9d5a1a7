// Package apiserver checks what we hand to an API server, generated
// CustomResourceDefinitions and computed webhook configurations, with the API
// server's own validation, defaulting, matching and CEL code, without a server.
//
// It is a module of its own, so that the API server's dependencies never enter the product's,
// and it reads nothing but config/: it checks exactly the installed manifests.
package apiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const configDir = "../../config"

// TestDefinitionsAreValid catches what only the API server would refuse, such
// as a CEL rule that does not compile or may cost more than its budget.
func TestDefinitionsAreValid(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(configDir, "crd", "*", "*_*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)

	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			definition := load(t, path)
			assert.Empty(t, crdvalidation.ValidateCustomResourceDefinition(t.Context(), internal(t, definition)))
		})
	}
}

func TestPolicySourceDefaults(t *testing.T) {
	server := newServer(t, "policy/policy.lintel.dev_policysources.yaml")

	object := server.admit(t, `
metadata: {name: example}
spec:
  inline: {files: {policy.rego: "package example"}}
`)

	spec := object["spec"].(map[string]any)
	assert.Equal(t, "Fail", spec["failurePolicy"])
	assert.Equal(t, "1m", spec["interval"])
	assert.Equal(t, map[string]any{"level": "enterprise"}, spec["scope"])
}

func TestPolicySourceKeepsParameters(t *testing.T) {
	server := newServer(t, "policy/policy.lintel.dev_policysources.yaml")

	object := server.admit(t, `
metadata: {name: example}
spec:
  inline: {files: {policy.rego: "package example"}}
  parameters: {limits: {cpu: ["1", 2, null]}}
`)

	want := map[string]any{"limits": map[string]any{"cpu": []any{"1", int64(2), nil}}}
	assert.Equal(t, want, object["spec"].(map[string]any)["parameters"])
}

func TestPolicySourceValidation(t *testing.T) {
	server := newServer(t, "policy/policy.lintel.dev_policysources.yaml")

	tests := []struct {
		name string
		spec string
		want string // part of the message; empty when the object is valid
	}{
		{"inline alone", `{inline: {files: {a.rego: ""}}}`, ""},
		{"git alone", `{git: {url: "https://example.com/p.git", ref: {branch: main}, path: ./policies}}`, ""},
		{"oci alone", `{oci: {url: "oci://registry.example.com:5000/policies", ref: {tag: v1}}}`, ""},
		{"no origin", `{suspend: true}`, "exactly one of inline, git and oci"},
		{"two origins", `{inline: {files: {a.rego: ""}}, git: {url: "https://example.com/p.git"}}`, "exactly one of inline, git and oci"},
		{"no files", `{inline: {files: {}}}`, "at least 1 properties"},
		{"absolute path of a file", `{inline: {files: {/etc/a.rego: ""}}}`, "relative"},
		{"path of a file that climbs", `{inline: {files: {a/../../b.rego: ""}}}`, "relative"},
		{"absolute path", `{git: {url: "https://example.com/p.git", path: /etc}}`, "relative"},
		{"path that climbs", `{oci: {url: "oci://example.com/p", path: a/../../b}}`, "relative"},
		{"path with dots in a name", `{git: {url: "https://example.com/p.git", path: "a..b/c"}}`, ""},
		{"local repository", `{git: {url: "file:///srv/p.git"}}`, ""},
		{"unknown scheme", `{git: {url: "git://example.com/p.git"}}`, "write git@host:path as ssh://git@host/path"},
		{"abbreviated commit", `{git: {url: "https://example.com/p.git", ref: {commit: abc1234}}}`, "should match"},
		{"digest in the URL", `{oci: {url: "oci://example.com/p@sha256:00"}}`, "should match"},
		{"unknown failure policy", `{inline: {files: {a.rego: ""}}, failurePolicy: Deny}`, "Unsupported value"},
		{"short interval", `{inline: {files: {a.rego: ""}}, interval: 1s}`, "at least 5s"},
		{"interval without unit", `{inline: {files: {a.rego: ""}}, interval: "60"}`, "should match"},
		{"parameters that are no object", `{inline: {files: {a.rego: ""}}, parameters: [1]}`, "must be of type object"},
		{"enterprise with namespaces", `{inline: {files: {a.rego: ""}}, scope: {name: acme, parent: "", namespaces: ["*"]}}`, ""},
		{"enterprise with a parent", `{inline: {files: {a.rego: ""}}, scope: {parent: acme}}`, "has no parent"},
		{"team", `{inline: {files: {a.rego: ""}}, scope: {level: team, name: blue, parent: shop, namespaces: ["blue-*"]}}`, ""},
		{"team without a name", `{inline: {files: {a.rego: ""}}, scope: {level: team, namespaces: ["blue-*"]}}`, "needs a name"},
		{"team without namespaces", `{inline: {files: {a.rego: ""}}, scope: {level: team, name: blue}}`, "must list its namespaces"},
		{"unknown level", `{inline: {files: {a.rego: ""}}, scope: {level: squad, name: blue, namespaces: [blue]}}`, "Unsupported value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errs := server.validate(t, server.parse(t, "{metadata: {name: example}, spec: "+tt.spec+"}"))
			if tt.want == "" {
				assert.Empty(t, errs)
				return
			}
			assert.ErrorContains(t, errs.ToAggregate(), tt.want)
		})
	}
}

func TestPolicySourceNameFitsALabel(t *testing.T) {
	server := newServer(t, "policy/policy.lintel.dev_policysources.yaml")
	object := server.parse(t, `{metadata: {name: `+strings.Repeat("a", 64)+`}, spec: {inline: {files: {a.rego: ""}}}}`)
	assert.ErrorContains(t, server.validate(t, object).ToAggregate(), "at most 63 characters")
}

// TestSamplesAreValid admits every sample PolicySource, and finds fields that
// the API server would silently drop.
func TestSamplesAreValid(t *testing.T) {
	server := newServer(t, "policy/policy.lintel.dev_policysources.yaml")
	samples, err := filepath.Glob(filepath.Join(configDir, "samples", "*.yaml"))
	require.NoError(t, err)

	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		require.NoError(t, err)
		server.admit(t, string(text))
	}
}

func TestOpenClawDefaults(t *testing.T) {
	object := newServer(t, "openclaw/openclaw.enterprise.io_openclawinstances.yaml").admit(t, `
metadata: {name: example}
spec:
  auth: {provider: okta, clientId: id, clientSecretRef: {name: sso}}
  storage: {postgresSecretRef: {name: postgres}, redisSecretRef: {name: redis}}
  integrations: [{type: gmail}, {type: jira, enabled: false, config: {baseUrl: x}}]
`)
	want := map[string]any{
		"deploymentMode": "single", "replicas": int64(1),
		"auth": map[string]any{"provider": "okta", "clientId": "id", "clientSecretRef": map[string]any{"name": "sso", "key": "client-secret"}},
		"storage": map[string]any{
			"postgresSecretRef": map[string]any{"name": "postgres", "key": "connection-string"},
			"redisSecretRef":    map[string]any{"name": "redis", "key": "connection-string"},
		},
		"integrations": []any{
			map[string]any{"type": "gmail", "enabled": true, "config": map[string]any{}},
			map[string]any{"type": "jira", "enabled": false, "config": map[string]any{"baseUrl": "x"}},
		},
	}
	assert.Equal(t, want, object["spec"])
}

func TestOpenClawValidation(t *testing.T) {
	instances := newServer(t, "openclaw/openclaw.enterprise.io_openclawinstances.yaml")
	bundles := newServer(t, "openclaw/openclaw.enterprise.io_policybundles.yaml")
	instance := func(more string) string {
		return `{metadata: {name: example}, spec: {auth: {provider: okta, clientId: id, clientSecretRef: {name: a}},
			storage: {postgresSecretRef: {name: a}, redisSecretRef: {name: a}}` + more + `}}`
	}
	bundle := func(policies string) string { return `{metadata: {name: example}, spec: {policies: ` + policies + `}}` }
	tests := []struct {
		name   string
		server server
		text   string
		want   string // part of the message; empty when the object is valid
	}{
		{"images", instances, instance(`, images: {gateway: a, opa: b}`), ""},
		{"mode", instances, instance(`, deploymentMode: cluster`), `supported values: "single", "ha"`},
		{"replicas", instances, instance(`, replicas: 0`), "greater than or equal to 1"},
		{"type of a connector", instances, instance(`, integrations: [{enabled: true}]`), "type"},
		{"no auth", instances, `{metadata: {name: example}, spec: {storage: {postgresSecretRef: {name: a}, redisSecretRef: {name: a}}}}`, "spec.auth"},
		{"name of a Secret", instances, strings.ReplaceAll(instance(""), "redisSecretRef: {name: a}", "redisSecretRef: {key: a}"), "redisSecretRef.name"},
		{"a name that no Service has", instances, strings.Replace(instance(""), "name: example", "name: 1.example", 1), "the Service is named after it"},
		{"a name that is too long", instances, strings.Replace(instance(""), "name: example", "name: "+strings.Repeat("a", 56), 1), "at most 55 characters"},
		{"policy", bundles, bundle(`[{scope: team, domain: agent-to-agent, name: a, content: b}]`), ""},
		{"no policies", bundles, bundle(`[]`), "at least 1 items"},
		{"scope", bundles, bundle(`[{scope: squad, domain: data, name: a, content: b}]`), `supported values: "enterprise", "org", "team", "user"`},
		{"domain", bundles, bundle(`[{scope: team, domain: network, name: a, content: b}]`), `supported values: "models", "actions", "integrations", "agent-to-agent", "features", "data", "audit"`},
		{"no name", bundles, bundle(`[{scope: team, domain: data, name: "", content: b}]`), "name"},
		{"no content", bundles, bundle(`[{scope: team, domain: data, name: a}]`), "content"},
		{"selector", bundles, `{metadata: {name: example}, spec: {instanceSelector: {matchLabels: {a: b}}, policies: [{scope: team, domain: data, name: a, content: b}]}}`, ""},
		{"a long name", bundles, strings.Replace(bundle(`[{scope: team, domain: data, name: a, content: b}]`), "name: example", "name: "+strings.Repeat("a", 64), 1), "at most 63 characters"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errs := tt.server.validate(t, tt.server.parse(t, tt.text))
			if tt.want == "" {
				assert.Empty(t, errs)
				return
			}
			assert.ErrorContains(t, errs.ToAggregate(), tt.want)
		})
	}
}

// TestOpenClawKinds holds names and columns to the product document.
func TestOpenClawKinds(t *testing.T) {
	for file, want := range map[string]struct{ short, columns string }{
		"openclaw/openclaw.enterprise.io_openclawinstances.yaml": {"oci", "Mode string .spec.deploymentMode; Replicas integer .spec.replicas; Ready integer .status.readyReplicas; Phase string .status.phase; Age date .metadata.creationTimestamp"},
		"openclaw/openclaw.enterprise.io_policybundles.yaml":     {"pb", "Applied integer .status.applied; Total integer .status.total; Age date .metadata.creationTimestamp"},
	} {
		spec := load(t, filepath.Join(configDir, "crd", file)).Spec
		assert.Equal(t, []string{want.short}, spec.Names.ShortNames)
		assert.Equal(t, apiextensionsv1.NamespaceScoped, spec.Scope)
		require.Len(t, spec.Versions, 1)
		assert.Equal(t, "v1", spec.Versions[0].Name)
		assert.NotNil(t, spec.Versions[0].Subresources.Status)
		var columns []string
		for _, column := range spec.Versions[0].AdditionalPrinterColumns {
			columns = append(columns, column.Name+" "+column.Type+" "+column.JSONPath)
		}
		assert.Equal(t, want.columns, strings.Join(columns, "; "))
	}
}

func TestOpenClawSamplesAreValid(t *testing.T) {
	for sample, definition := range map[string]string{
		"openclawinstance.yaml": "openclaw/openclaw.enterprise.io_openclawinstances.yaml",
		"policybundle.yaml":     "openclaw/openclaw.enterprise.io_policybundles.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(configDir, "samples", "openclaw", sample))
		require.NoError(t, err)
		newServer(t, definition).admit(t, string(text))
	}
}

// server does with an object what the API server does, in the same order.
type server struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	cel        *cel.Validator
}

func newServer(t *testing.T, file string) server {
	// Conversion moves the schema of an only version to the top.
	props := internal(t, load(t, filepath.Join(configDir, "crd", file))).Spec.Validation
	structural, err := schema.NewStructural(props.OpenAPIV3Schema)
	require.NoError(t, err)
	validator, _, err := validation.NewSchemaValidator(props.OpenAPIV3Schema)
	require.NoError(t, err)
	return server{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

func (s server) parse(t *testing.T, text string) map[string]any {
	var object map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &object))
	integers(object)
	unknown := pruning.PruneWithOptions(object, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	require.Empty(t, unknown, "unknown fields")
	defaulting.Default(object, s.structural)
	return object
}

func (s server) validate(t *testing.T, object map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, object, s.schema)
	if len(errs) > 0 {
		return errs
	}
	errs, _ = s.cel.Validate(t.Context(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return errs
}

func (s server) admit(t *testing.T, text string) map[string]any {
	object := s.parse(t, text)
	require.Empty(t, s.validate(t, object))
	return object
}

// integers turns whole numbers into int64, as the API server's decoder does.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			value[key] = integers(member)
		}
	case []any:
		for i, member := range value {
			value[i] = integers(member)
		}
	case float64:
		if whole := int64(value); float64(whole) == value {
			return whole
		}
	}
	return value
}

func load(t *testing.T, path string) *apiextensionsv1.CustomResourceDefinition {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict(text, definition))
	// What the API server fills in before it validates.
	apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
	definition.Status.StoredVersions = []string{}
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			definition.Status.StoredVersions = append(definition.Status.StoredVersions, version.Name)
		}
	}
	return definition
}

func internal(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	out := &apiextensions.CustomResourceDefinition{}
	require.NoError(t, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(definition, out, nil))
	return out
}
