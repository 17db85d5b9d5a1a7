package gatekeeper

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	kjson "sigs.k8s.io/json"
)

// schema is that of the parameters of a template's constraints: nil where it has none.
type schema struct {
	root      *spec.Schema
	validator *validate.SchemaValidator
}

func readSchema(text json.RawMessage) (*schema, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	root := &spec.Schema{}
	if err := json.Unmarshal(text, root); err != nil {
		return nil, errors.New("not a schema as OpenAPI v3 has them; see the types of its fields")
	}
	loosen(root)
	return &schema{root, validate.NewSchemaValidator(root, nil, "spec.parameters", strfmt.Default)}, nil
}

// loosen says in the words of JSON Schema what Kubernetes has words of its own for:
// nullable, and x-kubernetes-int-or-string.
func loosen(s *spec.Schema) {
	if both, ok := s.Extensions.GetBool("x-kubernetes-int-or-string"); ok && both && len(s.AnyOf) == 0 {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if s.Nullable && len(s.Type) > 0 && !slices.Contains(s.Type, "null") {
		s.Type = append(s.Type, "null")
	}
	for name, property := range s.Properties {
		loosen(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		loosen(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		loosen(s.AdditionalProperties.Schema)
	}
}

// complete gives parameters their defaults, as the API server would, and says what is
// wrong with them.
func (s *schema) complete(parameters any) (any, []string) {
	if s == nil {
		return parameters, nil
	}
	if parameters == nil {
		if s.root.Default == nil {
			return nil, nil
		}
		parameters = clone(s.root.Default)
	}
	applyDefaults(parameters, s.root)
	var wrong []string
	for _, err := range s.validator.Validate(parameters).Errors {
		wrong = append(wrong, strings.TrimPrefix(err.Error(), "\"spec.parameters\" "))
	}
	slices.Sort(wrong)
	return parameters, wrong
}

// applyDefaults fills in what is absent, or null where that is not allowed.
func applyDefaults(value any, s *spec.Schema) {
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if now, set := value[name]; property.Default != nil && (!set || now == nil && !property.Nullable) {
				value[name] = clone(property.Default)
			}
		}
		for name, one := range value {
			if property, known := s.Properties[name]; known {
				applyDefaults(one, &property)
			} else if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				applyDefaults(one, s.AdditionalProperties.Schema)
			}
		}
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return
		}
		for _, one := range value {
			applyDefaults(one, s.Items.Schema)
		}
	}
}

// clone is a copy with the types of numbers that the validator knows.
func clone(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	return fromJSON(text)
}

// fromJSON keeps whole numbers whole.
func fromJSON(text []byte) any {
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &value); err != nil {
		return nil
	}
	return value
}
