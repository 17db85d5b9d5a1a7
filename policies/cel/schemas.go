package cel

import (
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/kinds"
)

// customSchemas are the schemas of CustomResourceDefinitions, by the kind in its version.
type customSchemas map[schema.GroupVersionKind]*structuralschema.Structural

// readSchemas reads the CustomResourceDefinitions of a source.
func (f *folder) readSchemas() customSchemas {
	out := customSchemas{}
	for _, o := range f.others {
		if o.Group != apiextensionsv1.GroupName || o.Kind != "CustomResourceDefinition" {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if utiljson.Unmarshal(o.JSON, &crd) != nil {
			continue // the program that checks references reports it
		}
		for _, version := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			if found, err := kinds.New(&crd).Structural(kind); err == nil && found != nil {
				out[kind] = found
			}
		}
	}
	return out
}

// builtinTypes are the types of Kubernetes' own kinds. To read them takes a while.
var builtinTypes = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// typesFor finds the types of the kind of a request.
func (p *policy) typesFor(request *definition.CheckRequest) typeFinder {
	kind := schema.GroupVersionKind(request.Review.Kind)
	return func(jsonPatch bool) (managedfields.TypeConverter, string) {
		if jsonPatch {
			return nil, ""
		}
		if scheme.Scheme.Recognizes(kind) {
			return builtinTypes(), ""
		}
		structural, err := p.schemaOf(kind, request.Schemas)
		if err != nil {
			return nil, fmt.Sprintf("the schema of %s cannot be read: %v", kind.Kind, err)
		}
		if structural == nil {
			return nil, fmt.Sprintf("an ApplyConfiguration is merged by the schema of %s, which is not available: provide its CustomResourceDefinition", admission.GroupVersionKind(kind).String())
		}
		types, err := customTypes(kind, structural)
		if err != nil {
			return nil, fmt.Sprintf("the schema of %s has no types to merge by: %v", kind.Kind, err)
		}
		return types, ""
	}
}

// schemaOf returns the schema of a custom resource: that of the source, or that of the caller.
func (p *policy) schemaOf(kind schema.GroupVersionKind, of definition.CustomSchemas) (*structuralschema.Structural, error) {
	if own := p.schemas[kind]; own != nil || of == nil {
		return own, nil
	}
	return of(admission.GroupVersionKind(kind))
}

// customTypes returns the types of a custom resource, as the API server publishes them.
func customTypes(kind schema.GroupVersionKind, structural *structuralschema.Structural) (managedfields.TypeConverter, error) {
	root := structural.ToKubeOpenAPI()
	addEmbedded(root)
	addObjectFields(root)
	root.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}})
	return managedfields.NewTypeConverter(map[string]*spec.Schema{kind.Group + "." + kind.Version + "." + kind.Kind: root, objectMetaName: objectMeta()}, false)
}

// objectMetaName is the name of the type of metadata.
const objectMetaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// addObjectFields adds the fields that all objects have.
func addObjectFields(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + objectMetaName))
}

// addEmbedded adds the fields of objects to the parts of a schema that are objects.
func addEmbedded(s *spec.Schema) {
	if s == nil {
		return
	}
	for name, property := range s.Properties {
		addEmbedded(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		addEmbedded(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		addEmbedded(s.AdditionalProperties.Schema)
	}
	if embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource"); embedded {
		addObjectFields(s)
	}
}

// objectMeta is the type of metadata.
func objectMeta() *spec.Schema {
	s := (&spec.Schema{}).Typed("object", "")
	for _, name := range []string{"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"} {
		s.SetProperty(name, *spec.StringProperty())
	}
	for _, name := range []string{"generation", "deletionGracePeriodSeconds"} {
		s.SetProperty(name, *spec.Int64Property())
	}
	for _, name := range []string{"labels", "annotations"} {
		s.SetProperty(name, *spec.MapProperty(spec.StringProperty()))
	}
	list := func(element *spec.Schema, kind string, keys ...any) spec.Schema {
		list := spec.ArrayProperty(element)
		list.AddExtension("x-kubernetes-list-type", kind)
		if len(keys) > 0 {
			list.AddExtension("x-kubernetes-list-map-keys", keys)
		}
		return *list
	}
	owner := (&spec.Schema{}).Typed("object", "")
	for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
		owner.SetProperty(name, *spec.StringProperty())
	}
	for _, name := range []string{"controller", "blockOwnerDeletion"} {
		owner.SetProperty(name, *spec.BooleanProperty())
	}
	owner.AddExtension("x-kubernetes-map-type", "atomic")
	managed := (&spec.Schema{}).Typed("object", "")
	managed.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	s.SetProperty("ownerReferences", list(owner, "map", "uid"))
	s.SetProperty("finalizers", list(spec.StringProperty(), "set"))
	s.SetProperty("managedFields", list(managed, "atomic"))
	return s
}
