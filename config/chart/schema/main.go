// Command schema writes the schema of the values of the chart openvox-stack: what the chart
// adds, and the fields of the kinds as their CustomResourceDefinitions have them.
//
// Invariant: a name that is in none of the two is refused by Helm, as deep as it may be, and
// so is an object whose field enabled is left to its default, for it would have no effect.
//
// It is called in the root of the repository, by make generate.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/config/crd"
)

const file = "config/chart/openvox-stack/values.schema.json"

func main() {
	values, err := values()
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.MarshalIndent(values, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		log.Fatal(err)
	}
}

type schema = map[string]any

// dnsLabel is a name that follows that of the release in the name of an object.
var dnsLabel = schema{"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"}

// values is the schema.
func values() (schema, error) {
	kinds := map[string]schema{}
	for _, plural := range []string{"certificateauthorities", "certificates", "configs", "databases", "nodeclassifiers", "pools", "reportprocessors", "servers", "signingpolicies"} {
		spec, err := spec(plural)
		if err != nil {
			return nil, err
		}
		kinds[plural] = spec
	}
	classifier := with(kinds["nodeclassifiers"], schema{"name": dnsLabel})
	delete(classifier, "required") // an empty one is none
	certificate := with(kinds["certificates"], nil, "authorityRef")
	delete(certificate, "required") // its certname is the name of its server unless given
	database := with(kinds["databases"], schema{"name": dnsLabel, "certificate": certificate}, "certificateRef")
	delete(database, "required")
	values := object(schema{
		"global": schema{"type": "object"},
		"config": with(kinds["configs"], schema{"imageHasAutosign": schema{"type": "boolean"}}, "authorityRef"),
		"ca":     named(kinds["certificateauthorities"]),
		"gateway": object(schema{
			"name":      schema{"type": "string"},
			"namespace": schema{"type": "string"}, "sectionName": schema{"type": "string"},
		}),
		"signingPolicies": list(named(kinds["signingpolicies"], "certificateAuthorityRef")),
		"servers": list(named(with(kinds["servers"], schema{
			"certificate": certificate,
		}, "configRef", "certificateRef"))),
		"pools":            list(named(kinds["pools"])),
		"database":         database,
		"nodeClassifier":   classifier,
		"reportProcessors": list(named(kinds["reportprocessors"], "configRef")),
	})
	values["$schema"] = "http://json-schema.org/draft-07/schema#"
	values["title"] = "Values of the chart openvox-stack"
	values["required"] = slices.Sorted(maps.Keys(values["properties"].(schema)))
	values["required"] = slices.DeleteFunc(values["required"].([]string), func(name string) bool { return name == "global" })
	return values, nil
}

// spec is the schema of the field spec of a kind.
func spec(plural string) (schema, error) {
	path := fmt.Sprintf("openvox/openvox.voxpupuli.org_%s.yaml", plural)
	text, err := crd.Files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct{ Spec schema }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(definition.Spec.Versions) != 1 {
		return nil, fmt.Errorf("%s has %d versions, and not one", path, len(definition.Spec.Versions))
	}
	spec := strict(definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Spec)
	if properties := spec["properties"].(schema); properties["code"] != nil {
		properties["code"] = code
	}
	return spec, nil
}

// code is a list of sources of Puppet code, or one: a CustomResourceDefinition cannot say so.
var code = schema{"oneOf": []any{
	source, schema{"type": "array", "items": source, "maxItems": 32},
}}

var source = object(schema{
	"image": text, "claimName": text, "imagePullSecret": text, "environment": text, "mountPath": text,
	"imagePullPolicy": schema{"type": "string", "enum": []any{"Always", "IfNotPresent", "Never"}},
})

var text = schema{"type": "string", "minLength": 1}

// strict is what Helm is to check of a schema in a CustomResourceDefinition.
func strict(from schema) schema {
	to := schema{}
	for _, keyword := range []string{"type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "anyOf", "required"} {
		if value, ok := from[keyword]; ok {
			to[keyword] = value
		}
	}
	if items, ok := from["items"].(schema); ok {
		to["items"] = strict(items)
	}
	if each, ok := from["additionalProperties"].(schema); ok {
		to["additionalProperties"] = strict(each)
	}
	properties, ok := from["properties"].(schema)
	if !ok {
		return to
	}
	to["additionalProperties"] = false
	fields := schema{}
	for name, field := range properties {
		fields[name] = strict(field.(schema))
	}
	to["properties"] = fields
	if _, ok := fields["enabled"]; ok {
		require(to, "enabled")
	}
	return to
}

func require(of schema, name string) {
	required, _ := of["required"].([]any)
	if !slices.Contains(required, any(name)) {
		of["required"] = append(slices.Clone(required), name)
	}
}

// with is a schema with further properties, and without some that the chart sets.
func with(of schema, properties schema, without ...string) schema {
	to, fields := maps.Clone(of), maps.Clone(of["properties"].(schema))
	maps.Copy(fields, properties)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return slices.Contains(without, name) })
	to["properties"] = fields
	required, _ := of["required"].([]any)
	to["required"] = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return slices.Contains(without, name.(string)) })
	return to
}

// named is a schema with a name, and without some fields that the chart sets.
func named(of schema, without ...string) schema {
	to := with(of, schema{"name": dnsLabel}, without...)
	require(to, "name")
	return to
}

func object(properties schema) schema {
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

func list(items schema) schema { return schema{"type": "array", "items": items} }
