package kinds

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Convert is an object in JSON as the API server hands it to a webhook that is
// registered for another version of its kind. The error wraps ErrNotKnown where that
// takes a cluster.
func (k *Kinds) Convert(object []byte, kind schema.GroupVersionKind, to string) ([]byte, error) {
	definition, err := k.definition(kind.GroupKind())
	switch {
	case err != nil:
		return nil, err
	case to == kind.Version:
		return object, nil
	case definition != nil:
		return convertCustom(object, definition, kind, to)
	case kind.Group == autoscalers.Group && kind.Kind == autoscalers.Kind:
		return convertAutoscaler(object, kind.Version, to)
	default:
		return nil, fmt.Errorf("%w: how %s is converted from %s to %s; write it as %s", ErrNotKnown, kind.GroupKind(), kind.Version, to,
			schema.GroupVersion{Group: kind.Group, Version: to})
	}
}

// convertCustom converts as the API server does without a webhook: nothing but the
// version changes.
func convertCustom(object []byte, definition *apiextensionsv1.CustomResourceDefinition, kind schema.GroupVersionKind, to string) ([]byte, error) {
	version := schema.GroupVersion{Group: kind.Group, Version: to}
	if conversion := definition.Spec.Conversion; conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter {
		return nil, fmt.Errorf("%w: a webhook converts %s from %s to %s; write it as %s", ErrNotKnown, kind.GroupKind(), kind.Version, to, version)
	}
	read, err := readUnstructured(object)
	if err != nil {
		return nil, err
	}
	read.SetAPIVersion(version.String())
	return read.MarshalJSON()
}
