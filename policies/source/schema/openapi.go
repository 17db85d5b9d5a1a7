package schema

import (
	"encoding/json"
	"strings"
)

// OpenAPI is a schema as OpenAPI v3 documents and CustomResourceDefinitions write it, limited to
// the parts that define fields.
type OpenAPI struct {
	Ref                  string              `json:"$ref"`
	Type                 string              `json:"type"`
	Format               string              `json:"format"`
	Properties           map[string]*OpenAPI `json:"properties"`
	Items                *OpenAPI            `json:"items"`
	AdditionalProperties json.RawMessage     `json:"additionalProperties"`
	AllOf                []*OpenAPI          `json:"allOf"`
	IntOrString          bool                `json:"x-kubernetes-int-or-string"`
	PreserveUnknown      bool                `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded             bool                `json:"x-kubernetes-embedded-resource"`
	Kinds                []OpenAPIKind       `json:"x-kubernetes-group-version-kind"`
}

// OpenAPIKind is a kind that a schema of a cluster's document stands for.
type OpenAPIKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// componentPrefix begins a reference to another schema of the same document.
const componentPrefix = "#/components/schemas/"

// Document is what a cluster says of one group and version, in OpenAPI v3.
type Document struct {
	Components struct {
		Schemas map[string]*OpenAPI `json:"schemas"`
	} `json:"components"`
}

// Kind is the schema of a kind of the document: nil where it is not in it.
func (d *Document) Kind(kind OpenAPIKind) *Schema {
	for name, schema := range d.Components.Schemas {
		for _, is := range schema.Kinds {
			if is == kind {
				return ofKind((&converter{components: d.Components.Schemas, made: map[string]*Schema{}}).component(name))
			}
		}
	}
	return nil
}

// OfOpenAPI is the schema of a kind whose schema stands alone, as in a
// CustomResourceDefinition.
func OfOpenAPI(alone *OpenAPI) *Schema { return ofKind((&converter{}).schema(alone)) }

// converter keeps what became of components; one in the making is Any, which ends
// recursion.
type converter struct {
	components map[string]*OpenAPI
	made       map[string]*Schema
}

func (c *converter) component(name string) *Schema {
	if known, ok := c.made[name]; ok {
		return known
	}
	c.made[name] = anySchema
	c.made[name] = c.schema(c.components[name])
	return c.made[name]
}

func (c *converter) schema(in *OpenAPI) *Schema {
	switch {
	case in == nil, in.IntOrString, in.PreserveUnknown, in.Embedded, in.Format == "int-or-string":
		return anySchema
	case in.Ref != "":
		name, local := strings.CutPrefix(in.Ref, componentPrefix)
		if !local {
			return anySchema
		}
		return c.component(name)
	case in.Type == "" && len(in.AllOf) == 1: // a reference with a default
		return c.schema(in.AllOf[0])
	}
	switch in.Type {
	case "object":
		return c.object(in)
	case "array":
		return &Schema{Type: List, Items: c.schema(in.Items)}
	case "string":
		return textSchema
	case "integer", "number":
		return &Schema{Type: Number}
	case "boolean":
		return &Schema{Type: Boolean}
	default:
		return anySchema
	}
}

// object is Any unless the properties are all there can be.
func (c *converter) object(in *OpenAPI) *Schema {
	open := len(in.AdditionalProperties) > 0 && string(in.AdditionalProperties) != "false"
	if len(in.Properties) == 0 || open || len(in.AllOf) > 0 {
		return anySchema
	}
	fields := make(map[string]*Schema, len(in.Properties))
	for name, property := range in.Properties {
		fields[name] = c.schema(property)
	}
	return Of(fields)
}
