package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type schema = apiextensionsv1.JSONSchemaProps

// kubernetes are types of Kubernetes by fields that only they have together. Their own
// fields are not listed.
var kubernetes = []struct {
	name   string
	fields []string
}{
	{"Affinity", []string{"nodeAffinity", "podAffinity"}},
	{"Volume", []string{"configMap", "emptyDir", "secret"}},
	{"VolumeMount", []string{"mountPath", "subPathExpr"}},
	{"EnvVar", []string{"name", "value", "valueFrom"}},
	{"EnvFromSource", []string{"configMapRef", "secretRef"}},
	{"Toleration", []string{"effect", "tolerationSeconds"}},
	{"TopologySpreadConstraint", []string{"maxSkew", "topologyKey"}},
	{"ResourceRequirements", []string{"claims", "limits", "requests"}},
	{"SecurityContext", []string{"allowPrivilegeEscalation", "privileged"}},
	{"PodSecurityContext", []string{"fsGroup", "supplementalGroups"}},
	{"LabelSelector", []string{"matchExpressions", "matchLabels"}},
	{"Condition", []string{"lastTransitionTime", "observedGeneration", "reason"}},
}

// addAPI adds a page for each kind, with all fields of its spec and status.
func (p pages) addAPI(t *testing.T) {
	files, err := filepath.Glob(root + "/config/crd/*/*_*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var rows [][]string
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var crd apiextensionsv1.CustomResourceDefinition
		require.NoError(t, yaml.UnmarshalStrict(content, &crd))
		system := filepath.Base(filepath.Dir(file))
		for _, version := range crd.Spec.Versions {
			name := fmt.Sprintf("%s/%s.md", system, strings.ToLower(crd.Spec.Names.Kind))
			p.addKind(t, "api/"+name, crd, version)
			rows = append(rows, []string{
				fmt.Sprintf("[%s](%s)", crd.Spec.Names.Kind, name), code(crd.Spec.Group + "/" + version.Name), cell(firstSentence(version.Schema.OpenAPIV3Schema.Description)),
			})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	p.add(t, "api/index.md", "API", "the CustomResourceDefinitions", "Each kind has a page with all its fields.",
		[]section{{text: table([]string{"Kind", "API version", "Description"}, rows)}})
}

func firstSentence(text string) string {
	before, _, _ := strings.Cut(strings.ReplaceAll(text, "\n", " "), ". ")
	return sentence(before)
}

func (p pages) addKind(t *testing.T, page string, crd apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) {
	t.Helper()
	top := version.Schema.OpenAPIV3Schema
	kind := crd.Spec.Names.Kind
	introduction := fmt.Sprintf("%s\n\nAPI version `%s/%s`, %s.", cell(sentence(top.Description)), crd.Spec.Group, version.Name, strings.ToLower(string(crd.Spec.Scope)))
	if len(crd.Spec.Names.ShortNames) > 0 {
		introduction += fmt.Sprintf(" Short names: `%s`.", strings.Join(crd.Spec.Names.ShortNames, "`, `"))
	}
	if rules := rulesOf(*top); rules != "" {
		introduction += "\n\n" + rules
	}
	var sections []section
	for _, name := range slices.Sorted(maps.Keys(top.Properties)) {
		if slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		fields := &fieldList{t: t, kind: kind}
		fields.add(name, top.Properties[name], top.Properties[name].Required)
		for i, rows := range fields.parts() {
			heading := name
			if i > 0 {
				heading = fmt.Sprintf("%s, from %s", name, strings.Split(rows[0][0], "`")[1])
			}
			sections = append(sections, section{heading, fmt.Sprintf("## %s\n\n%s", heading, table([]string{"Field", "Description"}, rows))})
		}
	}
	p.add(t, page, kind, "the CustomResourceDefinition", introduction, sections)
}

// fieldList collects the rows of fields.
type fieldList struct {
	t    *testing.T
	kind string
	rows [][]string
}

// parts divides the rows so that each part fits on a page.
func (l *fieldList) parts() (parts [][][]string) {
	size := 0
	for _, row := range l.rows {
		if size += len(strings.Join(row, " | ")) + 8; size > limit-1500 || len(parts) == 0 {
			parts, size = append(parts, nil), 0
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], row)
	}
	return parts
}

// add appends the fields of an object, and of the objects in them.
func (l *fieldList) add(path string, s schema, required []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		at := path + "." + name
		assert.NotEmpty(l.t, strings.TrimSpace(field.Description), "%s: field %s has no description", l.kind, at)
		inner, suffix, typed := unwrap(field)
		facts := cell(typed)
		if standard := defaultOf(field); standard != "" {
			facts += ", default " + code(standard)
		}
		l.rows = append(l.rows, []string{code(at) + "<br>" + facts, cell(describe(field, slices.Contains(required, name)))})
		if kubernetesType(inner) == "" {
			l.add(at+suffix, inner, inner.Required)
		}
	}
}

// unwrap returns the innermost schema of lists and maps, how a path goes on there, and the
// name of the type.
func unwrap(s schema) (inner schema, suffix, typed string) {
	switch {
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		inner, suffix, typed = unwrap(*s.Items.Schema)
		return inner, "[]" + suffix, "list of " + typed
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		inner, suffix, typed = unwrap(*s.AdditionalProperties.Schema)
		return inner, ".*" + suffix, "map of " + typed
	case s.XIntOrString:
		return s, "", "integer or string"
	case kubernetesType(s) != "":
		return s, "", kubernetesType(s) + " (Kubernetes)"
	case s.Format != "":
		return s, "", s.Type + " (" + s.Format + ")"
	case s.Type == "":
		return s, "", "any"
	}
	return s, "", s.Type
}

func kubernetesType(s schema) string {
	for _, k := range kubernetes {
		has := func(field string) bool { _, ok := s.Properties[field]; return ok }
		if !slices.ContainsFunc(k.fields, func(field string) bool { return !has(field) }) {
			return k.name
		}
	}
	return ""
}

func defaultOf(s schema) string {
	if s.Default == nil {
		return ""
	}
	var value any
	if json.Unmarshal(s.Default.Raw, &value) == nil {
		if text, ok := value.(string); ok && text != "" {
			return text
		}
	}
	return string(s.Default.Raw)
}

// describe is the description of a field with its validation.
func describe(s schema, required bool) string {
	parts := []string{sentence(s.Description)}
	if required {
		parts = append([]string{"Required."}, parts...)
	}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, "`"+strings.Trim(string(value.Raw), `"`)+"`")
		}
		add("One of %s.", strings.Join(values, ", "))
	}
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"Minimum", s.Minimum}, {"Maximum", s.Maximum}} {
		if bound.value != nil {
			add("%s: %g.", bound.name, *bound.value)
		}
	}
	for _, bound := range []struct {
		name  string
		value *int64
	}{
		{"Minimum length", s.MinLength}, {"Maximum length", s.MaxLength}, {"Minimum items", s.MinItems}, {"Maximum items", s.MaxItems},
		{"Minimum entries", s.MinProperties}, {"Maximum entries", s.MaxProperties},
	} {
		if bound.value != nil {
			add("%s: %d.", bound.name, *bound.value)
		}
	}
	if s.Pattern != "" {
		add("Pattern: `%s`.", s.Pattern)
	}
	if rules := rulesOf(s); rules != "" {
		parts = append(parts, rules)
	}
	return strings.Join(parts, " ")
}

// rulesOf are the messages of a schema's CEL rules.
func rulesOf(s schema) string {
	var rules []string
	for _, rule := range s.XValidations {
		text := rule.Message
		if text == "" {
			text = "`" + rule.Rule + "`"
		}
		rules = append(rules, strings.TrimSuffix(text, "."))
	}
	if len(rules) == 0 {
		return ""
	}
	return "Validation: " + strings.Join(rules, "; ") + "."
}
