package gatekeeper

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The API of constraints.
const (
	constraintGroup   = "constraints.gatekeeper.sh"
	constraintVersion = "v1beta1"
	// templateLabel is the label of the kinds that this controller created.
	templateLabel = "lintel.dev/gatekeeper-template"
)

func crdName(kind string) string { return strings.ToLower(kind) + "." + constraintGroup }

// crdOf returns the CRD of a template's constraints. It has the template's schema if the API
// server accepts that.
func crdOf(template unstructured.Unstructured, withSchema bool) *unstructured.Unstructured {
	kind := constraintKind(template)
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	parameters := anything
	if schema, ok, _ := unstructured.NestedMap(template.Object, "spec", "crd", "spec", "validation", "openAPIV3Schema"); ok && withSchema {
		parameters = schema
		// This is the API server's default for templates written as v1beta1.
		if legacy, _, _ := unstructured.NestedBool(template.Object, "spec", "crd", "spec", "validation", "legacySchema"); legacy {
			parameters = withUnknownFields(schema)
		}
	}
	text := func(values ...any) map[string]any { return map[string]any{"type": "string", "enum": values} }
	schema := map[string]any{"openAPIV3Schema": map[string]any{
		"type": "object",
		"properties": map[string]any{
			"spec": map[string]any{
				"type": "object",
				"properties": map[string]any{
					"enforcementAction":        text("deny", "warn", "dryrun", "scoped"),
					"scopedEnforcementActions": map[string]any{"type": "array", "items": anything},
					"match":                    anything,
					"parameters":               parameters,
				},
			},
			"status": anything,
		},
	}}
	version := func(name string, stored bool) map[string]any {
		return map[string]any{
			"name": name, "served": true, "storage": stored, "schema": schema,
			"subresources": map[string]any{"status": map[string]any{}},
			"additionalPrinterColumns": []any{
				map[string]any{"name": "enforcement-action", "type": "string", "jsonPath": ".spec.enforcementAction"},
				map[string]any{"name": "total-violations", "type": "integer", "jsonPath": ".status.totalViolations"},
			},
		}
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{
			"group": constraintGroup,
			"scope": "Cluster",
			"names": map[string]any{
				"kind": kind, "listKind": kind + "List", "singular": strings.ToLower(kind), "plural": strings.ToLower(kind),
				"categories": []any{"constraint", "constraints"},
			},
			"versions": []any{version(constraintVersion, true), version("v1alpha1", false)},
		},
	}}
	crd.SetName(crdName(kind))
	crd.SetLabels(map[string]string{templateLabel: template.GetName()})
	// Like in Gatekeeper, deleting the template deletes its constraints.
	owner := map[string]any{
		"apiVersion": template.GetAPIVersion(), "kind": template.GetKind(), "name": template.GetName(), "uid": string(template.GetUID()),
	}
	_ = unstructured.SetNestedSlice(crd.Object, []any{owner}, "metadata", "ownerReferences")
	return crd
}

// withUnknownFields returns a copy of a schema whose objects keep undeclared fields, like the
// parameters of Gatekeeper templates with legacySchema.
func withUnknownFields(schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	switch kind, _ := schema["type"].(string); kind {
	case "", "object":
		out["x-kubernetes-preserve-unknown-fields"] = true
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key].(map[string]any); ok {
			out[key] = withUnknownFields(inner)
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		copied := make(map[string]any, len(properties))
		for name, property := range properties {
			if inner, ok := property.(map[string]any); ok {
				property = withUnknownFields(inner)
			}
			copied[name] = property
		}
		out["properties"] = copied
	}
	return out
}
