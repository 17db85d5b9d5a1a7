package cel

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// params are the objects of the paramKind of a policy.
type params struct {
	kind       schema.GroupVersionKind // empty without paramKind
	namespaced bool
	all        []parameterObject
}

type parameterObject struct {
	*unstructured.Unstructured
	json []byte
}

// paramsOf reads the objects of the paramKind of a policy.
func (f *folder) paramsOf(p *policy) *params {
	kind := p.ValidatingAdmissionPolicy.Spec.ParamKind
	if kind == nil {
		return &params{}
	}
	out := &params{kind: schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)}
	for _, o := range f.others {
		if (schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}) != out.kind {
			continue
		}
		object, err := paramObject(o, out.kind)
		if err != nil {
			f.fail(errorAt(o, "%s %q cannot be read: %v", o.Kind, o.Name, err))
			continue
		}
		out.all = append(out.all, parameterObject{object, o.JSON})
	}
	out.namespaced = f.isNamespaced(out, p)
	for _, b := range p.bindings {
		f.warnMissingParams(out, b)
	}
	return out
}

// paramObject reads an object as the API server has it.
func paramObject(o manifest.Object, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	var fields map[string]any
	if err := utiljson.Unmarshal(o.JSON, &fields); err != nil {
		return nil, err
	}
	if typed, err := scheme.Scheme.New(kind); err == nil {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed); err != nil {
			return nil, err
		}
		if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
			return nil, err
		}
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// isNamespaced reports whether the paramKind is namespaced: by the table of built-in kinds, by a
// CustomResourceDefinition in the source, or by the namespaces of the objects and references.
func (f *folder) isNamespaced(params *params, p *policy) bool {
	if resource, known := admission.BuiltinResources().ByKind(params.kind.Group, params.kind.Kind); known {
		return resource.Namespaced
	}
	for _, o := range f.others {
		if o.Group != apiextensionsv1.GroupName || o.Kind != "CustomResourceDefinition" {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if utiljson.Unmarshal(o.JSON, &crd) == nil && crd.Spec.Group == params.kind.Group && crd.Spec.Names.Kind == params.kind.Kind {
			return crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		}
	}
	for _, object := range params.all {
		if object.GetNamespace() != "" {
			return true
		}
	}
	for _, b := range p.bindings {
		if b.Spec.ParamRef != nil && b.Spec.ParamRef.Namespace != "" {
			return true
		}
	}
	return false
}

// warnMissingParams warns about a reference to an object that the source does not have.
func (f *folder) warnMissingParams(params *params, b *binding) {
	ref := b.Spec.ParamRef
	switch {
	case ref == nil:
		f.warnings = append(f.warnings, errorAt(b.Object, "%s %q has no spec.paramRef, so that params is null", kindBinding, b.Object.Name))
	case ref.Name != "" && !params.has(ref.Name, ref.Namespace):
		f.warnings = append(f.warnings, errorIn(b.Object, []any{"spec", "paramRef", "name"}, "the source has no %s %q", params.kind.Kind, ref.Name))
	}
}

func (p *params) has(name, namespace string) bool {
	for _, object := range p.all {
		if object.GetName() == name && (namespace == "" || object.GetNamespace() == namespace) {
			return true
		}
	}
	return false
}

// collect returns the params of a binding for a request, as the API server does: a single nil if
// the policy has none. The errors are those of the API server.
func (p *params) collect(ref *v1.ParamRef, namespace string) ([]runtime.Object, error) {
	if p.kind.Empty() || ref == nil {
		return []runtime.Object{nil}, nil
	}
	if p.namespaced {
		if ref.Namespace != "" {
			namespace = ref.Namespace
		} else if namespace == "" {
			return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
		}
	} else if namespace = ""; ref.Namespace != "" {
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	}
	selector := labels.Everything()
	if ref.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			return nil, fmt.Errorf("reading paramRef.selector: %w", err)
		}
	}
	var found []runtime.Object
	for _, object := range p.all {
		if object.GetNamespace() == namespace && (ref.Name == "" || ref.Name == object.GetName()) && selector.Matches(labels.Set(object.GetLabels())) {
			found = append(found, object.Unstructured)
		}
	}
	if len(found) == 0 && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == v1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return found, nil
}
