package kinds

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// customVersion is one version of a custom resource.
type customVersion struct {
	structural *schema.Structural // nil where the definition has no schema
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil where there are none
	keeps      bool           // fields that the schema does not have
	namespaced bool
	hasStatus  bool // as a subresource, which no client sets on creation
}

// newCustomVersion makes a version ready, as the API server does when it serves it.
func newCustomVersion(definition *apiextensionsv1.CustomResourceDefinition, in apiextensionsv1.CustomResourceDefinitionVersion) (*customVersion, error) {
	made := &customVersion{
		keeps:      definition.Spec.PreserveUnknownFields,
		namespaced: definition.Spec.Scope != apiextensionsv1.ClusterScoped,
		hasStatus:  in.Subresources != nil && in.Subresources.Status != nil,
	}
	if in.Schema == nil || in.Schema.OpenAPIV3Schema == nil {
		return made, nil
	}
	var properties apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(in.Schema.OpenAPIV3Schema, &properties, nil); err != nil {
		return nil, err
	}
	var err error
	if made.validator, _, err = validation.NewSchemaValidator(&properties); err != nil {
		return nil, err
	}
	if made.structural, err = schema.NewStructural(&properties); err != nil {
		return nil, err
	}
	made.rules = cel.NewValidator(made.structural, true, celconfig.PerCallLimit)
	return made, nil
}

// decode prunes and defaults an object, and returns the paths of pruned fields, like the API
// server for a custom resource in a request.
func (v *customVersion) decode(object *unstructured.Unstructured) (unknown []string, err error) {
	metadata, hasMetadata, unknown, err := objectmeta.GetObjectMetaWithOptions(object.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil || v.structural == nil {
		return unknown, err
	}
	kind, apiVersion := object.GetKind(), object.GetAPIVersion()
	if !v.keeps {
		options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
		unknown = append(unknown, pruning.PruneWithOptions(object.Object, v.structural, true, options)...)
		defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, v.structural)
	}
	invalid, more := objectmeta.CoerceWithOptions(nil, object.Object, v.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if invalid != nil {
		return unknown, invalid
	}
	object.SetKind(kind)
	object.SetAPIVersion(apiVersion)
	if hasMetadata {
		if err := objectmeta.SetObjectMeta(object.Object, metadata); err != nil {
			return unknown, err
		}
	}
	defaulting.Default(object.Object, v.structural)
	return append(unknown, more...), nil
}

// validate is what the API server asks of a custom resource that is created, once all
// have changed it who may.
func (v *customVersion) validate(ctx context.Context, object *unstructured.Unstructured) field.ErrorList {
	problems := metavalidation.ValidateObjectMetaAccessor(object, v.namespaced, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if v.structural == nil {
		return problems
	}
	problems = append(problems, validation.ValidateCustomResource(nil, object.Object, v.validator)...)
	problems = append(problems, objectmeta.Validate(nil, object.Object, v.structural, false)...)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, v.structural, object.Object)...)
	switch {
	case v.rules == nil:
		return problems
	case blocksRules(problems):
		return append(problems, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	found, _ := v.rules.Validate(ctx, nil, v.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
	return append(problems, found...)
}

// blocksRules reports whether CEL rules are skipped, because the object does not have the
// structure that they expect.
func blocksRules(problems field.ErrorList) bool {
	for _, problem := range problems {
		switch problem.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
