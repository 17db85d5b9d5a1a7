package kyverno

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	yaml "go.yaml.in/yaml/v3"
)

// FuzzTemplate converts texts with variables. Each is converted to Rego that parses, or refused with
// a line; none is lost.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"{{ request.object.metadata.name }}", "a {{ request.name || 'x' }} b", "{{ regex_match('a', '{{ request.name }}') }}",
		"{{ label_match(request.object.metadata.labels, `{{ request.object.spec }}`) }}", `{{ request.object."{{ request.name }}".x }}`,
		"{{ unterminated", "{{ a {{ b }}", `\{{ text }}`, "{{ {a: {b: request.name}}.a.b }}", "{{ images.containers.*.name }}", "{{- request.name }}",
		"{{ request.object.spec.containers[?name == '{{ request.name }}'].image | [0] }}", "{{ {{ request.name }} }}", "$(./../b)", "{{ @ }}", "{{ '\x010\x01' }}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Skip()
		}
		validate := map[string]any{"message": text, "deny": map[string]any{"conditions": map[string]any{"any": []any{map[string]any{"key": text, "operator": "Equals", "value": "x"}}}}}
		rule := map[string]any{
			"name": text, "match": map[string]any{"any": []any{map[string]any{"resources": map[string]any{"kinds": []any{"Pod"}}}}},
			"context":  []any{map[string]any{"name": "a", "apiCall": map[string]any{"urlPath": "/api/v1/namespaces/" + text + "/pods/" + text, "jmesPath": text}}},
			"validate": validate,
		}
		patches := map[string]any{
			"name": "mutate", "match": rule["match"],
			"mutate": map[string]any{"foreach": []any{map[string]any{"list": text, "patchesJson6902": "- {op: add, path: '/spec/containers/{{elementIndex}}/image', value: " + text + "}"}}},
		}
		for _, one := range []any{rule, patches} {
			document, err := yaml.Marshal(map[string]any{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": map[string]any{"name": text}, "spec": map[string]any{"rules": []any{one}}})
			require.NoError(t, err)
			results, err := Convert([]Input{{"policy.yaml", document}}, ExceptionSettings{}, nil)
			require.NoError(t, err)
			require.Len(t, results.Policies, 1)
			for _, refusal := range results.Policies[0].Refusals {
				require.Positive(t, refusal.Line)
			}
			require.True(t, len(results.Policies[0].Refusals) > 0 || len(results.Policies[0].Files) == 1)
		}
	})
}
