package gatekeeper

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// schema is the schema of the constraints of a template.
type schema struct {
	template   string
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	// legacy reports that parameters may have undeclared fields.
	legacy bool
	// undeclared reports that the template has no schema for parameters.
	undeclared bool
}

// readSchema builds the schema of a template's constraints. Unknown parameters are errors, as in
// Gatekeeper, in templates of version v1, and if legacySchema is false.
func readSchema(d document, in validationObject) (*schema, error) {
	s := &schema{template: d.name, legacy: d.version != "v1"}
	if in.LegacySchema != nil {
		s.legacy = *in.LegacySchema
	}
	var parameters *apiextensions.JSONSchemaProps
	if s.undeclared = len(in.OpenAPIV3Schema) == 0 || string(in.OpenAPIV3Schema) == "null"; !s.undeclared {
		var declared apiextensionsv1.JSONSchemaProps
		if err := json.Unmarshal(in.OpenAPIV3Schema, &declared); err != nil {
			return nil, fmt.Errorf("not a schema of a CustomResourceDefinition: %s", strings.TrimPrefix(err.Error(), "json: "))
		}
		parameters = &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&declared, parameters, nil); err != nil {
			return nil, err
		}
	}
	properties := constraintSchema(parameters)
	var err error
	if s.validator, _, err = validation.NewSchemaValidator(&properties); err != nil {
		return nil, err
	}
	s.structural, err = structuralschema.NewStructural(&properties)
	return s, err
}

// constraintSchema is the schema of constraints with these parameters: of any, if nil.
func constraintSchema(parameters *apiextensions.JSONSchemaProps) apiextensions.JSONSchemaProps {
	text := apiextensions.JSONSchemaProps{Type: "string"}
	list := func(items apiextensions.JSONSchemaProps) apiextensions.JSONSchemaProps {
		return apiextensions.JSONSchemaProps{Type: "array", Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &items}}
	}
	type fields = map[string]apiextensions.JSONSchemaProps
	object := func(properties fields, required ...string) apiextensions.JSONSchemaProps {
		return apiextensions.JSONSchemaProps{Type: "object", Properties: properties, Required: required}
	}
	selector := object(fields{
		"matchLabels":      {Type: "object", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &text}},
		"matchExpressions": list(object(fields{"key": text, "operator": text, "values": list(text)}, "key", "operator")),
	})
	spec := fields{
		"enforcementAction": text,
		"scopedEnforcementActions": list(object(fields{
			"action":            text,
			"enforcementPoints": list(object(fields{"name": text})),
		})),
		"match": object(fields{
			"kinds":              list(object(fields{"apiGroups": list(text), "kinds": list(text)})),
			"scope":              text,
			"namespaces":         list(text),
			"excludedNamespaces": list(text),
			"labelSelector":      selector,
			"namespaceSelector":  selector,
			"name":               text,
			"source":             text,
		}),
	}
	if parameters != nil {
		spec["parameters"] = *parameters
	}
	return object(fields{"spec": object(spec), "status": {XPreserveUnknownFields: new(true)}})
}

// complete gives the fields of a constraint: its parameters have their defaults, as the
// API server would set them. Unlike the API server it drops nothing: a constraint without
// a field that its author wrote is wider, or narrower, than it reads. The warnings are
// about parameters that legacy templates accept and are likely misspelt.
func (s *schema) complete(d document) (fields map[string]any, warnings, errs definition.CompileErrorList) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.json, &fields); err != nil {
		return nil, nil, definition.CompileErrorList{d.errorAt("%v", err)}
	}
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	for _, path := range pruning.PruneWithOptions(runtime.DeepCopyJSON(fields), s.structural, true, options) {
		err, likely := s.unknown(d, path)
		switch at := steps(path); {
		case !s.legacy || !isParameter(at):
			errs = append(errs, err)
		case likely:
			warnings = append(warnings, err)
		}
	}
	if spec, ok := fields["spec"].(map[string]any); ok {
		s.setDefaults(spec)
	}
	for _, err := range validation.ValidateCustomResource(nil, fields, s.validator) {
		err.Detail = strings.TrimPrefix(err.Detail, err.Field+" in body ")
		message := err.ErrorBody()
		if strings.HasPrefix(err.Field, "spec.parameters") {
			message += fmt.Sprintf(" (by the schema of ConstraintTemplate %s)", s.template)
		}
		errs = append(errs, d.errorIn(steps(err.Field), "%s", message))
	}
	slices.SortFunc(errs, definition.CompileError.Compare)
	return fields, warnings, errs
}

func isParameter(at []any) bool { return len(at) > 1 && at[0] == "spec" && at[1] == "parameters" }

// setDefaults completes the parameters of a spec. A null that is not allowed counts for
// nothing.
func (s *schema) setDefaults(spec map[string]any) {
	parameters, known := s.structural.Properties["spec"].Properties["parameters"]
	if !known {
		return
	}
	of := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"parameters": parameters}}
	alone := map[string]any{}
	if value, ok := spec["parameters"]; ok {
		alone["parameters"] = value
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(alone, of)
	defaulting.Default(alone, of)
	delete(spec, "parameters")
	maps.Copy(spec, alone)
}

// unknown is about a field that the schema does not have, and says whether it is likely a
// misspelling of one that it has.
func (s *schema) unknown(d document, path string) (err definition.CompileError, likely bool) {
	at := steps(path)
	name, _ := at[len(at)-1].(string)
	known := slices.Sorted(maps.Keys(s.at(at[:len(at)-1]).Properties))
	near := admission.Nearest(name, known)
	message := "unknown field"
	if isParameter(at) {
		message = fmt.Sprintf("not in the schema of ConstraintTemplate %s", s.template)
	}
	switch place := s.placeOf(name, at); {
	case s.undeclared && slices.Equal(at, []any{"spec", "parameters"}):
		message = fmt.Sprintf("ConstraintTemplate %s declares no parameters: declare them in its spec.crd.spec.validation.openAPIV3Schema", s.template)
	case near != "":
		message += fmt.Sprintf(" (did you mean %s?)", near)
	case place != "":
		message += fmt.Sprintf(": %s belongs under %s", name, place)
	case len(known) > 0:
		message += ": the fields here are " + strings.Join(known, ", ")
	}
	return d.errorIn(at, "%s", message), near != ""
}

// placeOf returns the valid location of a field that is unknown at its current one.
func (s *schema) placeOf(name string, at []any) string {
	for _, place := range [][]any{{"spec"}, {"spec", "match"}, {"spec", "parameters"}} {
		if _, known := s.at(place).Properties[name]; known && !slices.Equal(place, at[:len(at)-1]) {
			return manifest.PathText(place)
		}
	}
	return ""
}

// at returns the part of the schema at a path: an empty one for unknown paths.
func (s *schema) at(path []any) structuralschema.Structural {
	found := *s.structural
	for _, step := range path {
		name, isName := step.(string)
		property, known := found.Properties[name]
		switch {
		case !isName && found.Items != nil:
			found = *found.Items
		case isName && known:
			found = property
		case isName && found.AdditionalProperties != nil && found.AdditionalProperties.Structural != nil:
			found = *found.AdditionalProperties.Structural
		default:
			return structuralschema.Structural{}
		}
	}
	return found
}

// steps reads a path as the libraries of Kubernetes print it: a.b[0].c.
func steps(path string) (out []any) {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if index, err := strconv.Atoi(part); err == nil {
			out = append(out, index)
			continue
		}
		out = append(out, part)
	}
	if len(out) == 0 {
		return []any{path}
	}
	return out
}
