package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

const (
	// maxMismatches is the number of mismatches that an error lists, and maxMismatchBytes the
	// length of each: data may be long.
	maxMismatches    = 3
	maxMismatchBytes = 200
)

// newValidator reads a schema. It refuses keywords that the validator would ignore, with an error
// of type *Error.
func newValidator(text json.RawMessage) (validation.SchemaValidator, error) {
	var props apiextensionsv1.JSONSchemaProps
	strict, err := kjson.UnmarshalStrict(text, &props)
	if err = errors.Join(err, errors.Join(strict...)); err != nil {
		return nil, refuse(ReasonSchemaInvalid, "spec.schema: %v; use the keywords of openAPIV3Schema in a CustomResourceDefinition", err)
	}
	if err := checkKeywords(&props, "spec.schema"); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil); err != nil {
		return nil, refuse(ReasonSchemaInvalid, "spec.schema: %v", err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, refuse(ReasonSchemaInvalid, "spec.schema: %v", err)
	}
	return validator, nil
}

// schemaTypes are the types of JSON Schema.
var schemaTypes = []string{"", "array", "boolean", "integer", "number", "object", "string"}

// checkKeywords refuses what a schema of a CustomResourceDefinition cannot have.
func checkKeywords(s *apiextensionsv1.JSONSchemaProps, path string) error {
	if s == nil {
		return nil
	}
	for keyword, set := range map[string]bool{
		"$ref": s.Ref != nil, "id": s.ID != "", "patternProperties": len(s.PatternProperties) > 0, "dependencies": len(s.Dependencies) > 0,
		"definitions": len(s.Definitions) > 0, "additionalItems": s.AdditionalItems != nil, "default": s.Default != nil,
		"x-kubernetes-validations": len(s.XValidations) > 0, "items with several schemas": s.Items != nil && len(s.Items.JSONSchemas) > 0,
	} {
		if set {
			return refuse(ReasonSchemaInvalid, "%s: %s is not available; write the schema without it", path, keyword)
		}
	}
	if !slices.Contains(schemaTypes, s.Type) {
		return refuse(ReasonSchemaInvalid, "%s.type: Invalid value %q: use one of %s", path, s.Type, strings.Join(schemaTypes[1:], ", "))
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		return refuse(ReasonSchemaInvalid, "%s.pattern: %v", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if err := checkKeywords(&property, path+".properties."+name); err != nil {
			return err
		}
	}
	if s.Items != nil {
		if err := checkKeywords(s.Items.Schema, path+".items"); err != nil {
			return err
		}
	}
	if s.AdditionalProperties != nil {
		if err := checkKeywords(s.AdditionalProperties.Schema, path+".additionalProperties"); err != nil {
			return err
		}
	}
	for keyword, list := range map[string][]apiextensionsv1.JSONSchemaProps{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
		for i := range list {
			if err := checkKeywords(&list[i], fmt.Sprintf("%s.%s[%d]", path, keyword, i)); err != nil {
				return err
			}
		}
	}
	return checkKeywords(s.Not, path+".not")
}

// matchSchema compares data in JSON with a schema.
func matchSchema(schema json.RawMessage, asJSON []byte, name string) error {
	validator, err := newValidator(schema)
	if err != nil {
		return err
	}
	var value any
	if err := utiljson.Unmarshal(asJSON, &value); err != nil {
		return refuse(ReasonUnreadable, "%s cannot be read: %v", name, err)
	}
	mismatches := validation.ValidateCustomResource(field.NewPath("data"), value, validator)
	if len(mismatches) == 0 {
		return nil
	}
	var texts []string
	for _, mismatch := range mismatches[:min(len(mismatches), maxMismatches)] {
		// The values of the data are left out: they may be long, or confidential.
		texts = append(texts, shorten(strings.ReplaceAll(mismatch.Field, ".[", "[")+": "+mismatch.Detail))
	}
	if more := len(mismatches) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	slices.Sort(texts)
	return refuse(ReasonSchemaMismatch, "%s does not match spec.schema: %s", name, strings.Join(texts, "; "))
}

func shorten(text string) string {
	if len(text) <= maxMismatchBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxMismatchBytes], "") + "…"
}
